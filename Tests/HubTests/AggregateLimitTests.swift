import Hub
import TelltaleModel
import Testing

/// A path of `by` that gives a new value with each event makes no keys without end.
struct AggregateLimitTests {
    private static let kinds = [DerivedWidgetTests.coffee, AggregateTests.desk]

    private static func makeHarness(perKind: Int = 3, all: Int = 100, _ kinds: [String] = kinds) throws -> HubHarness {
        var configuration = HubConfiguration()
        configuration.decisions.groupsPerKind = perKind
        configuration.decisions.groups = all
        configuration.decisions.retention = .hours(1)
        return try HubHarness(kinds: kinds, configuration: configuration)
    }

    private static func move(_ harness: HubHarness, _ id: String, to desk: String, _ shop: HubHarness.Client) {
        let lines = AggregateTests.reply(
            harness, #"EVT coffee-order/\#(id) type=update {"content-state":{"desk":"\#(desk)"}}"#, shop)
        #expect(lines.last?.hasPrefix("OK verdict=applied") == true)
    }

    private static func keys(_ harness: HubHarness, _ kind: String) -> [String] {
        AggregateTests.reply(harness, "LIST \(kind)/* view=full", harness.connect()).dropLast().compactMap {
            (try? ServerText($0))?.key
        }.sorted()
    }

    private static func refused(_ harness: HubHarness) throws -> Int64? {
        try HubHarness.tail(AggregateTests.reply(harness, "STATS", harness.connect()).last)["refusedGroups"]?.integer
    }

    @Test func `a group too many is not opened, and its event is taken`() throws {
        let harness = try Self.makeHarness()
        let shop = harness.connect()
        for desk in ["A", "B", "C", "D", "E"] {
            AggregateTests.begin(harness, desk, content: #"{"desk":"\#(desk)"}"#, shop)
        }
        #expect(Self.keys(harness, "desk") == ["desk/A", "desk/B", "desk/C"])
        #expect(try Self.refused(harness) == 2)
        #expect(AggregateTests.reply(harness, "GET coffee-order/E", shop).first?.contains("key=coffee-order/E") == true)
        // A group that is there takes further activities.
        Self.move(harness, "E", to: "A", shop)
        #expect(try AggregateTests.titles(harness, "desk/A", shop) == ["2"])
        // A key that is gone counts until it is forgotten, and comes back without being another one.
        Self.move(harness, "B", to: "A", shop)
        Self.move(harness, "D", to: "F", shop)
        #expect(Self.keys(harness, "desk") == ["desk/A", "desk/C"])
        Self.move(harness, "A", to: "B", shop)
        #expect(Self.keys(harness, "desk") == ["desk/A", "desk/B", "desk/C"])
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `tiles open at most half of the groups, and every activity has a widget still`() throws {
        let harness = try Self.makeHarness(perKind: 4)
        let phone = harness.connect()
        func place(_ tile: Int, on desk: String) -> String {
            AggregateTests.reply(
                harness, #"TILE @p/t\#(tile) do=add widget=desk {"configuration":{"desk":"\#(desk)"}}"#, phone
            ).last ?? "-"
        }
        #expect(place(1, on: "A").hasPrefix("OK verdict=applied"))
        #expect(place(2, on: "B").hasPrefix("OK verdict=applied"))
        let refusal = place(3, on: "C")
        #expect(refusal.hasPrefix("ERR code=limit_keys retry=later") && refusal.contains("widgets of desk"))
        // One that is there takes any number of tiles.
        #expect(place(3, on: "A").hasPrefix("OK verdict=applied"))
        for desk in ["C", "D"] { AggregateTests.begin(harness, desk, content: #"{"desk":"\#(desk)"}"#, phone) }
        #expect(Self.keys(harness, "desk") == ["desk/A", "desk/B", "desk/C", "desk/D"])
        #expect(try Self.refused(harness) == 0)
    }

    @Test func `when a key is forgotten, the next change opens the group that had no room`() throws {
        let harness = try Self.makeHarness(perKind: 1)
        let shop = harness.connect()
        for desk in ["A", "B"] { AggregateTests.begin(harness, desk, content: #"{"desk":"\#(desk)"}"#, shop) }
        Self.move(harness, "A", to: "B", shop)
        #expect(Self.keys(harness, "desk") == [])
        for _ in 0..<3 { harness.advance(by: .hours(1)) }
        #expect(Self.keys(harness, "desk") == [])
        Self.move(harness, "A", to: "C", shop)
        #expect(Self.keys(harness, "desk") == ["desk/B"])
        #expect(try Self.refused(harness) == 3)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `all kinds together have a limit too, and kinds that come keep it`() throws {
        let second = AggregateTests.desk.replacing(#""kind":"desk""#, with: #""kind":"other""#)
        let harness = try Self.makeHarness(perKind: 3, all: 4, Self.kinds + [second])
        let shop = harness.connect()
        for desk in ["A", "B", "C"] { AggregateTests.begin(harness, desk, content: #"{"desk":"\#(desk)"}"#, shop) }
        #expect(Self.keys(harness, "desk") == ["desk/A", "desk/B"])
        #expect(Self.keys(harness, "other") == ["other/A", "other/B"])
        let third = AggregateTests.desk.replacing(#""kind":"desk""#, with: #""kind":"third""#)
        try harness.restart(kinds: Self.kinds + [second, third], fromSnapshot: true)
        #expect(Self.keys(harness, "third") == [])
        try harness.restart(kinds: Self.kinds + [second, third], fromSnapshot: false)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `a tally does not keep what one activity leaves behind without end`() throws {
        let sold = """
            {"kind":"sold","type":"widget","version":1,"app":"com.example.coffee","title":"Sold","families":["systemSmall"],
             "parameters":{"desk":{}},"audience":"all",
             "source":{"over":"coffee-order","by":{"desk":"content.desk"},
               "values":{"n":"count","sold":{"tally":"count","on":"collected","per":"day"}}},
             "views":{"systemSmall":{"title":"{{values.n}} {{values.sold}}"}}}
            """
        let harness = try Self.makeHarness(perKind: 8, [DerivedWidgetTests.coffee, sold])
        let shop = harness.connect()
        AggregateTests.begin(harness, "1", content: #"{"desk":"0"}"#, shop)
        for desk in 1...50 { Self.move(harness, "1", to: "\(desk)", shop) }
        #expect(Self.keys(harness, "sold").count == 8)
        #expect(try Self.refused(harness) == 43)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `a refused batch gives the room back`() throws {
        let harness = try Self.makeHarness(perKind: 1)
        let shop = harness.connect()
        harness.isFull = true
        AggregateTests.begin(harness, "1", content: #"{"desk":"A"}"#, shop)
        harness.isFull = false
        AggregateTests.begin(harness, "2", content: #"{"desk":"B"}"#, shop)
        #expect(Self.keys(harness, "desk") == ["desk/B"])
    }

    @Test func `the log is reported once a second`() throws {
        let harness = try Self.makeHarness(perKind: 1)
        let shop = harness.connect()
        AggregateTests.begin(harness, "1", content: #"{"desk":"0"}"#, shop)
        _ = harness.takeReports()
        for desk in 1...10 { Self.move(harness, "1", to: "\(desk)", shop) }
        let texts = harness.takeReports()
        #expect(texts.count == 1 && texts.first?.hasPrefix("desk/1: ") == true)
        harness.advance(by: .seconds(1))
        Self.move(harness, "1", to: "11", shop)
        #expect(harness.takeReports().count == 1)
        #expect(try Self.refused(harness) == 11)
    }
}
