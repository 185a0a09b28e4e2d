import Hub
import TelltaleModel
import Testing

/// A path of `by` that gives a new value with each event makes no keys without end.
struct AggregateLimitTests {
    private static let kinds = [DerivedWidgetTests.coffee, AggregateTests.desk]

    private static func house(perKind: Int = 3, all: Int = 100, _ kinds: [String] = kinds) throws -> HubHarness {
        var configuration = HubConfiguration()
        configuration.decisions.groupsPerKind = perKind
        configuration.decisions.groups = all
        configuration.decisions.retention = .hours(1)
        return try HubHarness(kinds: kinds, configuration: configuration)
    }

    private static func move(_ house: HubHarness, _ id: String, to desk: String, _ shop: HubHarness.Client) {
        let lines = AggregateTests.reply(
            house, #"EVT coffee-order/\#(id) type=update {"content-state":{"desk":"\#(desk)"}}"#, shop)
        #expect(lines.last?.hasPrefix("OK verdict=applied") == true)
    }

    private static func keys(_ house: HubHarness, _ kind: String) -> [String] {
        AggregateTests.reply(house, "LIST \(kind)/* view=full", house.connect()).dropLast().compactMap {
            (try? ServerText($0))?.key
        }.sorted()
    }

    private static func refused(_ house: HubHarness) throws -> Int64? {
        try HubHarness.tail(AggregateTests.reply(house, "STATS", house.connect()).last)["refusedGroups"]?.integer
    }

    @Test func `a group too many is not opened, and its event is taken`() throws {
        let house = try Self.house()
        let shop = house.connect()
        for desk in ["A", "B", "C", "D", "E"] {
            AggregateTests.begin(house, desk, content: #"{"desk":"\#(desk)"}"#, shop)
        }
        #expect(Self.keys(house, "desk") == ["desk/A", "desk/B", "desk/C"])
        #expect(try Self.refused(house) == 2)
        #expect(AggregateTests.reply(house, "GET coffee-order/E", shop).first?.contains("key=coffee-order/E") == true)
        // A group that is there takes further activities.
        Self.move(house, "E", to: "A", shop)
        #expect(try AggregateTests.titles(house, "desk/A", shop) == ["2"])
        // A key that is gone counts until it is forgotten, and comes back without being another one.
        Self.move(house, "B", to: "A", shop)
        Self.move(house, "D", to: "F", shop)
        #expect(Self.keys(house, "desk") == ["desk/A", "desk/C"])
        Self.move(house, "A", to: "B", shop)
        #expect(Self.keys(house, "desk") == ["desk/A", "desk/B", "desk/C"])
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `tiles open at most half of the groups, and every activity has a widget still`() throws {
        let house = try Self.house(perKind: 4)
        let phone = house.connect()
        func place(_ tile: Int, on desk: String) -> String {
            AggregateTests.reply(
                house, #"TILE @p/t\#(tile) do=add widget=desk {"configuration":{"desk":"\#(desk)"}}"#, phone
            ).last ?? "-"
        }
        #expect(place(1, on: "A").hasPrefix("OK verdict=applied"))
        #expect(place(2, on: "B").hasPrefix("OK verdict=applied"))
        let refusal = place(3, on: "C")
        #expect(refusal.hasPrefix("ERR code=limit_keys retry=later") && refusal.contains("widgets of desk"))
        // One that is there takes any number of tiles.
        #expect(place(3, on: "A").hasPrefix("OK verdict=applied"))
        for desk in ["C", "D"] { AggregateTests.begin(house, desk, content: #"{"desk":"\#(desk)"}"#, phone) }
        #expect(Self.keys(house, "desk") == ["desk/A", "desk/B", "desk/C", "desk/D"])
        #expect(try Self.refused(house) == 0)
    }

    @Test func `when a key is forgotten, the next change opens the group that had no room`() throws {
        let house = try Self.house(perKind: 1)
        let shop = house.connect()
        for desk in ["A", "B"] { AggregateTests.begin(house, desk, content: #"{"desk":"\#(desk)"}"#, shop) }
        Self.move(house, "A", to: "B", shop)
        #expect(Self.keys(house, "desk") == [])
        for _ in 0..<3 { house.advance(by: .hours(1)) }
        #expect(Self.keys(house, "desk") == [])
        Self.move(house, "A", to: "C", shop)
        #expect(Self.keys(house, "desk") == ["desk/B"])
        #expect(try Self.refused(house) == 3)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `all kinds together have a limit too, and kinds that come keep it`() throws {
        let second = AggregateTests.desk.replacing(#""kind":"desk""#, with: #""kind":"other""#)
        let house = try Self.house(perKind: 3, all: 4, Self.kinds + [second])
        let shop = house.connect()
        for desk in ["A", "B", "C"] { AggregateTests.begin(house, desk, content: #"{"desk":"\#(desk)"}"#, shop) }
        #expect(Self.keys(house, "desk") == ["desk/A", "desk/B"])
        #expect(Self.keys(house, "other") == ["other/A", "other/B"])
        let third = AggregateTests.desk.replacing(#""kind":"desk""#, with: #""kind":"third""#)
        try house.restart(kinds: Self.kinds + [second, third], fromSnapshot: true)
        #expect(Self.keys(house, "third") == [])
        try house.restart(kinds: Self.kinds + [second, third], fromSnapshot: false)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `a tally does not keep what one activity leaves behind without end`() throws {
        let sold = """
            {"kind":"sold","type":"widget","version":1,"app":"com.example.coffee","title":"Sold","families":["systemSmall"],
             "parameters":{"desk":{}},"audience":"all",
             "source":{"over":"coffee-order","by":{"desk":"content.desk"},
               "values":{"n":"count","sold":{"tally":"count","on":"collected","per":"day"}}},
             "views":{"systemSmall":{"title":"{{values.n}} {{values.sold}}"}}}
            """
        let house = try Self.house(perKind: 8, [DerivedWidgetTests.coffee, sold])
        let shop = house.connect()
        AggregateTests.begin(house, "1", content: #"{"desk":"0"}"#, shop)
        for desk in 1...50 { Self.move(house, "1", to: "\(desk)", shop) }
        #expect(Self.keys(house, "sold").count == 8)
        #expect(try Self.refused(house) == 43)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `a refused batch gives the room back`() throws {
        let house = try Self.house(perKind: 1)
        let shop = house.connect()
        house.isFull = true
        AggregateTests.begin(house, "1", content: #"{"desk":"A"}"#, shop)
        house.isFull = false
        AggregateTests.begin(house, "2", content: #"{"desk":"B"}"#, shop)
        #expect(Self.keys(house, "desk") == ["desk/B"])
    }

    @Test func `the log is told once a second`() throws {
        let house = try Self.house(perKind: 1)
        let shop = house.connect()
        AggregateTests.begin(house, "1", content: #"{"desk":"0"}"#, shop)
        _ = house.takeReports()
        for desk in 1...10 { Self.move(house, "1", to: "\(desk)", shop) }
        let texts = house.takeReports()
        #expect(texts.count == 1 && texts.first?.hasPrefix("desk/1: ") == true)
        house.advance(by: .seconds(1))
        Self.move(house, "1", to: "11", shop)
        #expect(house.takeReports().count == 1)
        #expect(try Self.refused(house) == 11)
    }
}
