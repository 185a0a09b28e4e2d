import Hub
import TelltaleModel
import TestSupport
import Testing

/// Devices that follow a board through random requests, posts, situations, hours and restarts hold what a new one is given.
struct SuggestionStormTests {
    private static let widgets = ["tip/main", "walk/main", "sales/s0", "sales/s1", "sales/Hoegi"]

    private final class Device {
        let account: String?
        let surface: String
        var client: HubHarness.Client
        var rows: [String: JSON] = [:]
        var cursor: String?
        var traits = ""

        init(_ client: HubHarness.Client, account: String?, surface: String) {
            (self.client, self.account, self.surface) = (client, account, surface)
        }

        func read(_ house: HubHarness) throws {
            for line in house.lines(of: client) {
                let text = try ServerText(line)
                if let told = HubHarness.attribute("cur", of: line) { cursor = told }
                if text.verb == "RESET" { rows = [:] }
                guard ["SNAP", "UPD", "DEL"].contains(text.verb) else { continue }
                rows[text.key] = text.verb == "DEL" ? nil : text.body
            }
        }

        /// The titles that it draws at a moment, by its rows alone.
        func sight(at now: Timestamp) -> [String: String] {
            var sight: [String: String] = [:]
            for (key, row) in rows {
                let entry = row["entries"]?.array?.last { ($0["date"]?.integer ?? 0) <= now.milliseconds }
                let turn = row["turns"]?.array?.last { ($0["date"]?.integer ?? 0) <= now.milliseconds }
                let isTop = turn.map { $0["key"]?.string == key } ?? (row["top"] == true)
                let title = entry?["placeholder"] == true ? "-" : entry?["view"]?["title"]?.string ?? "nothing"
                // StandBy draws nothing else, and is not told that a tile will not come on top again.
                if surface == "standby", !isTop { continue }
                // A suggestion that is to come may be known to one that came later.
                if row["suggested"] == true, title == "nothing" { continue }
                sight[key] = "\(title) \(row["position"]?.integer ?? 0) \(isTop) \(row["suggested"] == true)"
            }
            return sight
        }
    }

    @Test("After everything that happens", arguments: Lane.some(0..<12 as Range<UInt64>, atEveryChange: 4))
    func storm(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func any<Element>(_ all: [Element]) -> Element { all.randomElement(using: &generator) ?? all[0] }
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
        let house = try HubHarness(kinds: SuggestionTests.kinds)
        let some = [HubHarness.coffee, WidgetTests.sales, SuggestionTests.kinds[2]]
        var kinds = SuggestionTests.kinds
        var phone = house.connect(as: "alice")
        var devices: [Device] = []
        func follow(_ device: Device) {
            device.client = device.account.map { house.connect(as: $0) } ?? house.connect()
            if !device.traits.isEmpty { house.send("TRAIT \(device.traits)", from: device.client) }
            let from = device.cursor.map { " from=\($0)" } ?? ""
            if device.cursor == nil { device.rows = [:] }
            house.post("SUB @car/* view=\(device.surface)\(from)", from: device.client)
            house.turn()
        }
        for surface in ["carplay", "phone", "standby", "carplay"] {
            let device = Device(phone, account: "alice", surface: surface)
            devices.append(device)
            follow(device)
        }
        let tip = "@car/" + SuggestionTests.id("tip/main")
        let walk = "@car/" + SuggestionTests.id("walk/main")
        var log: [String] = []
        var suggestedCount = 0
        for step in 0..<150 {
            let request: String
            switch number(0...15) {
            case 0, 1:
                request =
                    "TILE @car/\(any(["left", "right"])) do=stack smart=\(any(["yes", "no"])) suggest=\(any(["yes", "yes", "no"]))"
            case 2, 3:
                request =
                    #"TILE @car/t\#(number(0...3)) do=add widget=sales stack=\#(any(["left", "right"])) {"configuration":{"shop":"s\#(number(0...1))"}}"#
            case 4: request = "TILE @car/\(any(["t0", "t1", "t2", "left"])) do=\(any(["remove", "show", "move pos=1"]))"
            case 5: request = "TILE \(any([tip, walk])) do=\(any(["keep", "keep", "remove", "show"]))"
            case 6...9:
                let begin = house.time.milliseconds / 1_000 + Int64(number(-60...60))
                let entries = (0...number(0...3)).map { index in
                    let score = any(["", #","relevance":{"score":1}"#, #","relevance":{"score":2,"for":90}"#])
                    return
                        #"{"date":\#(begin + Int64(index) * 60),"content-state":{"n":"\#(step)-\#(index)"}\#(score)}"#
                }
                request =
                    "EVT \(any(Self.widgets)) type=timeline {\"entries\":[\(entries.joined(separator: ","))]}"
            case 10: request = "EVT \(any(Self.widgets)) type=end"
            case 11:
                let device = any(devices)
                device.traits = "place=\(any(["commute", "none"]))"
                house.post("TRAIT \(device.traits)", from: device.client)
                request = "PING id=trait"
            case 12:
                // One is away while something happens.
                let device = any(devices)
                try device.read(house)
                house.disconnect(device.client)
                house.send("TILE @car/left do=stack suggest=\(any(["yes", "no"]))", from: phone)
                house.time = house.time + .seconds(Int64(number(0...300)))
                house.turn()
                follow(device)
                request = "PING id=away"
            case 13:
                kinds = kinds.count > 3 && number(0...1) == 0 ? some : SuggestionTests.kinds
                try house.hub.adopt(try kinds.map { try HubHarness.kind($0) })
                request = "PING id=kinds-\(kinds.count)"
            case 14 where number(0...3) == 0:
                for device in devices { try device.read(house) }
                try house.restart(kinds: kinds, fromSnapshot: number(0...1) == 0)
                phone = house.connect(as: "alice")
                for device in devices { follow(device) }
                request = "PING id=restart"
            default:
                house.isFull = true
                house.send("TILE \(any([tip, walk, "@car/t0"])) do=\(any(["keep", "remove"]))", from: phone)
                house.isFull = false
                house.time = house.time + .seconds(Int64(number(1...100)))
                request = "PING"
            }
            log.append(request)
            house.post(request, from: phone)
            house.turn()
            _ = house.lines(of: phone)
            for (index, device) in devices.enumerated() {
                try device.read(house)
                let fresh = Device(device.client, account: device.account, surface: device.surface)
                fresh.traits = device.traits
                follow(fresh)
                try fresh.read(house)
                house.disconnect(fresh.client)
                let (held, given) = (device.sight(at: house.time), fresh.sight(at: house.time))
                #expect(
                    held == given,
                    "seed \(seed), step \(step), device \(index) (\(device.surface) \(device.traits)): \(log.suffix(6))"
                )
                guard held == given else { return }
                suggestedCount += held.values.count { $0.hasSuffix("true true") }
            }
        }
        // It was about them.
        #expect(suggestedCount > 5)
    }
}
