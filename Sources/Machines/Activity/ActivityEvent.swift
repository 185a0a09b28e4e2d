public import TelltaleModel

/// A fact about one live activity, as somebody told it.
public struct ActivityEvent: Hashable, Sendable {
    /// What happened.
    public enum Change: Hashable, Sendable {
        /// `type=start`.
        case started
        /// `type=update`: replaces the content, and clears the stale date and the score that it does not name.
        case updated
        /// `type=end`.
        case ended
        /// Every other type: a domain event for the kind's machine, under the name that the sender used.
        case happened(String)
        /// The person of this account swiped it away.
        case dismissed(account: String)
        /// The person of this account saw the row of `rev`, alert and all.
        case seen(account: String, rev: Int64)
    }

    public var change: Change
    public var details: EventDetails
    /// `ver=`: the source's version number of this key.
    public var version: Int64?
    /// `at=`: when it happened; `nil` = when it was received.
    public var happenedAt: Timestamp?

    public init(
        _ change: Change, details: EventDetails = EventDetails(), version: Int64? = nil, happenedAt: Timestamp? = nil
    ) {
        self.change = change
        self.details = details
        self.version = version
        self.happenedAt = happenedAt
    }

    /// The event of `EVT … type=TYPE`.
    public init(
        type: String, details: EventDetails = EventDetails(), version: Int64? = nil, happenedAt: Timestamp? = nil
    ) {
        let change: Change =
            switch type {
            case "start": .started
            case "update": .updated
            case "end": .ended
            default: .happened(type)
            }
        self.init(change, details: details, version: version, happenedAt: happenedAt)
    }
}

/// What an `EVT` carries in its tail, under Apple's push names (line-protocol.md §4).
public struct EventDetails: Hashable, Sendable {
    /// `attributes`: an object; taken at the start alone.
    public var attributes: JSON?
    /// `content-state`: an object.
    public var content: JSON?
    public var alert: ActivityAlert?
    /// `stale-date`.
    public var staleDate: Timestamp?
    /// `dismissal-date`; read by what ends the activity.
    public var dismissalDate: Timestamp?
    /// `start-date`; taken at the start alone.
    public var startDate: Timestamp?
    /// `relevance-score`.
    public var score: Double?
    private let addressOnly = AddressOnly()

    public init() {}

    /// Reads a tail; members that it does not know are left to others.
    ///
    /// - Throws: ``ActivityRejection/badTail(member:expected:)`` for a member of the wrong type.
    public init(tail: JSONObject) throws(ActivityRejection) {
        try tail.forEachMember { (name, value) throws(ActivityRejection) in
            if name.hasSameBytes(as: "content-state") {
                content = try Self.object("content-state", value)
            } else if name.hasSameBytes(as: "alert") {
                alert = try ActivityAlert(value)
            } else if name.hasSameBytes(as: "stale-date") {
                staleDate = try Self.date("stale-date", value)
            } else if name.hasSameBytes(as: "relevance-score") {
                guard let number = value.double else { throw .badTail(member: "relevance-score", expected: "a number") }
                score = number
            } else if name.hasSameBytes(as: "attributes") {
                attributes = try Self.object("attributes", value)
            } else if name.hasSameBytes(as: "dismissal-date") {
                dismissalDate = try Self.date("dismissal-date", value)
            } else if name.hasSameBytes(as: "start-date") {
                startDate = try Self.date("start-date", value)
            }
        }
    }

    private static func object(_ name: String, _ value: JSON) throws(ActivityRejection) -> JSON {
        guard case .object(let object) = value else { throw .badTail(member: name, expected: "an object") }
        // An activity keeps it, and the limit of its size says nothing of what else was in the tail.
        return .object(object.compacted)
    }

    private static func date(_ name: String, _ value: JSON) throws(ActivityRejection) -> Timestamp {
        guard let seconds = value.double, let date = Timestamp(seconds: seconds) else {
            throw .badTail(member: name, expected: "a date in Unix seconds")
        }
        return date
    }
}

/// The words and the sound of an alert: an event's own, or a state's, filled in.
public struct ActivityAlert: Hashable, Sendable {
    public var title: String
    public var body: String
    /// A file's name; `nil` = the default sound.
    public var sound: String?

    public init(title: String, body: String, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// `{"title":…,"body":…,"sound":…}`, each of them optional.
    public init(_ value: JSON) throws(ActivityRejection) {
        guard case .object(let object) = value else { throw .badTail(member: "alert", expected: "an object") }
        title = try Self.text("title", in: object) ?? ""
        body = try Self.text("body", in: object) ?? ""
        sound = try Self.text("sound", in: object)
    }

    private static func text(_ name: String, in object: JSONObject) throws(ActivityRejection) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.string else { throw .badTail(member: "alert.\(name)", expected: "a text") }
        return text
    }
}
