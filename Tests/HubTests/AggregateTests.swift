import Hub
import TelltaleModel
import TestSupport
import Testing

/// Widgets that report many activities together, over the line. Vectors W-V are those of Protocols/Widgets/rules.md.
struct AggregateTests {
    static let kitchen = """
        {"kind":"kitchen","type":"widget","version":1,"app":"com.example.coffee","title":"Kitchen","families":["systemSmall"],
         "parameters":{"shop":{}},"recommended":[{"shop":"Empty"}],"audience":"all",
         "source":{"over":"coffee-order","by":{"shop":"attributes.shop"},"where":"lifecycle != 'ended'",
           "values":{"open":"count","late":{"count":"in(unattended)"},"next":{"least":"content.eta"},
             "last":{"most":"content.eta"},"due":{"sum":"content.eta"},
             "sales":{"tally":"attributes.price","on":"collected","per":"day","zone":"+09:00"},
             "list":{"first":4,"by":"startedAt","show":{"id":"id","is":"state.key"}}}},
         "views":{"systemSmall":{"title":"{{values.open}}|{{values.late}}|{{values.next}}|{{values.last}}|{{values.due}}|{{values.sales}}",
           "list":"{{values.list}}"}}}
        """
    static let own = """
        {"kind":"mine","type":"widget","version":1,"app":"com.example.coffee","title":"Mine","families":["systemSmall"],
         "source":{"over":"coffee-order","values":{"n":"count","sum":{"sum":"attributes.price"}}},
         "views":{"systemSmall":{"title":"{{values.n}} {{values.sum}}"}}}
        """
    static let desk = """
        {"kind":"desk","type":"widget","version":1,"app":"com.example.coffee","title":"Desk","families":["systemSmall"],
         "parameters":{"desk":{}},"audience":"all",
         "source":{"over":"coffee-order","by":{"desk":"content.desk"},"values":{"n":"count"}},
         "views":{"systemSmall":{"title":"{{values.n}}"}}}
        """
    static let kinds = [DerivedWidgetTests.coffee, kitchen, own, desk]

    @discardableResult
    static func reply(_ harness: HubHarness, _ line: String, _ client: HubHarness.Client) -> [String] {
        WidgetTests.reply(harness, line, client)
    }

    static func begin(
        _ harness: HubHarness, _ id: String, shop: String = "Hoegi", price: String = "4.5", content: String = "{}",
        words: String = "", _ client: HubHarness.Client
    ) {
        let tail = #"{"attributes":{"shop":"\#(shop)","price":\#(price)},"content-state":\#(content)}"#
        reply(harness, "EVT coffee-order/\(id) type=start \(words.isEmpty ? "" : words + " ")\(tail)", client)
    }

    static func collect(_ harness: HubHarness, _ id: String, _ client: HubHarness.Client) {
        for event in ["confirm", "brew", "ready", "collect"] {
            reply(harness, "EVT coffee-order/\(id) type=\(event)", client)
        }
    }

    /// The titles of the entries of a widget.
    static func titles(_ harness: HubHarness, _ key: String, _ client: HubHarness.Client) throws -> [String] {
        try titles(reply(harness, "GET \(key) view=phone", client).first)
    }

    static func titles(_ line: String?) throws -> [String] {
        let entries = try ServerText(try #require(line)).body?["entries"]?.array ?? []
        return entries.map { $0["view"]?["title"]?.string ?? "-" }
    }

    @Test("W-V32: three orders of Hoegi and one of Central; one is collected, and its shop has a row of that commit")
    func counts() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (shop, screen) = (harness.connect(), harness.connect())
        Self.reply(harness, "SUB kitchen/* view=phone", screen)
        for id in 1...3 { Self.begin(harness, "\(id)", shop) }
        Self.begin(harness, "4", shop: "Central", shop)
        #expect(try Self.titles(harness, "kitchen/Hoegi", shop) == ["3|0|||0|0"])
        #expect(try Self.titles(harness, "kitchen/Central", shop) == ["1|0|||0|0"])
        _ = harness.lines(of: screen)
        Self.collect(harness, "2", shop)
        let rows = WidgetTests.rows(harness, screen)
        // The list reports the state of each order, so each event is news.
        #expect(rows.allSatisfy { $0.contains("key=kitchen/Hoegi") })
        #expect(try ServerText(try #require(rows.last)).rev == Int64(harness.records.count))
        #expect(try Self.titles(rows.last).first == "2|0|||0|4.5")
        harness.advance(by: .minutes(5))
        #expect(try Self.titles(WidgetTests.rows(harness, screen).last).first?.hasPrefix("1|1") == true)
    }

