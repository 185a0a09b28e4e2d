import TelltaleModel
import Testing

@testable import Hub

/// Rows of widgets to a device whose screen is off. Vectors W-V are those of Protocols/Widgets/rules.md.
struct BudgetTests {
    static let counter = """
        {"kind":"counter","type":"widget","version":1,"app":"com.example.coffee","title":"Counter",
         "families":["systemSmall","systemMedium"],"parameters":{"n":{}},"recommended":[{"n":"1"},{"n":"2"}],
         "views":{"systemSmall":{"title":"{{content.n}}","private":["title"],"buttons":["log-coffee/1"]},
                  "systemMedium":{"title":"Of {{content.n}}"}}}
        """

    /// A shop that posts, and a device whose screen is off.
    struct Setup {
        let harness: HubHarness
        let shop: HubHarness.Client
        var device: HubHarness.Client
        let start: Timestamp
        private var posted = 0

        init(
            _ configuration: HubConfiguration = HubConfiguration(), hello: String = "HELLO unit=watch-1",
            kinds: [String] = [BudgetTests.counter, HubHarness.logCoffee()],
            subscription: String? = "SUB counter/* view=phone"
        ) throws {
            harness = try HubHarness(kinds: kinds, configuration: configuration)
            (shop, device, start) = (harness.connect(), harness.connect(), harness.time)
            WidgetTests.reply(harness, hello, device)
            WidgetTests.reply(harness, "TRAIT screen=off", device)
            if let subscription { WidgetTests.reply(harness, subscription, device) }
        }

        /// The next content of a widget, and what the device is sent then.
        mutating func change(_ key: String = "counter/1") throws -> [String] {
            posted += 1
            harness.send(WidgetTests.timeline(key, [0], from: harness.time, first: posted), from: shop)
            return try rows()
        }

        /// Times in seconds, titles, and what the heads say, of the rows that came.
        func rows() throws -> [String] {
            try harness.lines(of: device).filter { $0.hasPrefix("UPD") || $0.hasPrefix("DEL") }.map { line in
                let text = try ServerText(line)
                let title = text.body?["entries"]?.array?.first?["view"]?["title"]?.string ?? line.prefix(3).description
                let skip = HubHarness.attribute("skip", of: line).map { " skip=\($0)" } ?? ""
                let why = HubHarness.attribute("why", of: line).map { " why=\($0)" } ?? ""
                return "\((harness.time - start).count / 1_000):\(title)\(skip)\(why)"
            }
        }

        mutating func spendAll() throws {
            for _ in 0..<8 {
                _ = try change()
                harness.advance(by: .seconds(1))
            }
        }

        /// The same, with a button that is served.
        mutating func spendAllBesideAButton() throws -> HubHarness.Client {
            let provider = harness.connect()
            harness.send("SERVE log-coffee", from: provider)
            harness.send("REPORT log-coffee/1", from: provider)
            harness.advance(by: .seconds(1))
            try spendAll()
            return provider
        }

        func credit(_ key: String = "counter/1") throws -> Int64? {
            let unit = try #require(harness.hub.sessions[device.id]?.unit)
            return unit.credit(try #require(Key(key)), at: harness.now.monotonic).count
        }

        func figures() throws -> JSON? {
            try HubHarness.tail(harness.send("STATS", from: shop).last)["budget"]
        }
    }

    @Test("W-V42: of 9 changes at +0 to +8 eight are sent, and the ninth at +1800 exactly")
    func burst() throws {
        var setup = try Setup()
        var rows: [String] = []
        for _ in 0..<9 {
            rows += try setup.change()
            setup.harness.advance(by: .seconds(1))
        }
        #expect(rows == (0..<8).map { "\($0):\($0 + 1)" })
        setup.harness.advance(by: .seconds(1_790) + Milliseconds(999))
        #expect(try setup.rows() == [])
        #expect(try setup.credit() == 1_799_999)
        setup.harness.advance(by: Milliseconds(1))
        #expect(try setup.rows() == ["1800:9 why=budget"])
        #expect(try setup.credit() == 0)
        #expect(try setup.figures() == ["units": 1, "paid": 9, "held": 1])
    }

