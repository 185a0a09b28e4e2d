import TelltaleWire

/// An operator who has every widget ask anew, several times at once.
///
/// A request whose connection is lost, or that is refused, is not sent again: it has reloaded some of the keys.
final class ReloadClient: RequestingClient {
    private struct Sent {
        var pattern: String
        /// Its number among the ``ReferenceReloads``.
        var walk = 0
    }

    unowned let world: any Environment
    let index: Int
    let title: String
    private var random: SimulationRandom
    var connection = ClientConnection()
    var requests = RequestQueue(letter: "w")
    private var sent: [Sent] = []

    init(world: any Environment, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        title = "reload-\(number)"
    }

    var untilNextMove: Int64 { random.pick(2_000...20_000) }

    func move() {
        guard link != nil else { return connect() }
        if world.isCalm { return }
        if random.chance(world.climate.resets) { return vanish() }
        for _ in 0...random.below(3) {
            sent.append(Sent(pattern: random.pick(of: ["*", SimulatedVisits.towns])))
            requests.append(sent.count - 1)
        }
        flush()
    }

    func connect() { connect(with: "HELLO id=hello client=\(title)") { _ in false } }

    func flush() {
        guard let link, let visits = world.chronicle?.visits else { return }
        var text = ""
        while let number = requests.next(at: world.now) {
            sent[number].walk = visits.beginReload()
            text += "RELOAD \(sent[number].pattern) id=\(requests.id(of: number))\n"
        }
        if !text.isEmpty { world.send(text, on: link) }
    }

    func answered(_ number: Int, _ line: ServerLine) {
        let (pattern, code) = (sent[number].pattern, line["code"] ?? "")
        if line.verb == "ERR" {
            world.ledger.errors[code, default: 0] += 1
            let isExcused = line["retry"] == "later" || (code == "unknown_kind" && world.climate.startsFull)
            if !isExcused { broken("is refused \(pattern): \(line)") }
            return
        }
        world.chronicle?.visits?.endReload(sent[number].walk)
        let counts = ["applied", "deferred", "noop"].map { line.integer($0) ?? -1 }
        guard let count = line.integer("count"), counts.reduce(0, +) == count, (counts.min() ?? 0) >= 0 else {
            return broken("is answered \(line) for \(pattern)")
        }
        let asked = Int64(SimulatedVisits.townKeys.count)
        // A widget that is posted or computed is a noop.
        if counts[0] + counts[1] != asked { broken("has reloaded \(count - counts[2]) of \(asked) by \(pattern)") }
        if pattern == "*", counts[2] == 0 { broken("has met none of the widgets that are not asked for") }
    }

    private func broken(_ what: String) { world.violated("visits", "\(title) \(what)") }
}
