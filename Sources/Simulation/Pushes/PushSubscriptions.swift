import ApplePush
import TelltaleModel
import TelltaleWire

/// The subscriptions of a ``SimulatedPushProgram``: for each account and kind the full view, and the alerts of its phone.
struct PushSubscriptions {
    enum Event {
        case row(JSONObject, Key, rev: Int64, PushState.Watch)
        case alert(OutgoingPush.Alert, Key, rev: Int64, PushState.Watch)
        case deletion(Key, rev: Int64, PushState.Watch)
        case live(PushState.Watch)
    }

    /// The rows of one watch.
    private struct Rows {
        /// When each activity began.
        var keys: [Key: Int64] = [:]
        /// The keys of a picture that is not whole yet.
        var fresh: Set<Key>?
    }

    private var rows: [PushState.Watch: Rows] = [:]
    private var asked: [PushState.Watch] = []
    /// By the number that the daemon gave a subscription.
    private var subscriptions: [String: (watch: PushState.Watch, isFull: Bool)] = [:]

    /// A connection begins; each picture comes anew.
    mutating func begin() {
        asked = []
        subscriptions = [:]
        for watch in rows.keys { rows[watch]?.fresh = [] }
    }

    /// Whether every picture is there.
    var isWhole: Bool { asked.allSatisfy { rows[$0]?.fresh == nil } }

    func startedAt(_ key: Key, _ watch: PushState.Watch?) -> Int64? { watch.flatMap { rows[$0]?.keys[key] } }

    /// The requests for what is not followed yet.
    mutating func follow(_ watches: [PushState.Watch]) -> [String] {
        var lines: [String] = []
        for watch in watches where !asked.contains(watch) {
            rows[watch, default: Rows()].fresh = []
            let words = watch.account.isEmpty ? "" : " for=\(watch.account)"
            lines.append("SUB \(watch.kind)/* view=phone id=p\(asked.count)\(words)")
            lines.append("SUB \(watch.kind)/* view=full id=f\(asked.count)\(words)")
            asked.append(watch)
        }
        return lines
    }

    mutating func readLine(_ line: ServerLine) -> [Event] {
        if line.verb == "OK", let id = line["id"], let number = Int(id.dropFirst()), number < asked.count,
            let subscription = line["sub"]
        {
            subscriptions[subscription] = (asked[number], id.hasPrefix("f"))
            return []
        }
        guard let (watch, isFull) = line["sub"].flatMap({ subscriptions[$0] }) else { return [] }
        let key = line["key"].flatMap { Key($0) }
        let rev = line.integer("rev") ?? 0
        switch line.verb {
        case "ALERT":
            guard !isFull, let key else { return [] }
            let alert = OutgoingPush.Alert(
                title: line.tail?["title"]?.string ?? "", body: line.tail?["body"]?.string ?? "")
            return [.alert(alert, key, rev: rev, watch)]
        case "SNAP", "UPD":
            guard isFull, let key, let row = line.tail else { return [] }
            rows[watch]?.keys[key] = row["startedAt"]?.integer ?? 0
            rows[watch]?.fresh?.insert(key)
            return [.row(row, key, rev: rev, watch)]
        case "DEL":
            guard isFull, let key else { return [] }
            rows[watch]?.keys[key] = nil
            return [.deletion(key, rev: rev, watch)]
        case "RESET":
            if isFull { rows[watch]?.fresh = [] }
            return []
        case "LIVE":
            guard isFull, let known = rows[watch] else { return [] }
            rows[watch]?.fresh = nil
            let gone = known.keys.keys.filter { known.fresh?.contains($0) == false }.sorted()
            for key in gone { rows[watch]?.keys[key] = nil }
            return gone.map { .deletion($0, rev: 0, watch) } + [.live(watch)]
        default: return []
        }
    }
}
