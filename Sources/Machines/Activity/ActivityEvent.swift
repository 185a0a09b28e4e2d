internal import Kinds
public import TelltaleModel

/// An event for one live activity, as its source reported it.
public struct ActivityEvent: Hashable, Sendable {
    /// The change that the event reports.
    public enum Change: Hashable, Sendable {
        /// `type=start`.
        case started
        /// `type=update`: replaces the content, and clears the stale date and the score unless it gives them.
        case updated
        /// `type=end`.
        case ended
        /// Every other type: a domain event for the kind's machine, under the name that the source used.
        case happened(String)
        /// A person of this account swiped the activity away.
        case dismissed(account: String)
        /// A person of this account saw the row of commit `rev`, with its alert.
        case seen(account: String, rev: Int64)
    }

    public var change: Change
    public var details: EventDetails
    /// `ver=`: the source's version number of this key.
    public var version: Int64?
    /// `at=`: the time of the event at its source; `nil` for the time of its receipt.
    public var happenedAt: Timestamp?

    public init(
        _ change: Change, details: EventDetails = EventDetails(), version: Int64? = nil, happenedAt: Timestamp? = nil
    ) {
        self.change = change
        self.details = details
        self.version = version
        self.happenedAt = happenedAt
    }

    /// Makes the event of `EVT … type=TYPE`.
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

/// The tail of an `EVT`, under Apple's push names (Protocols/Line/line-protocol.md §4).
public struct EventDetails: Hashable, Sendable {
    /// `attributes`: an object, used at the start only.
    public var attributes: JSON?
    /// `content-state`: an object.
    public var content: JSON?
    public var alert: ActivityAlert?
    /// `stale-date`.
    public var staleDate: Timestamp?
    /// `dismissal-date`, used when the event ends the activity.
    public var dismissalDate: Timestamp?
    /// `start-date`, used at the start only.
    public var startDate: Timestamp?
    /// `relevance-score`.
    public var score: Double?
    private let addressOnly = AddressOnly()

    public init() {}

    /// Parses a tail. Unknown members are ignored.
    ///
    /// - Throws: ``ActivityRejection/badTail(member:expected:)`` for a member of the wrong type.
    public init(tail: JSONObject) throws(ActivityRejection) {
        var unknown: [String] = []
        try self.init(tail: tail, unknown: &unknown)
    }

    /// The members that an event's tail has a meaning for (Protocols/Line/line-protocol.md §4).
    public static let members = [
        "attributes", "content-state", "alert", "stale-date", "dismissal-date", "start-date", "relevance-score",
    ]

    /// More names than any reply can list.
    private static let unknownLimit = 256

    /// Parses a tail, and appends the names of its unknown members to `unknown`, in their order, up to 256 names.
    ///
    /// - Throws: ``ActivityRejection/badTail(member:expected:)`` for a member of the wrong type.
    public init(tail: JSONObject, unknown: inout [String]) throws(ActivityRejection) {
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
            } else if unknown.count < Self.unknownLimit, let text = try? UTF8Span(validating: name) {
                unknown.append(String(copying: text))
            }
        }
    }

    private static func object(_ name: String, _ value: JSON) throws(ActivityRejection) -> JSON {
        guard case .object(let object) = value else { throw .badTail(member: name, expected: "an object") }
        // The activity stores the object, and the size limit does not cover the rest of the tail that it would retain.
        return .object(object.compacted)
    }

    private static func date(_ name: String, _ value: JSON) throws(ActivityRejection) -> Timestamp {
        guard let seconds = value.double, let date = Timestamp(seconds: seconds) else {
            throw .badTail(member: name, expected: "a date in Unix seconds")
        }
        return date
    }
}

/// The texts and the sound of an alert, given by an event or rendered from a state's template.
///
/// An object, because nearly every event is without one and is copied often.
public final class ActivityAlert: Hashable, Sendable {
    public let title: String
    public let body: String
    /// The name of a sound file; `nil` for the default sound.
    public let sound: String?
    /// The body of a private alert on a device that hides what is private (E11), empty without one; `nil` if the alert is not
    /// private. Determined when the alert is sent.
    public let summary: String?

    public init(title: String, body: String, sound: String? = nil, summary: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
        self.summary = summary
    }

    /// Parses `{"title":…,"body":…,"sound":…}`, each optional.
    public convenience init(_ value: JSON) throws(ActivityRejection) {
        guard case .object(let object) = value else { throw .badTail(member: "alert", expected: "an object") }
        self.init(
            title: try Self.text("title", in: object) ?? "", body: try Self.text("body", in: object) ?? "",
            sound: try Self.text("sound", in: object))
    }

    private static func text(_ name: String, in object: JSONObject) throws(ActivityRejection) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.string else { throw .badTail(member: "alert.\(name)", expected: "a text") }
        return text
    }

    /// The alert on a device that hides what is private: it has the title of the kind.
    public func redacted(title: String) -> ActivityAlert {
        summary.map { ActivityAlert(title: title, body: $0, sound: sound) } ?? self
    }

    /// Appends it as one JSON object, with its style if it is not `nil`.
    public func write(style: String?, to writer: inout JSONWriter) {
        writer.beginObject()
        // The alert of an event may be as long as a line, and goes to every follower.
        writer.member("title", Template.bounded(title))
        writer.member("body", Template.bounded(body))
        if let sound { writer.member("sound", Template.bounded(sound)) }
        if let style { writer.member("style", style) }
        writer.endObject()
    }

    public static func == (left: ActivityAlert, right: ActivityAlert) -> Bool {
        (left.title, left.body, left.sound, left.summary) == (right.title, right.body, right.sound, right.summary)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(title)
        hasher.combine(body)
        hasher.combine(sound)
        hasher.combine(summary)
    }
}
