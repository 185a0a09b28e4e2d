import TelltaleWire

/// An operator who has every widget ask anew, several times at once.
///
/// A request whose connection is lost, or that is refused, is not sent again: it has reloaded some of the keys.
final class ReloadClient: RequestingClient {
    private struct Sent {
        var pattern: String
        /// Its number among the ``ReferenceReloads``.
        var scan = 0
    }

    var seat: Seat
    let title: String
    var requests = RequestQueue(letter: "w")
    private var sent: [Sent] = []

    init(_ seat: Seat) {
        self.seat = seat
        title = "reload-\(seat.number)"
    }

    var untilNextMove: Int64 { random.pick(2_000...20_000) }

    var hello: String { "HELLO id=hello client=\(title)" }

    func act(on link: SimulatedLink) {
        for _ in 0...random.below(3) {
            sent.append(Sent(pattern: random.pick(of: ["*", SimulatedRelevantWidgets.towns])))
            requests.append(sent.count - 1)
        }
        flush()
    }

    func isRepeatable(_ number: Int) -> Bool { false }

    func request(_ number: Int) -> String {
        sent[number].scan = world.chronicle?.relevantTiles?.beginReload() ?? 0
        return "RELOAD \(sent[number].pattern)"
    }

    func answered(_ number: Int, _ line: ServerLine) {
        let (pattern, code) = (sent[number].pattern, line["code"] ?? "")
        if line.verb == "ERR" {
            world.ledger.errors[code, default: 0] += 1
            let isExcused = line["retry"] == "later" || (code == "unknown_kind" && world.climate.startsFull)
            if !isExcused { broken("is refused \(pattern): \(line)") }
            return
        }
        world.chronicle?.relevantTiles?.endReload(sent[number].scan)
        let counts = ["applied", "deferred", "noop"].map { line.integer($0) ?? -1 }
        guard let count = line.integer("count"), counts.reduce(0, +) == count, (counts.min() ?? 0) >= 0 else {
            return broken("is answered \(line) for \(pattern)")
        }
        let asked = Int64(SimulatedRelevantWidgets.townKeys.count)
        // A widget that is posted or computed is a noop.
        if counts[0] + counts[1] != asked { broken("has reloaded \(count - counts[2]) of \(asked) by \(pattern)") }
        if pattern == "*", counts[2] == 0 { broken("has met none of the widgets that are not asked for") }
    }

    private func broken(_ what: String) { world.violated("visits", "\(title) \(what)") }
}
