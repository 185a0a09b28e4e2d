public import Journal
internal import Machines
public import TelltaleModel
internal import TelltaleWire

/// One journal record as `HISTORY` shows it.
struct HistoryLine {
    let happenedAt: Timestamp
    let type: String
    let verdict: Verdict
    let rev: Int64
    /// A JSON object.
    let tail: [UInt8]

    /// Writes nothing for a record that cannot be read.
    static func write(_ record: JournalRecord, key: Key, to writer: inout LineWriter) {
        guard let line = HistoryLine(record) else { return }
        writer.history(
            key: key, rev: line.rev, happenedAt: line.happenedAt, heardAt: record.time, type: line.type,
            verdict: line.verdict, body: line.tail)
    }

    /// `nil` for a record that cannot be read.
    init?(_ record: JournalRecord) {
        guard let body = try? RecordBody(decoding: record.body) else { return nil }
        var happenedAt = record.time
        let type: String
        var tail = JSONWriter()
        tail.beginObject()
        tail.member("seq", record.sequence)
        // The phase and value of a toggle. Journals have one word for each, and so `unknown` twice.
        let state = body.state.description
        tail.member("state", state == "unknown unknown" ? "unknown" : state)
        if let author = body.author { tail.member("by", author) }
        switch body.entry {
        case .event(let posted, let source):
            let event = posted.command
            type = event.type
            happenedAt = event.happenedAt ?? record.time
            tail.member("src", source)
            if let eid = event.eid { tail.member("eid", eid) }
            if let version = event.version { tail.member("ver", version) }
            // Only what an activity uses: other members of the tail were reported as ignored, and changed nothing.
            let isTimeline = type == "timeline" && Widget.Phase(rawValue: state) != nil
            let members = isTimeline ? WidgetTimeline.members : EventDetails.members
            for member in event.tail where members.contains(member.name) {
                tail.member(named: member.name, member.value)
            }
            var ignored = IgnoredNames()
            for member in event.tail where !members.contains(member.name) {
                ignored.append(member: member.name)
            }
            if !ignored.names.isEmpty { tail.member("ignored", .array(ignored.names.map { .string($0) })) }
        case .dismissed(_, let account):
            type = "dismissed"
            tail.member("account", account)
        case .seen(_, let account, _):
            type = "seen"
            tail.member("account", account)
        case .tapped(_, let action, _, let sender, let eid, _, _):
            type = action.name
            if let value = action.value { tail.member("value", value) }
            tail.member("sender", sender)
            if let eid { tail.member("eid", eid) }
        case .reported(_, let value, let observedAt, _):
            type = "reported"
            happenedAt = observedAt ?? record.time
            if let value { tail.member("value", value) }
        case .done(_, let operation, let value, _):
            type = "done"
            tail.member("op", operation.description)
            if let value { tail.member("value", value) }
        case .failed(_, let operation, let failure, _):
            type = "failed"
            tail.member("op", operation.description)
            if let message = failure?.message { tail.member("message", message) }
        case .supplied(_, let operation, let timeline, _):
            type = "timeline"
            tail.member("op", operation.description)
            for name in WidgetTimeline.members { if let value = timeline[name] { tail.member(named: name, value) } }
        case .tile(let entry):
            type = "placed"
            entry.writeHistory(to: &tail)
        case .reloaded: type = "reload"
        case .refreshStarted(_, let due):
            type = "asked"
            happenedAt = due
            tail.member("op", OperationID(record.sequence).description)
        case .providerChanged(_, let provider, _): type = provider == nil ? "provider-left" : "provider-came"
        case .raiseRefused(_, let operation, let failure):
            type = "raise-refused"
            tail.member("op", operation.description)
            if let code = failure.code { tail.member("code", code) }
            if let message = failure.message { tail.member("message", message) }
        case .kindChanged: type = "kind-changed"
        case .created: type = "created"
        case .attached(_, let activity):
            type = "attached"
            tail.member("activity", activity.text)
        case .detached: type = "detached"
        case .restarted: type = "restarted"
        case .deadline(_, let due):
            type = "deadline"
            happenedAt = due
        case .pruned: type = "pruned"
        case .settings(let settings):
            type = "settings"
            tail.member(named: "settings", settings)
        case .kinds(let kinds):
            type = "kinds"
            let names = kinds.map { "\($0["kind"]?.string ?? "?") \($0["version"]?.description ?? "?")" }
            tail.member("kinds", .array(names.map { .string($0) }))
        }
        tail.endObject()
        (self.happenedAt, self.type, verdict, rev) = (happenedAt, type, body.verdict, body.rev)
        self.tail = tail.bytes
    }
}

/// A journal record in the words of `HISTORY`, for tools that read a journal without a server.
public struct ReadableRecord {
    /// The time given by its sender, or else that of the record.
    public let happenedAt: Timestamp
    /// The event's type, or the kind of entry: those listed for `HISTORY`, and `settings` and `kinds`.
    public let type: String
    public let verdict: Verdict
    public let rev: Int64
    /// The state after it, what came with it, and the principal that sent it.
    public let tail: JSON

    /// `nil` for a record that this release cannot read.
    public init?(_ record: JournalRecord) {
        guard let line = HistoryLine(record), let tail = try? JSONParser().parse(line.tail.span) else { return nil }
        (happenedAt, type, verdict, rev) = (line.happenedAt, line.type, line.verdict, line.rev)
        self.tail = tail
    }
}
