public import TelltaleModel
internal import TelltaleWire

/// The answer to an event, which is then on disk.
public struct Posted: Hashable, Sendable {
    public var key: Key
    /// `duplicate` for an event id that has taken effect before.
    public var verdict: Verdict
    /// The commit number of the key's last change.
    public var rev: Int64?
    /// The state of the key's machine.
    public var state: String?
    /// The event id that was used.
    public var eid: String
    /// Members of the event that the kind does not know.
    public var ignored: [String]
    /// A hint for people if the sender probably made a mistake.
    public var message: String?

    init(_ line: ServerLine, key: Key, eid: String) {
        self.key = key
        self.eid = eid
        verdict = line["verdict"].flatMap { Verdict(rawValue: $0) } ?? .applied
        rev = line.integer("rev")
        state = line["state"]
        ignored = line["ignored"]?.split(separator: ",").map { String($0) } ?? []
        message = line.message
    }
}

/// The answer to a tap. The tap is on disk but not performed yet: the control's row shows how ``operation`` ends.
public struct Tapped: Hashable, Sendable {
    public var key: Key
    public var operation: String?
    /// `pending`, `performing` or `settled`.
    public var phase: String?
    /// `duplicate` for an event id that has acted before, `noop` if there was nothing to do, and `nil` otherwise.
    public var verdict: Verdict?
    public var rev: Int64?
    /// The event id that was used.
    public var eid: String

    init(_ line: ServerLine, key: Key, eid: String) {
        self.key = key
        self.eid = eid
        operation = line["op"]
        phase = line["phase"]
        verdict = line["verdict"].flatMap { Verdict(rawValue: $0) }
        rev = line.integer("rev")
    }
}

/// The answer to a dismissal, to `seen` and to a report.
public struct Decided: Hashable, Sendable {
    public var verdict: Verdict?
    public var rev: Int64?

    init(_ line: ServerLine) {
        verdict = line["verdict"].flatMap { Verdict(rawValue: $0) }
        rev = line.integer("rev")
    }
}

/// One event of a key.
public struct HistoryEntry: Hashable, Sendable {
    public var key: Key
    public var rev: Int64
    /// When it happened.
    public var at: Timestamp
    /// When the server received it.
    public var heard: Timestamp
    public var type: String
    public var verdict: String
    /// `seq`, `state`, `src`, `eid`, `by`, and what the sender wrote.
    public var details: JSONObject

    init?(_ line: ServerLine) {
        guard let key = line["key"].flatMap({ Key($0) }), let rev = line.integer("rev") else { return nil }
        self.key = key
        self.rev = rev
        at = Timestamp(milliseconds: line.integer("at") ?? 0)
        heard = Timestamp(milliseconds: line.integer("heard") ?? 0)
        type = line["type"] ?? ""
        verdict = line["verdict"] ?? ""
        details = line.tail ?? JSONObject()
    }
}

/// A kind that the server has loaded.
public struct KindSummary: Hashable, Sendable {
    public var name: String
    /// `activity`, `toggle`, `button` or `widget`.
    public var type: String
    public var version: Int64
    public var definition: JSONObject

    init?(_ line: ServerLine) {
        guard let name = line["name"] else { return nil }
        self.name = name
        type = line["type"] ?? ""
        version = line.integer("version") ?? 0
        definition = line.tail ?? JSONObject()
    }
}
