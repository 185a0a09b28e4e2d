import TelltaleWire

/// A person at a screen: switches lamps, taps twice, taps rows that are out of date, and dismisses orders.
final class TapClient: RequestingClient {
    private struct Tap {
        var line: String
        var eid: String?
        var operation: String?
    }

    var seat: Seat
    private let name: String
    private var taps: [Tap] = []
    var requests = RequestQueue(letter: "f", window: .max)

    init(_ seat: Seat) {
        self.seat = seat
        name = seat.world.setting.tagged(["alice", "bob"][seat.number % 2])
    }

    var title: String { "\(name)'s finger" }
    var hello: String { "HELLO id=hello client=finger account=\(name) surface=phone" }
    var bundles: Bool { false }
    var untilNextMove: Int64 { random.pick(200...6_000) }

    func act(on link: SimulatedLink) {
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
        let eid = world.setting.tag.isEmpty ? "t\(number)" : "t\(number)-\(seat.number)"
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
        case 7, 8: return Tap(line: "DISMISS \(anOrder())")
        case 9: return Tap(line: "SEEN \(anOrder()) rev=\(1 + random.below(2_000))")
        case 10: return Tap(line: "OPEN \(anOrder())")
        // The last tap once more, with its id.
        case _: return taps.last(where: { $0.eid != nil })
        }
    }

    private func anOrder() -> String {
        let id = "shop-\(random.below(world.climate.producers))-\(random.below(20))"
        return "\(world.setting.cast.parts.first?.kind ?? "order")/\(world.setting.tagged(id))"
    }

    /// A tap without an id of its own may have taken effect already, so it is not sent again.
    func isRepeatable(_ number: Int) -> Bool { taps[number].eid != nil }

    func request(_ number: Int) -> String { taps[number].line }

    func repliesTaken() {}

    func answered(_ number: Int, _ line: ServerLine) {
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
