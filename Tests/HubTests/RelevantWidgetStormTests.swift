import TelltaleModel
import TestSupport
import Testing

/// Watches that follow a board through random orders, tiles, situations, hours and restarts draw what a new one draws.
struct RelevantWidgetStormTests {
    @Test("After everything that happens", arguments: Lane.some(0..<12 as Range<UInt64>, atEveryChange: 4))
    func storm(seed: UInt64) throws {
        let kinds = RelevantWidgetTests.kinds
        var storm = try BoardStorm(kinds, seed: seed)
        storm.harness.send("TILE @wrist/t0 do=add widget=sales/s0 family=accessoryRectangular", from: storm.phone)
        for account in ["alice", "alice"] + (seed % 3 == 0 ? [nil] : []) {
            storm.devices.append(try .watch(storm.harness, as: account))
        }
        var visitCount = 0
        for step in 0..<150 {
            let second = storm.harness.time.milliseconds / 1_000
            let order = "coffee-order/\(storm.any(["a", "b", "c", "d"]))"
            let (from, to) = (second + Int64(storm.number(-60...120)), second + Int64(storm.number(0...400)))
            let times = #""from":\#(from),"to":\#(to)"#
            let tile = "TILE @wrist/t\(storm.number(0...2))"
            let request: String
            switch storm.number(0...15) {
            case 0...3:
                let who = storm.any(["", " for=alice", " for=alice,bob", " for=bob"])
                request = "EVT \(order) type=start\(who) {\"content-state\":{\(times),\"n\":\(step)}}"
            case 4, 5: request = "EVT \(order) type=update {\"content-state\":{\(times)}}"
            case 6: request = "EVT \(order) type=update {\"content-state\":{\"n\":\(step)}}"
            case 7: request = storm.any(["EVT \(order) type=end", "DISMISS \(order)"])
            case 8: request = "\(tile) do=add widget=sales/s\(storm.number(0...1)) family=accessoryRectangular"
            case 9: request = "\(tile) do=\(storm.any(["remove", "pin pos=1", "move pos=1"]))"
            case 10, 11: request = storm.situate(["work", "none"])
            case 12: request = try storm.away("EVT \(order) type=\(storm.any(["end", "update"]))")
            case 13 where storm.number(0...2) == 0:
                let isLess = storm.kinds.count > 3
                request = try storm.adopt(
                    isLess ? [HubHarness.coffee, RelevantWidgetTests.places, RelevantWidgetTests.sales] : kinds)
            case 14 where storm.number(0...3) == 0: request = try storm.restart()
            default: request = storm.refuse("EVT \(order) type=\(storm.any(["end", "start for=alice"]))")
            }
            let fault = try storm.fault(after: request) { device in
                ([0, 30, 200] as [Int64]).map { device.drawn(at: device.harness.time + .seconds($0)) }
            }
            #expect(fault == nil, "step \(step)")
            guard fault == nil else { return }
            for device in storm.devices {
                visitCount += device.drawn(at: storm.harness.time).count { !$0.hasPrefix("sales") }
            }
        }
        // It was about them.
        #expect(visitCount > 20)
    }
}
