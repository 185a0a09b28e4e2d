import Model
import Wire

/// A person's finger on a screen: switches lamps, taps twice, taps what is out of date, and swipes orders away.
final class Finger: SimulatedClient {
    private struct Tap {
        var line: String
        var eid: String?
        var operation: String?
    }

    unowned let world: World
    let index: Int
    private let name: String
    private var random: SimulationRandom
    private(set) var link: Link?
    private var lines = ClientLines()
    private var taps: [Tap] = []
    private var todo: [Int] = []
    private var underWay: [Int] = []
    private var isHelloAnswered = false

    init(world: World, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        name = ["alice", "bob"][number % 2]
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
        var tap: Tap
        switch random.below(10) {
        case 0...4:
            let value = random.chance(500) ? "on" : "off"
            tap = Tap(line: "SET lamp/\(1 + random.below(3)) value=\(value) eid=t\(number)", eid: "t\(number)")
        case 5: tap = Tap(line: "PRESS bell/1 eid=t\(number)", eid: "t\(number)")
        case 6: tap = Tap(line: "SET lamp/1 value=on if=\(random.below(200))")
        case 7, 8: tap = Tap(line: "DISMISS order/shop-\(random.below(world.climate.producers))-\(random.below(20))")
        case _:
            // The same tap once more.
            guard let old = taps.last(where: { $0.eid != nil }) else { return }
            tap = old
        }
        let isDouble = random.chance(100)
        taps.append(tap)
        todo.append(number)
        if isDouble {
            taps.append(tap)
            todo.append(number + 1)
        }
        flush()
    }

    func doLater(_ what: Int) { flush() }

    func calmDown() { if link == nil { connect() } else { flush() } }

    private func connect() {
        lines.begin()
        isHelloAnswered = false
        let link = world.connect(self, random: &random)
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
        if line["code"] == "storage_full" {
            todo.append(place)
            return world.schedule(.later(client: index, what: 0), after: 1_500)
        }
        guard line.verb == "OK", let eid = taps[place].eid, let operation = line["op"] else { return }
        for other in taps where other.eid == eid {
            if let known = other.operation, known != operation {
                return world.violated("P6", "\(name)'s tap \(eid) acts as \(known) and as \(operation)")
            }
        }
        taps[place].operation = operation
    }
}
