public import TelltaleModel
public import TelltaleWire

/// The inputs of a daemon as a trace of offsets, with their outcomes.
///
/// It is made from `HISTORY`, so it holds the inputs that were decided. Refusals and duplicates changed nothing and are
/// not in it. Deadlines and raised events come from the hub itself, and the hub of a replay makes them again.
public struct Recording: Sendable {
    public struct Entry: Sendable, Equatable {
        /// Milliseconds on the kinds' clock, from the recording's beginning.
        public var offset: Int64
        public var key: Key
        public var action: Action
        public var verdict: String
        /// The state after it, as the hub recorded it.
        public var state: String
    }

    public enum Action: Sendable, Equatable {
        /// - happened: An offset, where the sender gave a time.
        case event(type: String, source: String?, eid: String?, version: Int64?, happened: Int64?, tail: JSONObject)
        /// - sender: `account:NAME`, or the daemon's other name of the client that taps.
        case set(Bool, sender: String, eid: String?)
        case press(sender: String, eid: String?)
        case report(Bool?)
        case done(Bool?)
        case failed(String?)
        case dismissed(account: String)
        /// A connection starts to act for the control, another one takes over, or none acts any more.
        case served(Bool)
    }

    /// In the order in which the daemon decided on them.
    public var entries: [Entry] = []
    /// The rows of the full view at the end, by key, without the members that differ from run to run.
    public var views: [String: JSONObject] = [:]
    /// When the views were taken, as an offset.
    public var end: Int64 = 0
    /// Deadlines that fired during the recording. A replay at another pace than its kinds' clock may fire different ones.
    public var deadlineCount = 0
    /// The records of `HISTORY` that a recording does not keep, by type.
    public var skipped: [String: Int] = [:]

    public init() {}

    /// The kinds of all entries.
    public var kinds: [String] { Set(entries.map { String($0.key.kind) }).sorted() }
    /// Whether the outcome depends on the times of the inputs: deadlines fired, or controls were used, which settle.
    public var isTimed: Bool {
        deadlineCount > 0
            || entries.contains { entry in
                switch entry.action {
                case .set, .press, .done, .failed: true
                case .event, .report, .dismissed, .served: false
                }
            }
    }
    /// Kinds whose controls a provider acted for.
    public var servedKinds: [String] {
        Set(
            entries.compactMap { entry in
                switch entry.action {
                case .report, .done, .failed, .served: String(entry.key.kind)
                case .event, .set, .press, .dismissed: nil
                }
            }
        ).sorted()
    }
}

// MARK: From a daemon

extension Recording {
    /// - Parameters:
    ///   - history: The `HIST` lines of every key, in any order of keys.
    ///   - rows: The rows of `LIST view=full`.
    ///   - now: The daemon's clock when they were asked for.
    ///   - beginning: Unix milliseconds, a whole second; by default that of the first action.
    public init(history: [ServerLine], rows: [ServerLine], now: Timestamp, beginning: Int64? = nil) {
        let lines = history.compactMap { line in
            line.tail?["seq"]?.integer.map { (sequence: $0, line: line) }
        }.sorted { $0.sequence < $1.sequence }
        let first = lines.compactMap { $0.line.integer("heard") }.min() ?? now.milliseconds
        // A whole second, so that Unix seconds are whole offsets.
        let clock = RecordingClock(beginning: beginning ?? (first - (first % 1_000 + 1_000) % 1_000))
        end = now.milliseconds - clock.beginning
        for (_, line) in lines { recordLine(line, clock) }
        for line in rows {
            guard let key = line["key"], let body = line.tail else { continue }
            views[key] = Self.comparable(body, clock)
        }
    }

    private mutating func recordLine(_ line: ServerLine, _ clock: RecordingClock) {
        guard let key = line["key"].flatMap({ Key($0) }), let heard = line.integer("heard"), let type = line["type"],
            let verdict = line["verdict"], let tail = line.tail, let state = tail["state"]?.string
        else { return }
        guard let action = action(type, key: key, line: line, tail: tail, heard: heard, clock) else { return }
        entries.append(
            Entry(offset: heard - clock.beginning, key: key, action: action, verdict: verdict, state: state))
    }

    private mutating func action(
        _ type: String, key: Key, line: ServerLine, tail: JSONObject, heard: Int64, _ clock: RecordingClock
    ) -> Action? {
        let eid = tail["eid"]?.string
        let sender = tail["sender"]?.string ?? "-"
        switch type {
        case "deadline":
            deadlineCount += 1
            return nil
        case "provider-came": return .served(true)
        case "provider-left": return .served(false)
        case "created", "kind-changed", "restarted", "pruned", "settings", "attached", "detached",
            "raise-refused":
            return nil
        case "set": return .set(tail["value"]?.bool ?? false, sender: sender, eid: eid)
        case "press": return .press(sender: sender, eid: eid)
        case "reported": return .report(tail["value"]?.bool)
        case "done": return .done(tail["value"]?.bool)
        case "failed": return .failed(tail["message"]?.string)
        case "dismissed": return tail["account"]?.string.map { .dismissed(account: $0) }
        case "seen":
            skipped[type, default: 0] += 1
            return nil
        case _:
            let source = tail["src"]?.string
            // A button raised the event, and will raise it again. `telltaled` is its source in earlier releases.
            if source == EventCommand.buttonSource || source == "telltaled" { return nil }
            var rest = tail
            for name in ["seq", "state", "src", "eid", "ver"] { rest[name] = nil }
            let at = line.integer("at") ?? heard
            return .event(
                type: type, source: source, eid: eid, version: tail["ver"]?.integer,
                happened: at == heard ? nil : at - clock.beginning, tail: clock.offsets(in: rest))
        }
    }

    /// A row without its times of decision and its operations' names.
    private static func comparable(_ body: JSONObject, _ clock: RecordingClock) -> JSONObject {
        var body = body
        for name in ["startedAt", "updatedAt", "staleAt", "endedAt", "removeAt", "timers", "available"] {
            body[name] = nil
        }
        if let last = body["last"] { body["last"] = comparable(end: last) }
        if let ended = body["ended"]?.array { body["ended"] = .array(ended.map { comparable(end: $0) }) }
        return clock.offsets(in: body)
    }

    private static func comparable(end: JSON) -> JSON {
        guard var end = end.object else { return end }
        end["op"] = nil
        // HISTORY returns the message of a provider, and not its code.
        end["code"] = nil
        return .object(end)
    }
}
