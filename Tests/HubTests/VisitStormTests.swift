import Hub
import TelltaleModel
import TestSupport
import Testing

/// Watches that follow a board through random orders, tiles, situations, hours and restarts draw what a new one draws.
struct VisitStormTests {
    private final class Device {
        let account: String?
        var watch: VisitTests.Watch
        var traits = ""

        init(_ watch: VisitTests.Watch, account: String?) { (self.watch, self.account) = (watch, account) }
    }

    @Test("After everything that happens", arguments: Lane.some(0..<12 as Range<UInt64>, atEveryChange: 4))
    func storm(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func any<Element>(_ all: [Element]) -> Element { all.randomElement(using: &generator) ?? all[0] }
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
        let house = try HubHarness(kinds: VisitTests.kinds)
        var phone = house.connect(as: "alice")
        var kinds = VisitTests.kinds
        house.send("TILE @wrist/t0 do=add widget=sales/s0 family=accessoryRectangular", from: phone)
        var devices = [
            Device(try VisitTests.Watch(house), account: "alice"),
            Device(try VisitTests.Watch(house), account: "alice"),
        ]
        if seed % 3 == 0 { devices.append(Device(try VisitTests.Watch(house, as: nil), account: nil)) }
        var (log, visitCount): ([String], Int) = ([], 0)
        for step in 0..<150 {
            let second = house.time.milliseconds / 1_000
            let order = "coffee-order/\(any(["a", "b", "c", "d"]))"
            let times = #""from":\#(second + Int64(number(-60...120))),"to":\#(second + Int64(number(0...400)))"#
            var request: String
            switch number(0...15) {
            case 0...3:
                let who = any(["", " for=alice", " for=alice,bob", " for=bob"])
                request = "EVT \(order) type=start\(who) {\"content-state\":{\(times),\"n\":\(step)}}"
            case 4, 5: request = "EVT \(order) type=update {\"content-state\":{\(times)}}"
            case 6: request = "EVT \(order) type=update {\"content-state\":{\"n\":\(step)}}"
            case 7: request = any(["EVT \(order) type=end", "DISMISS \(order)"])
            case 8:
                request =
                    "TILE @wrist/t\(number(0...2)) do=add widget=sales/s\(number(0...1)) family=accessoryRectangular"
            case 9: request = "TILE @wrist/t\(number(0...2)) do=\(any(["remove", "pin pos=1", "move pos=1"]))"
            case 10, 11:
                let device = any(devices)
                device.traits = "place=\(any(["work", "none"]))"
                house.post("TRAIT \(device.traits)", from: device.watch.client)
                request = "PING id=trait"
            case 12:
                // One is away while something happens.
                let device = any(devices)
                try device.watch.read()
                house.disconnect(device.watch.client)
                house.send("EVT \(order) type=\(any(["end", "update"]))", from: phone)
                house.time = house.time + .seconds(Int64(number(0...300)))
                house.turn()
                try device.watch.comeBack(as: device.account, traits: device.traits)
                request = "PING id=away"
            case 13 where number(0...2) == 0:
                kinds = kinds.count > 3 ? [HubHarness.coffee, VisitTests.places, VisitTests.sales] : VisitTests.kinds
                try house.hub.adopt(try kinds.map { try HubHarness.kind($0) })
                request = "PING id=kinds-\(kinds.count)"
            case 14 where number(0...3) == 0:
                for device in devices { try device.watch.read() }
                try house.restart(kinds: kinds, fromSnapshot: number(0...1) == 0)
                phone = house.connect(as: "alice")
                for device in devices { try device.watch.comeBack(as: device.account, traits: device.traits) }
                request = "PING id=restart"
            default:
                house.isFull = true
                house.send("EVT \(order) type=\(any(["end", "start for=alice"]))", from: phone)
                house.isFull = false
                house.time = house.time + .seconds(Int64(number(1...100)))
                request = "PING"
            }
            log.append(request)
            house.post(request, from: phone)
            house.turn()
            _ = house.lines(of: phone)
            for (index, device) in devices.enumerated() {
                try device.watch.read()
                let fresh = try VisitTests.Watch(house, as: device.account, traits: device.traits)
                house.disconnect(fresh.client)
                for later in [0, 30, 200] as [Int64] {
                    let now = house.time + .seconds(later)
                    let (held, given) = (device.watch.drawn(at: now), fresh.drawn(at: now))
                    #expect(
                        held == given,
                        "seed \(seed), step \(step), device \(index) (\(device.traits)), \(later): \(log.suffix(6))")
                    guard held == given else { return }
                }
                visitCount += device.watch.drawn(at: house.time).count { !$0.hasPrefix("sales") }
            }
        }
        // It was about them.
        #expect(visitCount > 20)
    }
}
