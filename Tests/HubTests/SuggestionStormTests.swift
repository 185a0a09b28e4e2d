import TelltaleModel
import TestSupport
import Testing

/// Devices that follow a board through random requests, posts, situations, hours and restarts hold what a new one is given.
struct SuggestionStormTests {
    private static let widgets = ["tip/main", "walk/main", "sales/s0", "sales/s1", "sales/Hoegi"]

    @Test("After everything that happens", arguments: Lane.some(0..<12 as Range<UInt64>, atEveryChange: 4))
    func storm(seed: UInt64) throws {
        let kinds = SuggestionTests.kinds
        let tip = "@car/" + SuggestionTests.id("tip/main")
        let walk = "@car/" + SuggestionTests.id("walk/main")
        var storm = try BoardStorm(kinds, seed: seed)
        for view in ["carplay", "phone", "standby", "carplay"] {
            storm.devices.append(try TestBoardDevice(storm.harness, view: view, pattern: "@car/*"))
        }
        var suggestedCount = 0
        for step in 0..<150 {
            let request: String
            switch storm.number(0...15) {
            case 0, 1:
                let (stack, isSmart) = (storm.any(["left", "right"]), storm.any(["yes", "no"]))
                request = "TILE @car/\(stack) do=stack smart=\(isSmart) suggest=\(storm.any(["yes", "yes", "no"]))"
            case 2, 3:
                let (tile, stack) = (storm.number(0...3), storm.any(["left", "right"]))
                let shop = #"{"configuration":{"shop":"s\#(storm.number(0...1))"}}"#
                request = "TILE @car/t\(tile) do=add widget=sales stack=\(stack) \(shop)"
            case 4:
                let tile = storm.any(["t0", "t1", "t2", "left"])
                request = "TILE @car/\(tile) do=\(storm.any(["remove", "show", "move pos=1"]))"
            case 5:
                let key = storm.any([tip, walk])
                request = "TILE \(key) do=\(storm.any(["keep", "keep", "remove", "show"]))"
            case 6...9: request = Self.timeline(step, &storm)
            case 10: request = "EVT \(storm.any(Self.widgets)) type=end"
            case 11: request = storm.situate(["commute", "none"])
            case 12:
                request = try storm.away("TILE @car/left do=stack suggest=\(storm.any(["yes", "no"]))")
            case 13:
                let isLess = storm.kinds.count > 3 && storm.number(0...1) == 0
                request = try storm.adopt(isLess ? [HubHarness.coffee, WidgetTests.sales, kinds[2]] : kinds)
            case 14 where storm.number(0...3) == 0: request = try storm.restart()
            default:
                let key = storm.any([tip, walk, "@car/t0"])
                request = storm.refuse("TILE \(key) do=\(storm.any(["keep", "remove"]))")
            }
            let fault = try storm.fault(after: request) { $0.viewState(at: $0.harness.time) }
            #expect(fault == nil, "step \(step)")
            guard fault == nil else { return }
            for device in storm.devices {
                suggestedCount += device.viewState(at: storm.harness.time).values.count { $0.hasSuffix("true true") }
            }
        }
        // It was about them.
        #expect(suggestedCount > 5)
    }

    private static func timeline(_ step: Int, _ storm: inout BoardStorm) -> String {
        let begin = storm.harness.time.milliseconds / 1_000 + Int64(storm.number(-60...60))
        let entries = (0...storm.number(0...3)).map { index in
            let score = storm.any(["", #","relevance":{"score":1}"#, #","relevance":{"score":2,"for":90}"#])
            return #"{"date":\#(begin + Int64(index) * 60),"content-state":{"n":"\#(step)-\#(index)"}\#(score)}"#
        }
        return "EVT \(storm.any(widgets)) type=timeline {\"entries\":[\(entries.joined(separator: ","))]}"
    }
}
