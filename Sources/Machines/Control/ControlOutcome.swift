public import Kinds
public import TelltaleModel

/// What a control's machine made of an event.
public struct ControlOutcome: Hashable, Sendable {
    /// `applied`, `noop`, `stale` (a report that is older than what is known), `deferred` (a report that is kept until
    /// the operation ends or the thing has settled) or `ignored` (a result of an old operation).
    public var verdict: Verdict
    /// The operation that a tap began, joined or put in the queue; `nil` when there was nothing to do.
    public var operation: OperationID?
    public var effects: ControlEffects = []
    /// What is to be done besides, in this order.
    public var steps: [ControlStep] = []

    public init(_ verdict: Verdict) {
        self.verdict = verdict
    }
}

/// What a transition asks its owner to do.
public struct ControlEffects: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The row is another one now: give the key a new `rev`, and show it to every subscriber.
    public static let publish = Self(rawValue: 1 << 0)
}

/// An effect that carries something.
public enum ControlStep: Hashable, Sendable {
    /// Tell the provider to act: `DO`.
    case perform(ControlPerformance)
    /// An operation is over.
    case ended(OperationEnd)
    /// Send an event to an activity.
    case raise(RaisedEvent)
}

/// What `DO op= key= action= value= deadline=` says.
public struct ControlPerformance: Hashable, Sendable {
    public var operation: OperationID
    public var action: ControlAction
    public var deadline: Timestamp
    /// The connection that is to do it.
    public var provider: ConnectionNumber

    public init(
        operation: OperationID, action: ControlAction, deadline: Timestamp, provider: ConnectionNumber
    ) {
        self.operation = operation
        self.action = action
        self.deadline = deadline
        self.provider = provider
    }
}

/// What a person wants of a control: `SET value=` or `PRESS`.
public enum ControlAction: Hashable, Sendable {
    case set(Bool)
    case press

    /// `set` or `press`.
    public var name: String {
        switch self {
        case .set: "set"
        case .press: "press"
        }
    }

    public var value: Bool? {
        if case .set(let value) = self { value } else { nil }
    }
}

/// The event that a press sends to an activity, which is started if need be.
///
/// The operation's id makes a good `eid`: it is raised once.
public struct RaisedEvent: Hashable, Sendable {
    public var operation: OperationID
    public var kind: String
    /// The activity's id, filled in; whatever the template gave, an id or not.
    public var id: String
    public var event: String
    public var content: JSON
    public var attributes: JSON

    public init(operation: OperationID, id: String, _ raises: ButtonKind.Raises) {
        self.operation = operation
        self.kind = raises.kind
        self.id = id
        self.event = raises.event
        self.content = raises.content
        self.attributes = raises.attributes
    }
}

/// Why a tap was refused. Nothing has changed, and its `eid` is not used up.
public enum ControlRejection: Error, Hashable, Sendable {
    /// Nobody serves this kind now.
    case unavailable
    /// The device is locked, and the kind has `requiresAuthentication`: unlock, then ask again.
    case locked
    /// The button was pressed a moment ago.
    case cooling(until: Timestamp)
    /// The screen that the person tapped was out of date.
    case staleRev(have: Int64, want: Int64)

    /// As `Wire` spells it.
    public var code: String {
        switch self {
        case .unavailable: "unavailable"
        case .locked: "auth_required"
        case .cooling: "cooling"
        case .staleRev: "stale_rev"
        }
    }

    /// For people: what, and what to do.
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

    /// Refuses to act on a screen that is out of date (`SET … if=`).
    ///
    /// - Parameters:
    ///   - seenRev: The `rev` of the row that the person saw; `nil` = did not say.
    ///   - rev: The control's `rev` now.
    public static func check(seenRev: Int64?, rev: Int64) throws(ControlRejection) {
        guard let seenRev, seenRev != rev else { return }
        throw .staleRev(have: rev, want: seenRev)
    }
}
