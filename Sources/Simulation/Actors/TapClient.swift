import TelltaleModel
import TelltaleWire

/// A person at a screen: switches lamps, taps twice, taps rows that are out of date, and dismisses orders.
final class TapClient: ConnectedClient {
    private struct Tap {
        var line: String
        var eid: String?
        var operation: String?
    }

    unowned let world: any Environment
    let index: Int
    private let number: Int
    private let name: String
    private var random: SimulationRandom
    var connection = ClientConnection()
    private var taps: [Tap] = []
    private var requests = RequestQueue(letter: "f", window: .max)

    init(world: any Environment, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        self.number = number
        name = world.setting.tagged(["alice", "bob"][number % 2])
    }

    var isWaiting: Bool { requests.isOwed }
    var untilNextMove: Int64 { random.pick(200...6_000) }

    func move() {
        guard link != nil else { return connect() }
        if world.isCalm { return }
        if random.chance(world.climate.resets) { return vanish() }
        world.countInput()
        let number = taps.count
        guard let tap = nextTap(number) else { return }
        let isDouble = random.chance(world.climate.doubleTaps)
        taps.append(tap)
        requests.append(number)
        if isDouble {
            taps.append(tap)
            requests.append(number + 1)
        }
        flush()
    }

    private func nextTap(_ number: Int) -> Tap? {
        let cast = world.setting.cast
        // Several people may share a name; each has event ids of their own.
        let eid = world.setting.tag.isEmpty ? "t\(number)" : "t\(number)-\(self.number)"
        let dismissed = cast.parts.first?.kind ?? "order"
        if world.climate.staleTaps > 0, random.chance(world.climate.staleTaps), let lamp = cast.toggles.first {
            return Tap(line: "SET \(lamp) value=on if=1")
        }
        switch random.below(12) {
        case 0...4:
            let value = random.chance(500) ? "on" : "off"
            guard !cast.toggles.isEmpty else { return nil }
            let lamp = cast.toggles[random.below(cast.toggles.count)]
            return Tap(line: "SET \(lamp) value=\(value) eid=\(eid)", eid: eid)
        case 5:
            guard let bell = cast.buttons.first else { return nil }
            return Tap(line: "PRESS \(bell) eid=\(eid)", eid: eid)
        case 6:
            let rev = random.below(200)
            return cast.toggles.first.map { Tap(line: "SET \($0) value=on if=\(rev)") }
        case 7, 8:
            let order = "shop-\(random.below(world.climate.producers))-\(random.below(20))"
            return Tap(line: "DISMISS \(dismissed)/\(world.setting.tagged(order))")
        case 9:
            let order = world.setting.tagged("shop-\(random.below(world.climate.producers))-\(random.below(20))")
            return Tap(line: "SEEN \(dismissed)/\(order) rev=\(1 + random.below(2_000))")
        case 10:
            let order = world.setting.tagged("shop-\(random.below(world.climate.producers))-\(random.below(20))")
            return Tap(line: "OPEN \(dismissed)/\(order)")
        // The last tap once more, with its id.
        case _: return taps.last(where: { $0.eid != nil })
        }
    }

    func doLater(_ what: Int) { flush() }

    func calmDown() { if link == nil { connect() } else { flush() } }

    func connect() {
        let link = connection.open(world.connect(self))
        world.send("HELLO id=hello client=finger account=\(name) surface=phone\n", on: link)
        // A tap without an id of its own may have taken effect already, so it is not sent again.
        requests.reconnect { taps[$0].eid != nil }
        flush()
    }

    private func flush() {
        guard let link else { return }
        while let number = requests.next(at: world.now) {
            world.send("\(taps[number].line) id=\(requests.id(of: number))\n", on: link)
        }
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard let lines = connection.read(bytes, on: link)?.lines else { return }
        for line in lines where line.verb == "OK" || line.verb == "ERR" {
            switch requests.take(line) {
            case .greeting: break
            case .answer(let number): answered(number, line)
            case .unexpected: world.violated("protocol", "\(name)'s finger is answered out of order: \(line)")
            }
        }
    }

    private func answered(_ number: Int, _ line: ServerLine) {
        if line["code"] == "storage_full" || line["code"] == "storage_failed" {
            requests.append(number)
            return world.scheduleLater(0, for: self, after: RequestQueue.retryDelay)
        }
        guard line.verb == "OK", let operation = line["op"] else { return }
        if world.chronicle?.operations.contains(operation) == false {
            return world.violated("P1", "\(operation) is acknowledged, and is not on the disk")
        }
        guard let eid = taps[number].eid else { return }
        for other in taps where other.eid == eid {
            if let known = other.operation, known != operation {
                return world.violated("P6", "\(name)'s tap \(eid) acts as \(known) and as \(operation)")
            }
        }
        taps[number].operation = operation
    }
}
