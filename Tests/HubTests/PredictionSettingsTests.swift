import Hub
import Machines
import TelltaleModel
import Testing

/// Other settings while widgets foretell what activities will do (W20).
struct PredictionSettingsTests {
    /// Late after 5 minutes, with a note of 200 bytes.
    static let order = """
        {"kind":"coffee-order","type":"activity","version":1,"app":"com.example.coffee","title":"Coffee order",
         "machine":{"initial":"placed","states":{
           "placed":{"after":{"5m":{"target":"late","actions":[{"assign":{"note":"\(String(repeating: "n", count: 200))"}}]}},
             "on":{"confirm":"quiet"}},
           "late":{},"quiet":{}}}}
        """
    static let card = """
        {"kind":"card","type":"widget","version":1,"app":"com.example.coffee","title":"Card","families":["systemSmall"],
         "source":{"each":"coffee-order"},"views":{"systemSmall":{"title":"{{state.key}}"}}}
        """

    private static func titles(_ row: String?) throws -> [String] { try AggregateTests.titles(row) }

    @Test func `settings by which another future follows send the rows of those widgets, and of no other`() throws {
        let harness = try HubHarness(kinds: [Self.order, Self.card])
        let (shop, screen) = (harness.connect(), harness.connect())
        WidgetTests.reply(harness, "SUB card/* view=phone", screen)
        for id in ["1", "2"] { WidgetTests.reply(harness, "EVT coffee-order/\(id) type=start", shop) }
        WidgetTests.reply(harness, "EVT coffee-order/2 type=confirm", shop)
        #expect(try Self.titles(WidgetTests.rows(harness, screen).first { $0.contains("key=card/1") }).contains("late"))
        var settings = DecisionSettings()
        settings.activities.acceptsOldEnd = false
        try harness.hub.adopt(settings)
        harness.turn()
        #expect(WidgetTests.rows(harness, screen) == [])
        // The step of the deadline has no room any more, so the order stays where it is.
        settings.activities.byteCountLimit = 100
        try harness.hub.adopt(settings)
        harness.turn()
        let rows = WidgetTests.rows(harness, screen)
        #expect(rows.count == 1 && rows.first?.contains("key=card/1 rev=\(harness.records.count)") == true)
        #expect(try !Self.titles(rows.first).contains("late"))
        harness.advance(by: .minutes(6))
        #expect(try Self.titles(WidgetTests.reply(harness, "GET card/1 view=phone", shop).first).first == "placed")
        // A replay decides alike.
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `a screen that resumes after a start with other settings is sent the other future`() throws {
        let harness = try HubHarness(kinds: [Self.order, Self.card])
        let (shop, screen) = (harness.connect(), harness.connect())
        WidgetTests.reply(harness, "EVT coffee-order/1 type=start", shop)
        let cursor = try harness.cursor(of: "SUB card/* view=phone", from: screen)
        try harness.restart(kinds: [Self.order, Self.card])
        var settings = DecisionSettings()
        settings.activities.byteCountLimit = 100
        try harness.hub.adopt(settings)
        harness.turn()
        let again = harness.connect()
        let rows = WidgetTests.reply(harness, "SUB card/* view=phone from=\(cursor)", again)
        #expect(rows.contains { $0.hasPrefix("UPD") && $0.contains("key=card/1") }, "\(rows)")
        #expect(!rows.contains { $0.hasPrefix("RESET") })
    }
}
