import TelltaleModel
import TelltaleWire

/// A person's finger on a screen: switches lamps, taps twice, taps what is out of date, and swipes orders away.
final class TapClient: SimulatedClient {
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
    private(set) var link: Link?
    private var lines = ClientLines()
    private var taps: [Tap] = []
    private var todo: [Int] = []
    private var underWay: [Int] = []
    private var isHelloAnswered = false

    init(world: any Environment, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        self.number = number
        name = world.setting.tagged(["alice", "bob"][number % 2])
    }

    var isWaiting: Bool { !todo.isEmpty || !underWay.isEmpty || !isHelloAnswered }
    var untilNextMove: Int64 { random.pick(200...6_000) }

    func move() {
        guard let link else { return connect() }
        if world.isCalm { return }
        if random.chance(world.climate.resets) {
            world.reset(link)
            self.link = nil
            return
        }
        world.countInput()
        let number = taps.count
        guard let tap = nextTap(number) else { return }
        let isDouble = random.chance(world.climate.doubleTaps)
        taps.append(tap)
        todo.append(number)
        if isDouble {
            taps.append(tap)
            todo.append(number + 1)
        }
        flush()
    }

    private func nextTap(_ number: Int) -> Tap? {
        let cast = world.setting.cast
        // Of several people with one name, each has ids of its own.
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
        // The same tap once more.
        case _: return taps.last(where: { $0.eid != nil })
        }
    }

    func vanish() {
        guard let link else { return }
        world.reset(link)
        self.link = nil
    }

    func doLater(_ what: Int) { flush() }

    func calmDown() { if link == nil { connect() } else { flush() } }

    private func connect() {
        lines.begin()
        isHelloAnswered = false
        let link = world.connect(self)
        self.link = link
        world.send("HELLO id=hello client=finger account=\(name) surface=phone\n", on: link)
        // What has an id of its own may be said again; the rest may have happened, and is let be.
        todo = underWay.filter { taps[$0].eid != nil } + todo
        underWay = []
        flush()
    }

    private func flush() {
        guard let link else { return }
        while !todo.isEmpty {
            let place = todo.removeFirst()
            underWay.append(place)
            world.send(taps[place].line + " id=f\(place)\n", on: link)
        }
    }

    func lost(_ link: Link) {
        guard link === self.link else { return }
        self.link = nil
        if world.isCalm { connect() }
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard link === self.link else { return }
        for line in lines.read(bytes).lines where line.verb == "OK" || line.verb == "ERR" {
            if !isHelloAnswered {
                isHelloAnswered = true
                continue
            }
            guard let place = underWay.first, line["id"] == "f\(place)" else {
                world.violated("protocol", "\(name)'s finger is answered out of order: \(line)")
                continue
            }
            underWay.removeFirst()
            answered(place, line)
        }
    }

    private func answered(_ place: Int, _ line: ServerLine) {
        if line["code"] == "storage_full" || line["code"] == "storage_failed" {
            todo.append(place)
            return world.scheduleLater(0, for: self, after: 1_500)
        }
        guard line.verb == "OK", let operation = line["op"] else { return }
        if world.chronicle?.operations.contains(operation) == false {
            return world.violated("P1", "\(operation) is acknowledged, and is not on the disk")
        }
        guard let eid = taps[place].eid else { return }
        for other in taps where other.eid == eid {
            if let known = other.operation, known != operation {
                return world.violated("P6", "\(name)'s tap \(eid) acts as \(known) and as \(operation)")
            }
        }
        taps[place].operation = operation
    }
}
