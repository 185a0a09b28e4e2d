import TelltaleModel
import Testing

@testable import Hub

/// The rows that a budget does not hold back, and the devices for which it holds (W30).
struct BudgetFreedomTests {
    typealias Setup = BudgetTests.Setup

    @Test("A widget that ends leaves at once, whatever waits")
    func deletion() throws {
        var setup = try Setup()
        try setup.spendAll()
        #expect(try setup.change() == [])
        setup.harness.send("EVT counter/1 type=end", from: setup.shop)
        #expect(try setup.rows() == ["8:DEL skip=1 why=removed"])
        // Nothing of it waits any more.
        setup.harness.advance(by: .hours(1))
        #expect(try setup.rows() == [])
    }

    @Test("A device that is locked is sent what it may show, at once and free, and the newest state with it")
    func situation() throws {
        var setup = try Setup()
        try setup.spendAll()
        #expect(try setup.change() == [])
        let credit = try setup.credit()
        let lines = WidgetTests.reply(setup.harness, "TRAIT locked=yes", setup.device).filter { $0.hasPrefix("UPD ") }
        #expect(lines.map { HubHarness.attribute("key", of: $0) } == ["counter/1", "counter/2"])
        #expect(lines.allSatisfy { $0.contains(#""redacted":["title"]"#) })
        #expect(try setup.credit() == credit)
        // A row that looks the same waits on.
        #expect(try setup.change() == [])
        #expect(WidgetTests.reply(setup.harness, "TRAIT focus=on", setup.device) == ["OK"])
        #expect(try setup.change() == [])
        setup.harness.advance(by: .minutes(30))
        #expect(try setup.rows() == ["1808:UPD skip=1 why=budget"])
    }

    @Test("A walk over many keys brings what looks different, and holds the rest", arguments: [1, 1_024])
    func walk(limit: Int) throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = limit
        var setup = try Setup(configuration)
        try setup.spendAll()
        #expect(try setup.change() == [])
        let lines = WidgetTests.reply(setup.harness, "TRAIT locked=yes", setup.device).filter { $0.hasPrefix("UPD ") }
        #expect(Set(lines.compactMap { HubHarness.attribute("key", of: $0) }) == ["counter/1", "counter/2"])
        #expect(try setup.change() == [])
    }

    @Test("Two families of a key on one device leave together and cost once; neither starves")
    func families() throws {
        var setup = try Setup(subscription: nil)
        setup.harness.send("SUB counter/1 view=phone", from: setup.device)
        setup.harness.send("SUB counter/1 view=phone family=systemMedium", from: setup.device)
        var counts: [Int] = []
        for _ in 0..<9 {
            counts.append(try setup.change().count)
            setup.harness.advance(by: .seconds(1))
        }
        #expect(counts == [2, 2, 2, 2, 2, 2, 2, 2, 0])
        setup.harness.advance(by: .seconds(1_791))
        #expect(try setup.rows() == ["1800:9 why=budget", "1800:Of 9 why=budget"])
    }

    private func rows(_ lines: [String]) -> Int { lines.count { $0.hasPrefix("UPD ") } }

    @Test("Two connections of one device share its budget; the same word of another account is another device")
    func sharing() throws {
        var setup = try Setup()
        let (second, other) = (setup.harness.connect(), setup.harness.connect())
        for (client, hello) in [(second, "HELLO unit=watch-1"), (other, "HELLO unit=watch-1 account=bob")] {
            setup.harness.send(hello, from: client)
            setup.harness.send("TRAIT screen=off", from: client)
            setup.harness.send("SUB counter/1 view=phone", from: client)
        }
        try setup.spendAll()
        #expect(setup.harness.lines(of: second).count == 8 && setup.harness.lines(of: other).count == 8)
        #expect(try setup.change() == [])
        #expect(setup.harness.lines(of: second).isEmpty && setup.harness.lines(of: other).isEmpty)
        setup.harness.advance(by: .minutes(30))
        #expect(try setup.rows().count == 1)
        for client in [second, other] { #expect(rows(setup.harness.lines(of: client)) == 1) }
    }

    @Test("A HELLO with another unit= brings what waits; what it leaves behind is remembered")
    func another() throws {
        var setup = try Setup()
        try setup.spendAll()
        #expect(try setup.change() == [])
        #expect(WidgetTests.reply(setup.harness, "HELLO unit=watch-2", setup.device).count == 2)
        #expect(WidgetTests.reply(setup.harness, "HELLO unit=watch-1", setup.device).count == 1)
        #expect(try setup.change() == [])
        #expect(try setup.figures()?["units"] == 2)
    }

    @Test("A subscription that ends gives up what waits; the rows of a full view are rows as well")
    func ends() throws {
        var setup = try Setup()
        try setup.spendAll()
        for _ in 0..<3 { #expect(try setup.change() == []) }
        setup.harness.send("UNSUB sub=1", from: setup.device)
        setup.harness.advance(by: .hours(1))
        #expect(try setup.rows() == [])
        setup.harness.send("SUB counter/* view=full", from: setup.device)
        var rows: [String] = []
        for _ in 0..<9 {
            rows += try setup.change()
            setup.harness.advance(by: .seconds(1))
        }
        #expect(rows.count == 2, "what an hour brought")
        #expect(WidgetTests.reply(setup.harness, "TRAIT screen=on", setup.device).count == 2)
    }

    @Test("A budget and a rate hold together")
    func rate() throws {
        var setup = try Setup(subscription: "SUB counter/1 view=phone rate=1")
        var rows: [String] = []
        for _ in 0..<40 {
            rows += try setup.change()
            setup.harness.advance(by: Milliseconds(250))
            rows += try setup.rows()
        }
        #expect(rows.count == 8)
        setup.harness.advance(by: .minutes(30))
        #expect(try setup.rows().count == 1)
        // A row that a budget holds counts for no rate: it leaves with the screen.
        for _ in 0..<8 { _ = try setup.change() }
        setup.harness.advance(by: .seconds(2))
        _ = try setup.rows()
        #expect(try setup.change() == [])
        #expect(WidgetTests.reply(setup.harness, "TRAIT screen=on", setup.device).count == 2)
    }

    @Test("The journal has no trace of a budget")
    func journal() throws {
        func records(_ hello: String) throws -> [String] {
            var setup = try Setup(hello: hello)
            for _ in 0..<20 { _ = try setup.change() }
            return setup.harness.records.map { "\($0)" }
        }
        #expect(try records("HELLO unit=watch-1") == records("HELLO client=x"))
    }
}