    @Test("W-V43: 3 more changes are one row at +1800, skip=3, the newest state, and no cursor goes beyond it before")
    func folded() throws {
        var setup = try Setup()
        try setup.spendAll()
        for _ in 0..<4 { #expect(try setup.change() == []) }
        // Another key comes, and its cursor stays below what waits.
        setup.harness.send(WidgetTests.timeline("counter/2", [0], from: setup.harness.time), from: setup.shop)
        let line = try #require(setup.harness.lines(of: setup.device).first)
        #expect(HubHarness.attribute("key", of: line) == "counter/2" && HubHarness.attribute("cur", of: line) == nil)
        setup.harness.advance(by: .seconds(1_792))
        #expect(try setup.rows() == ["1800:12 skip=3 why=budget"])
    }

    @Test("W-V44: screen=on at +600 brings the row at once, and the credit is 600,000 ms")
    func screenOn() throws {
        var setup = try Setup()
        try setup.spendAll()
        #expect(try setup.change() == [])
        setup.harness.advance(by: .seconds(592))
        setup.harness.send("TRAIT screen=on", from: setup.device)
        setup.harness.post("PING", from: setup.device)
        setup.harness.turn()
        #expect(try setup.credit() == 600_000)
        // A reader that is let go of is free from then on, until the screen goes off again.
        for _ in 0..<20 { #expect(try setup.change().count == 1) }
        setup.harness.send("TRAIT screen=off", from: setup.device)
        #expect(try setup.change() == [])
        #expect(try setup.credit() == 600_000)
    }

    @Test("W-V44: the row that waits is the answer to screen=on")
    func screenOnAnswer() throws {
        var setup = try Setup()
        try setup.spendAll()
        #expect(try setup.change() == [])
        let lines = WidgetTests.reply(setup.harness, "TRAIT screen=on", setup.device)
        #expect(lines.count == 2 && lines[1].contains(" why=budget "), "\(lines)")
        #expect(lines[1].contains(" cur="))
    }

    @Test("W-V45: of a change a minute 55 rows leave before +86400, and the 56th there")
    func day() throws {
        var setup = try Setup()
        var count = 0
        for _ in 0..<1_440 {
            count += try setup.change().count
            setup.harness.time = setup.harness.time + .seconds(59)
            setup.harness.advance(by: Milliseconds(999))
            count += try setup.rows().count
            if (setup.harness.time - setup.start).count % 60_000 == 59_999 {
                setup.harness.time = setup.harness.time + Milliseconds(1)
            }
        }
        #expect(count == 55)
        setup.harness.turn()
        #expect(try setup.rows().count == 1)
    }

    @Test("W-V46: without credit entries' dates bring no row; a resume brings it with why=resume, free")
    func resume() throws {
        var setup = try Setup(subscription: nil)
        let cursor = try setup.harness.cursor(of: "SUB counter/* view=phone", from: setup.device)
        try setup.spendAll()
        setup.harness.send(
            WidgetTests.timeline("counter/1", [0, 60, 120], from: setup.harness.time, first: 50), from: setup.shop)
        for _ in 0..<3 {
            setup.harness.advance(by: .seconds(60))
            #expect(try setup.rows() == [])
        }
        let credit = try setup.credit()
        setup.harness.disconnect(setup.device)
        setup.device = setup.harness.connect()
        WidgetTests.reply(setup.harness, "HELLO unit=watch-1", setup.device)
        setup.harness.send("TRAIT screen=off", from: setup.device)
        let lines = setup.harness.send("SUB counter/* view=phone from=\(cursor)", from: setup.device)
        #expect(lines.contains { $0.hasPrefix("UPD ") && $0.contains(" why=resume ") }, "\(lines)")
        #expect(try setup.credit() == credit)
    }

    @Test("W-V47: two keys that change once an hour are sent 24 rows each in a day")
    func keys() throws {
        var setup = try Setup()
        var rows: [String] = []
        for _ in 0..<24 {
            rows += try setup.change("counter/1")
            rows += try setup.change("counter/2")
            setup.harness.advance(by: .hours(1))
        }
        #expect(rows.count == 48 && !rows.contains { $0.contains("budget") })
    }

    @Test("W-V48: without credit the row of a button that the device itself pressed comes when that ends, free")
    func ownTap() throws {
        var setup = try Setup()
        let provider = try setup.spendAllBesideAButton()
        #expect(try setup.change() == [])
        let credit = try setup.credit()
        let pressed = WidgetTests.reply(setup.harness, "PRESS log-coffee/1", setup.device)
        #expect(pressed.contains { $0.hasPrefix("UPD ") && $0.contains(" key=counter/1 ") }, "\(pressed)")
        setup.harness.send("DONE op=\(try #require(setup.harness.operation(askedOf: provider)))", from: provider)
        #expect(try setup.rows() == ["9:9"])
        #expect(try setup.credit() == credit)
        // A later row is no tap's.
        #expect(try setup.change() == [])
        setup.harness.send("PRESS log-coffee/1", from: setup.shop)
        #expect(try setup.rows().allSatisfy { !$0.contains("counter/1") })
    }

    @Test("A tap that the full disk did not take makes no row free")
    func refusedTap() throws {
        var setup = try Setup()
        _ = try setup.spendAllBesideAButton()
        setup.harness.isFull = true
        setup.harness.send("PRESS log-coffee/1", from: setup.device)
        setup.harness.isFull = false
        setup.harness.advance(by: .seconds(2))
        #expect(setup.harness.hub.sessions[setup.device.id]?.unit?.hasTaps == false)
        _ = try setup.rows()
        #expect(try setup.change() == [])
    }

    @Test("What the full disk did not take costs a tap of before nothing")
    func tapBeforeRefusal() throws {
        var setup = try Setup()
        let provider = try setup.spendAllBesideAButton()
        setup.harness.send("PRESS log-coffee/1", from: setup.device)
        _ = try setup.rows()
        setup.harness.isFull = true
        setup.harness.send("PRESS log-coffee/1 eid=again", from: setup.device)
        setup.harness.isFull = false
        setup.harness.advance(by: .seconds(2))
        _ = try setup.rows()
        setup.harness.send("DONE op=\(try #require(setup.harness.operation(askedOf: provider)))", from: provider)
        #expect(try setup.rows() == ["11:8"])
    }

    @Test(
        "W30: a tap is the device's: its other connection has the row too, and so has it when the one that tapped is gone"
    )
    func siblingTap() throws {
        var setup = try Setup()
        let provider = try setup.spendAllBesideAButton()
        let sibling = setup.harness.connect()
        setup.harness.send("HELLO unit=watch-1", from: sibling)
        setup.harness.send("TRAIT screen=off", from: sibling)
        setup.harness.send("SUB counter/1 view=phone", from: sibling)
        #expect(try setup.change() == [])
        #expect(setup.harness.lines(of: sibling).isEmpty)
        let tapper = setup.harness.connect()
        setup.harness.send("HELLO unit=watch-1", from: tapper)
        setup.harness.send("PRESS log-coffee/1", from: tapper)
        #expect(try setup.rows() == ["9:9 why=budget"])
        #expect(setup.harness.lines(of: sibling).count { $0.hasPrefix("UPD") } == 1)
        setup.harness.disconnect(tapper)
        setup.harness.send("DONE op=\(try #require(setup.harness.operation(askedOf: provider)))", from: provider)
        #expect(try setup.rows() == ["9:9"])
        #expect(setup.harness.lines(of: sibling).count { $0.hasPrefix("UPD") } == 1)
        #expect(!setup.harness.hub.budgets.hasTaps)
    }

    @Test("W-V49: without credit an alert of an activity and a control's change are sent")
    func others() throws {
        var setup = try Setup(kinds: [Self.counter, HubHarness.logCoffee(), HubHarness.coffee, HubHarness.porchLight()])
        try setup.spendAll()
        setup.harness.send("SUB coffee-order/* view=phone", from: setup.device)
        setup.harness.send("SUB porch-light/front view=phone", from: setup.device)
        setup.harness.send("EVT coffee-order/1 type=start", from: setup.shop)
        for event in ["confirm", "brew"] { setup.harness.send("EVT coffee-order/1 type=\(event)", from: setup.shop) }
        _ = setup.harness.lines(of: setup.device)
        setup.harness.send("EVT coffee-order/1 type=ready", from: setup.shop)
        #expect(setup.harness.lines(of: setup.device).map { $0.prefix(4) } == ["MILE", "ALER", "UPD "])
        setup.harness.send("SERVE porch-light", from: setup.shop)
        setup.harness.send("REPORT porch-light/front value=off", from: setup.shop)
        #expect(setup.harness.lines(of: setup.device).contains { $0.contains("key=porch-light/front") })
        #expect(try setup.change() == [])
    }

    @Test("W-V50: without unit=, or with the budget off, 100 changes are 100 rows", arguments: [false, true])
    func none(isOff: Bool) throws {
        var configuration = HubConfiguration()
        if isOff { configuration.widgetRowsPerDay = nil }
        var setup = try Setup(configuration, hello: isOff ? "HELLO unit=watch-1" : "HELLO client=watch")
        for _ in 0..<100 { #expect(try setup.change().count == 1) }
        #expect(try setup.figures() == (isOff ? nil : ["units": 0, "paid": 0, "held": 0]))
    }

    @Test("W-V51: a device that comes back within a day is still held to its budget; after a restart it is not")
    func memory() throws {
        var setup = try Setup()
        try setup.spendAll()
        setup.harness.disconnect(setup.device)
        func comeBack() {
            setup.device = setup.harness.connect()
            WidgetTests.reply(setup.harness, "HELLO unit=watch-1", setup.device)
            setup.harness.send("TRAIT screen=off", from: setup.device)
            setup.harness.send("SUB counter/* view=phone", from: setup.device)
        }
        setup.harness.advance(by: .minutes(10))
        comeBack()
        #expect(try setup.change() == [])
        try setup.harness.restart(kinds: [Self.counter, HubHarness.logCoffee()])
        setup.device = setup.harness.connect()
        comeBack()
        setup.harness.send(
            WidgetTests.timeline("counter/1", [0], from: setup.harness.time, first: 99), from: setup.harness.connect())
        #expect(try setup.rows().count == 1)
    }

    @Test("A row that became due and would be the one before is not charged, neither to a budget nor to a rate")
    func repeated() throws {
        let setup = try Setup(kinds: [WidgetTests.weekend], subscription: nil)
        // Saturday 2026-11-28 16:00: the next slot is on Monday at 07:00, and becomes known 24 hours before.
        setup.harness.time = Timestamp(milliseconds: 1_795_881_600_000)
        setup.harness.turn()
        setup.harness.send("SUB shop/* view=phone ahead=0 rate=1", from: setup.device)
        let full = try #require(try setup.credit("shop/main"))
        setup.harness.advance(by: .hours(15))
        #expect(try setup.rows() == [] && setup.credit("shop/main") == full)
        #expect(try setup.figures() == ["units": 1, "paid": 0, "held": 0])
        // What comes within a second of it does not wait for the rate.
        let newer = WidgetTests.weekend.replacing(#""version":1"#, with: #""version":2"#)
        try setup.harness.hub.adopt([try HubHarness.kind(newer)])
        setup.harness.turn()
        #expect(try setup.rows().count == 1)
        #expect(try setup.figures() == ["units": 1, "paid": 1, "held": 0])
    }

    @Test("HELLO tells the budget to a client that names its unit, and to no other")
    func hello() throws {
        let harness = try HubHarness(kinds: [Self.counter])
        #expect(harness.send("HELLO client=x", from: harness.connect()).first?.contains("budget") == false)
        #expect(harness.send("HELLO unit=x", from: harness.connect()).first?.hasSuffix(" budget=48") == true)
        var configuration = HubConfiguration()
        configuration.widgetRowsPerDay = nil
        let open = try HubHarness(kinds: [Self.counter], configuration: configuration)
        #expect(open.send("HELLO unit=x", from: open.connect()).first?.hasSuffix(" budget=off") == true)
    }
}