    @Test("W-V33: an eta that is later than the least, and than no other, brings no row")
    func least() throws {
        let small = """
            {"kind":"next","type":"widget","version":1,"app":"a","title":"Next","families":["systemSmall"],"audience":"all",
             "source":{"over":"coffee-order","values":{"next":{"least":"content.eta"},"last":{"most":"content.eta"}}},
             "views":{"systemSmall":{"title":"{{values.next}}-{{values.last}}"}}}
            """
        let harness = try HubHarness(kinds: [DerivedWidgetTests.coffee, small])
        let (shop, screen) = (harness.connect(), harness.connect())
        for (id, eta) in [("1", 5), ("2", 7), ("3", 9)] {
            Self.begin(harness, id, content: #"{"eta":\#(eta)}"#, shop)
        }
        Self.reply(harness, "SUB next/main view=phone", screen)
        Self.reply(harness, #"EVT coffee-order/2 type=update {"content-state":{"eta":8}}"#, shop)
        #expect(WidgetTests.rows(harness, screen) == [])
        Self.reply(harness, #"EVT coffee-order/1 type=update {"content-state":{"eta":10}}"#, shop)
        #expect(try Self.titles(WidgetTests.rows(harness, screen).last) == ["8-10"])
        Self.reply(harness, "EVT coffee-order/1 type=end", shop)
        harness.advance(by: .minutes(20))
        #expect(try Self.titles(WidgetTests.rows(harness, screen).last) == ["8-9"])
    }

    @Test("W-V34: an event moves an order from desk A to B: both have rows, of one rev")
    func moves() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (shop, screen) = (harness.connect(), harness.connect())
        Self.begin(harness, "1", content: #"{"desk":"A"}"#, shop)
        Self.begin(harness, "2", content: #"{"desk":"A"}"#, shop)
        Self.begin(harness, "3", content: #"{"desk":"B"}"#, shop)
        Self.reply(harness, "SUB desk/* view=phone", screen)
        Self.reply(harness, #"EVT coffee-order/1 type=confirm {"content-state":{"desk":"B"}}"#, shop)
        let rows = try WidgetTests.rows(harness, screen).map { try ServerText($0) }
        #expect(Set(rows.compactMap(\.key)) == ["desk/A", "desk/B"] && Set(rows.compactMap(\.rev)).count == 1)
        #expect(try Self.titles(harness, "desk/A", shop) == ["1"])
        #expect(try Self.titles(harness, "desk/B", shop) == ["2"])
        // The last one leaves its desk, which is no group any more.
        Self.reply(harness, #"EVT coffee-order/2 type=confirm {"content-state":{"desk":"C"}}"#, shop)
        let gone = WidgetTests.rows(harness, screen)
        #expect(gone.contains { $0.hasPrefix("DEL") && $0.contains("desk/A") && $0.contains("why=removed") })
        #expect(gone.contains { $0.hasPrefix("UPD") && $0.contains("desk/C") })
    }

    @Test("W-V35: prices of 4.5 and 4.5 are sales of 9, and 0 from the next local midnight on")
    func tally() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (shop, start) = (harness.connect(), harness.time)
        for id in ["1", "2"] {
            Self.begin(harness, id, shop)
            Self.collect(harness, id, shop)
        }
        let row = Self.reply(harness, "GET kitchen/Hoegi view=phone", shop).first
        let entries = try ServerText(try #require(row)).body?["entries"]?.array ?? []
        #expect(try Self.titles(row) == ["0|0|||0|9", "0|0|||0|0"])
        // 19:00 in the zone: five hours before midnight.
        #expect(entries.last?["date"]?.integer == (start + .hours(5)).milliseconds)
        let screen = harness.connect()
        Self.reply(harness, "SUB kitchen/Hoegi view=phone", screen)
        harness.advance(by: .hours(6))
        #expect(WidgetTests.rows(harness, screen) == [])
        #expect(try Self.titles(harness, "kitchen/Hoegi", shop) == ["0|0|||0|0"])
        Self.begin(harness, "3", shop)
        Self.collect(harness, "3", shop)
        #expect(try Self.titles(harness, "kitchen/Hoegi", shop).first == "0|0|||0|4.5")
    }

    @Test("W-V36: both orders are pruned and the daemon is started again: sales stay, and none is open")
    func outlives() throws {
        let weekly = Self.kitchen.replacing(#""per":"day""#, with: #""per":"week""#)
        let kinds = [DerivedWidgetTests.coffee, weekly]
        var configuration = HubConfiguration()
        configuration.decisions.retention = .hours(1)
        let harness = try HubHarness(kinds: kinds, configuration: configuration)
        let shop = harness.connect()
        for id in ["1", "2"] {
            Self.begin(harness, id, shop)
            Self.collect(harness, id, shop)
        }
        for _ in 0..<4 { harness.advance(by: .hours(2)) }
        #expect(Self.reply(harness, "GET coffee-order/1", shop).first?.contains("unknown_key") == true)
        for fromSnapshot in [true, false] {
            try harness.restart(kinds: kinds, fromSnapshot: fromSnapshot)
            #expect(try Self.titles(harness, "kitchen/Hoegi", harness.connect()).first == "0|0|||0|9")
        }
    }

    @Test("W-V37, W-V38: only what counted before is tallied; a price that is no number is left out, and told")
    func exact() throws {
        let strict = Self.kitchen.replacing(
            "lifecycle != 'ended'", with: "lifecycle != 'ended' and attributes.price != 1")
        let harness = try HubHarness(kinds: [DerivedWidgetTests.coffee, strict])
        let shop = harness.connect()
        Self.begin(harness, "no", price: "1", shop)
        Self.collect(harness, "no", shop)
        #expect(Self.reply(harness, "GET kitchen/Hoegi view=phone", shop).first?.contains("unknown_key") == true)
        for id in 0..<10 {
            Self.begin(harness, "\(id)", price: "0.1", shop)
            Self.collect(harness, "\(id)", shop)
        }
        Self.begin(harness, "x", price: #""x""#, shop)
        let before = try HubHarness.tail(Self.reply(harness, "STATS", shop).last)["guardErrors"]?.integer ?? 0
        Self.collect(harness, "x", shop)
        #expect(try Self.titles(harness, "kitchen/Hoegi", shop).first == "0|0|||0|1")
        #expect(try HubHarness.tail(Self.reply(harness, "STATS", shop).last)["guardErrors"]?.integer == before + 1)
        Self.begin(harness, "big", content: #"{"eta":1e300}"#, shop)
        #expect(try Self.titles(harness, "kitchen/Hoegi", shop).first == "1|0|1e+300|1e+300|0|1")
    }

    @Test("W-V39, W-V40: without orders the least is empty and the list too; of six orders four are told, and two more")
    func lists() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let shop = harness.connect()
        func view() throws -> JSON? {
            let row = Self.reply(harness, "GET kitchen/Hoegi view=phone", shop).first
            return try ServerText(try #require(row)).body?["entries"]?.array?.first?["view"]
        }
        let empty = Self.reply(harness, "GET kitchen/Empty view=phone", shop).first
        #expect(empty?.contains(#""list":[]"#) == true)
        for id in [6, 5, 4, 3, 2, 1] {
            Self.begin(harness, "\(id)", shop)
            harness.advance(by: .seconds(1))
        }
        #expect(try view()?["list"]?.array?.compactMap { $0["id"]?.string } == ["6", "5", "4", "3"])
        #expect(try view()?["more"] == 2)
        Self.reply(harness, "EVT coffee-order/5 type=end", shop)
        Self.reply(harness, "EVT coffee-order/3 type=confirm", shop)
        #expect(try view()?["list"]?.array?.compactMap { $0["id"]?.string } == ["6", "4", "3", "2"])
        #expect(try view()?["list"]?.array?[2]["is"] == "queued")
        #expect(try view()?["more"] == 1)
    }

    @Test("W-V41: of an audience of one's own, each account is told what it may see")
    func ownAudience() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (shop, alice, bob) = (harness.connect(), harness.connect(as: "alice"), harness.connect(as: "bob"))
        for id in 1...2 { Self.begin(harness, "a\(id)", words: "for=alice", shop) }
        for id in 1...3 { Self.begin(harness, "c\(id)", words: "for=carol", shop) }
        #expect(try Self.titles(harness, "mine/main", alice) == ["2 9"])
        #expect(try Self.titles(harness, "mine/main", bob) == ["0 0"])
        #expect(try Self.titles(harness, "mine/main", shop) == ["5 22.5"])
        #expect(Self.reply(harness, "GET mine/main view=full", alice).first?.contains("22.5") == false)
        Self.reply(harness, "DISMISS coffee-order/a1", alice)
        #expect(try Self.titles(harness, "mine/main", alice) == ["1 4.5"])
    }

    @Test func `a refused batch takes the levels and the tallies back`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let shop = harness.connect()
        for id in 1...3 { Self.begin(harness, "\(id)", shop) }
        for event in ["confirm", "brew", "ready"] { Self.reply(harness, "EVT coffee-order/1 type=\(event)", shop) }
        let (hash, before) = (harness.hub.stateHash, try Self.titles(harness, "kitchen/Hoegi", shop))
        harness.isFull = true
        Self.reply(harness, "EVT coffee-order/1 type=collect", shop)
        Self.begin(harness, "9", shop: "New", shop)
        Self.reply(harness, "EVT coffee-order/2 type=end", shop)
        #expect(harness.hub.stateHash == hash)
        harness.isFull = false
        #expect(try Self.titles(harness, "kitchen/Hoegi", shop) == before)
        Self.reply(harness, "EVT coffee-order/1 type=collect", shop)
        #expect(try Self.titles(harness, "kitchen/Hoegi", shop).first == "2|0|||0|4.5")
    }

    @Test func `an aggregate equals a count of the orders, whatever happened, and after each start`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        var random = SeededGenerator(seed: 38)
        let shops = ["Hoegi", "Central", "Third"]
        for round in 0..<400 {
            let (shop, id) = (harness.connect(), "\(random.below(25))")
            switch random.below(6) {
            case 0, 1:
                let eta = random.chance(20) ? #""x""# : "\(random.below(50))"
                Self.begin(
                    harness, id, shop: shops[Int(random.below(3))], price: "0.\(random.below(100))",
                    content: #"{"eta":\#(eta),"desk":"\#(random.below(4))"}"#, shop)
            case 2:
                Self.reply(
                    harness, #"EVT coffee-order/\#(id) type=update {"content-state":{"eta":\#(random.below(50))}}"#,
                    shop)
            case 3: harness.advance(by: .seconds(Int64(random.below(300))))
            default:
                let event = ["confirm", "brew", "ready", "collect", "cancel"][Int(random.below(5))]
                Self.reply(harness, "EVT coffee-order/\(id) type=\(event)", shop)
            }
            harness.disconnect(shop)
            if round % 100 == 99 {
                let hash = harness.hub.stateHash
                #expect(try harness.recovered().stateHash == hash)
                try harness.restart(kinds: Self.kinds, fromSnapshot: round % 200 == 99)
            }
            guard round % 10 == 0 else { continue }
            let reader = harness.connect()
            let orders = try Self.reply(harness, "LIST coffee-order/* view=full", reader).dropLast().map {
                try ServerText($0).body ?? .null
            }
            for name in shops {
                let here = orders.filter {
                    $0["attributes"]?["shop"]?.string == name && $0["lifecycle"]?.string != "ended"
                        && $0["lifecycle"]?.string != "dismissed"
                }
                let etas = here.compactMap { $0["content"]?["eta"]?.double }
                let texts = here.compactMap { $0["content"]?["eta"]?.string }
                let late = here.count { $0["state"]?.string == "unattended" }
                guard !here.isEmpty else { continue }
                let parts = try Self.titles(harness, "kitchen/\(name)", reader)[0].split(
                    separator: "|", omittingEmptySubsequences: false)
                #expect(parts[0] == "\(here.count)", "round \(round)")
                #expect(parts[1] == "\(late)", "round \(round)")
                #expect(parts[2] == (etas.min().map { JSON($0).description } ?? texts.first ?? ""), "round \(round)")
                #expect(parts[3] == (texts.first ?? etas.max().map { JSON($0).description } ?? ""), "round \(round)")
                #expect(parts[4] == JSON(etas.reduce(0, +)).description, "round \(round)")
            }
        }
    }
}
