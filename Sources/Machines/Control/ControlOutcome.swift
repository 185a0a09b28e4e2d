public import Kinds
public import TelltaleModel

/// The result of an event for a control.
public struct ControlOutcome: Hashable, Sendable {
    /// `applied`, `noop`, `stale` (a report older than the known value), `deferred` (a report that is kept until the
    /// operation ends or the value has settled) or `ignored` (a result of an old operation).
    public var verdict: Verdict
    /// The operation that a tap began, joined or queued; `nil` if there was nothing to do.
    public var operation: OperationID?
    public var effects: ControlEffects = []
    /// The further actions, in this order.
    public var steps: [ControlStep] = []

    public init(_ verdict: Verdict) {
        self.verdict = verdict
    }
}

/// The actions without data that a transition requires of its owner.
public struct ControlEffects: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The row changed: the key gets a new `rev` and is published to every subscriber.
    public static let publish = Self(rawValue: 1 << 0)
}

/// An action with its data.
public enum ControlStep: Hashable, Sendable {
    /// Send `DO` to the provider.
    case perform(ControlPerformance)
    /// An operation ended.
    case ended(OperationEnd)
    /// Raise an event for an activity.
    case raise(RaisedEvent)
}

/// The line `DO op= key= action= value= deadline=`.
public struct ControlPerformance: Hashable, Sendable {
    public var operation: OperationID
    public var tap: Tap
    public var deadline: Timestamp
    /// The connection that the line is sent to.
    public var provider: ConnectionNumber
}

/// One `DO` line of a provider.
public enum ProviderCall: Hashable, Sendable {
    case perform(ControlPerformance)
    /// A widget requests a timeline.
    case timeline(TimelineRefresh)

    /// The operation that it is to perform.
    public var operation: OperationID {
        switch self {
        case .perform(let performance): performance.operation
        case .timeline(let ask): ask.operation
        }
    }

    /// The connection that the line is sent to.
    public var provider: ConnectionNumber {
        switch self {
        case .perform(let performance): performance.provider
        case .timeline(let ask): ask.provider
        }
    }
}

/// The event that a press raises for an activity, which it may start.
///
/// The operation's id serves as `eid`, so that the event is applied once.
public struct RaisedEvent: Hashable, Sendable {
    public var operation: OperationID
    public var kind: String
    /// The rendered id of the activity, which may be no valid id.
    public var id: String
    public var event: String
    public var content: JSON
    public var attributes: JSON
    /// The account for which an activity is started; `nil` = everyone.
    public var account: String?

    public init(operation: OperationID, id: String, account: String? = nil, _ raises: ButtonKind.Raises) {
        self.account = account
        self.operation = operation
        self.kind = raises.kind
        self.id = id
        self.event = raises.event
        self.content = raises.content
        self.attributes = raises.attributes
    }
}

/// The reason why a tap was refused. Nothing changed, and its `eid` can be used again.
public enum ControlRejection: Error, Hashable, Sendable {
    /// No provider serves the kind now.
    case unavailable
    /// The device is locked and the kind has `requiresAuthentication`. The person unlocks it and taps again.
    case locked
    /// The button was pressed a moment ago.
    case cooling(until: Timestamp)
    /// The row that the person tapped was out of date.
    case staleRev(have: Int64, want: Int64)

    /// The error code on the wire.
    public var code: String {
        switch self {
        case .unavailable: "unavailable"
        case .locked: "auth_required"
        case .cooling: "cooling"
        case .staleRev: "stale_rev"
        }
    }

    /// A message for the person: the fault and the remedy.
    public var message: String {
        switch self {
        case .unavailable: "nobody serves this control now; try again later"
        case .locked: "this control acts on an unlocked device only; unlock it (TRAIT locked=no) and try again"
        case .cooling: "this button was pressed a moment ago; try again later"
        case .staleRev: "the screen was out of date; read the control again before acting on it"
        }
    }

    /// Further members of the error's tail.
    public var details: JSONObject {
        var details = JSONObject()
        switch self {
        case .unavailable, .locked: break
        case .cooling(let until): details["until"] = .integer(until.milliseconds)
        case .staleRev(let have, let want):
            details["have"] = .integer(have)
            details["want"] = .integer(want)
        }
        return details
    }

    /// Refuses to act on a row that is out of date (`SET … if=`).
    ///
    /// - Parameters:
    ///   - seenRev: The `rev` of the row that the person saw; `nil` if the tap does not name it.
    ///   - rev: The control's current `rev`.
    public static func check(seenRev: Int64?, rev: Int64) throws(ControlRejection) {
        guard let seenRev, seenRev != rev else { return }
        throw .staleRev(have: rev, want: seenRev)
    }
}
