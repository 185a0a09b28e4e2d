import Hub
import TelltaleModel
import TestSupport
import Testing

/// A watch: its whole board is one Smart Stack.
struct SmartStackTests: BoardSuite {
    let harness: HubHarness
    let phone: HubHarness.Client
    private let start: Timestamp

    private let account: String?

    init() throws { try self.init(account: "alice", HubConfiguration()) }

    private init(account: String?, _ configuration: HubConfiguration) throws {
        harness = try HubHarness(kinds: [HubHarness.coffee, WidgetTests.sales], configuration: configuration)
        phone = account.map { [harness] in harness.connect(as: $0) } ?? harness.connect()
        self.account = account
        start = harness.time
    }

    private func add(_ name: Character) {
        let answer = reply(
            #"TILE @watch/\#(name) do=add widget=sales family=accessoryRectangular {"configuration":{"shop":"\#(name)"}}"#
        )
        #expect(answer.hasPrefix("OK verdict=applied"), "\(answer)")
    }

    private func post(_ shop: Character, _ entries: [(Int64, Double)]) {
        let texts = entries.map { second, score in
            #"{"date":\#(start.milliseconds / 1_000 + second),"content-state":{},"relevance":{"score":\#(score)}}"#
        }
        #expect(
            reply(#"EVT sales/\#(shop) type=timeline {"entries":[\#(texts.joined(separator: ","))]}"#).hasPrefix("OK"))
    }

    private func watch() throws -> TestScreen {
        let watch = TestScreen("watch", account: account, in: harness)
        watch.pattern = "@watch/*"
        return try watch.connect()
    }

    /// The tiles that a watch draws at a moment, from the top, by the rows that it holds.
    private func order(_ watch: TestScreen, at now: Timestamp, _ names: String = "ABCDEFGHIJKL") -> String {
        var places: [Int64: Character] = [:]
        for name in names {
            guard let row = watch["@watch/\(name)"] else { continue }
            guard let order = (TestBoardDevice.newest("orders", of: row, at: now) ?? row)["order"]?.integer, order > 0
            else { continue }
            #expect(places.updateValue(name, forKey: order) == nil)
        }
        return String(places.sorted { $0.key < $1.key }.map(\.value))
    }

    @Test("W-V64: of 12 relevant widgets a watch shows 10, the pinned one second, below the live activity")
    func pinned() throws {
        for name in "ABCDEFGHIJKL" {
            add(name)
            post(name, [(0, 1)])
        }
        let watch = try watch()
        #expect(order(watch, at: start) == "ABCDEFGHIJ")
        #expect(reply("TILE @watch/L do=pin pos=2").hasPrefix("OK verdict=applied"))
        try watch.view()
        #expect(order(watch, at: start) == "ALBCDEFGHI" && watch.rows.count == 10)
        #expect(watch["@watch/L"]?["pinned"] == 2 && watch.deletions == ["@watch/J hidden"])
        // Activities are numbered by themselves, and drawn above.
        harness.send("EVT coffee-order/1 type=start for=alice {}", from: harness.connect())
        let all = TestScreen("watch", account: "alice", in: harness)
        all.pattern = "coffee-order/*"
        #expect(try all.connect().rows.keys.sorted() == ["coffee-order/1"])
        #expect(reply("TILE @watch/L do=unpin").hasPrefix("OK verdict=applied"))
        try watch.view()
        #expect(order(watch, at: start) == "ABCDEFGHIJ")
        #expect(watch.faults == [])
    }

    @Test("W45: the order follows relevance, and a watch without a connection knows the next ones")
    func turns() throws {
        for name in "ABC" { add(name) }
        let watch = try watch()
        post("C", [(0, 0), (60, 1), (120, 0)])
        try watch.view()
        let rows = watch.rows.mapValues(\.rev)
        for (second, shown) in [(0, "ABC"), (59, "ABC"), (60, "CAB"), (119, "CAB"), (120, "ABC")] as [(Int64, String)] {
            harness.time = start + .seconds(second)
            harness.turn()
            try watch.view()
            #expect(order(watch, at: harness.time) == shown, "\(second)")
            let fresh = try self.watch()
            #expect(order(fresh, at: harness.time) == shown, "\(second)")
        }
        #expect(watch.rows.mapValues(\.rev) == rows && watch.faults == [])
    }

    @Test(
        "A watch without a connection shows at each minute of a day the order of the server, while nothing else happens",
        arguments: Lane.some(0..<2, atEveryChange: 1))
    func everyMinute(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let names = "ABCDEFGHIJKL"
        for name in names {
            add(name)
            var (second, entries): (Int64, [(Int64, Double)]) = (0, [])
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                entries.append((second, Double(Int.random(in: -1...4, using: &generator))))
                second += 60 * Int64.random(in: 1...700, using: &generator)
            }
            post(name, entries)
        }
        #expect(reply("TILE @watch/L do=pin pos=2").hasPrefix("OK verdict=applied"))
        let watch = try watch()
        watch.disconnect()
        for minute in 0..<1_440 {
            harness.time = start + .minutes(Int64(minute))
            harness.turn()
            var places: [Int64: Character] = [:]
            for line in WidgetTests.reply(harness, "LIST @watch/* view=watch", phone) where line.hasPrefix("SNAP") {
                let row = try ServerText(line)
                guard let order = row.body?["order"]?.integer, order > 0, let name = row.key.last else { continue }
                places[order] = name
            }
            let due = String(places.sorted { $0.key < $1.key }.map(\.value))
            #expect(order(watch, at: harness.time) == due, "minute \(minute)")
        }
    }

    @Test("A watch that was away while another tile was pinned, or taken off, is told its new places")
    func resume() throws {
        for name in "ABC" { add(name) }
        post("C", [(0, 1)])
        let watch = try watch()
        #expect(order(watch, at: start) == "CAB")
        watch.disconnect()
        #expect(reply("TILE @watch/B do=pin pos=1").hasPrefix("OK"))
        try watch.connect()
        #expect(order(watch, at: start) == "BCA")
        watch.disconnect()
        #expect(reply("TILE @watch/C do=remove").hasPrefix("OK"))
        try watch.connect()
        #expect(order(watch, at: start) == "BA" && watch.faults == [])
    }

    @Test("A watch that resumes by a walk is told the tiles that another one moved")
    func walk() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = 2
        let walked = try SmartStackTests(account: nil, configuration)
        for name in "ABCDE" { walked.add(name) }
        walked.post("A", [(0, 1)])
        let watch = try walked.watch()
        #expect(walked.order(watch, at: start) == "ABCDE")
        watch.disconnect()
        walked.post("E", [(0, 1)])
        for number in 1...3 { walked.harness.send("EVT coffee-order/\(number) type=start {}", from: walked.phone) }
        try watch.connect()
        #expect(walked.order(watch, at: start) == "AEBCD" && watch.faults == [])
    }
}
