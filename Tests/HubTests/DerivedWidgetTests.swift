import Hub
import TelltaleModel
import Testing

/// Widgets that show activities, over the line. Vectors W-V are those of Protocols/Widgets/rules.md.
struct DerivedWidgetTests {
    /// As the shipped kind, but for what other tests need of it.
    static let coffee = HubHarness.coffee.replacing(
        #""unattended":{"on""#, with: #""unattended":{"title":"Waiting for the shop","on""#
    ).replacing(#""placed":{"progress""#, with: #""placed":{"title":"Order placed","progress""#)
    static let one = """
        {"kind":"order","type":"widget","version":1,"app":"com.example.coffee","title":"Order","families":["systemSmall"],
         "source":{"one":"coffee-order/{{config.order}}"},"parameters":{"order":{}},"recommended":[{"order":"star"}],
         "views":{"systemSmall":{"title":"{{state.title}} {{lifecycle}}"}}}
        """
    static let each = """
        {"kind":"card","type":"widget","version":1,"app":"com.example.coffee","title":"Card","families":["systemSmall"],
         "source":{"each":"coffee-order","where":"lifecycle != 'ended'"},
         "views":{"systemSmall":{"title":"{{state.title}} {{content.shelf}}"}}}
        """

    static func makeHarness() throws -> HubHarness { try HubHarness(kinds: [coffee, one, each]) }

    static func rows(_ harness: HubHarness, _ client: HubHarness.Client) -> [String] {
        WidgetTests.rows(harness, client)
    }

    @discardableResult
    static func reply(_ harness: HubHarness, _ line: String, _ client: HubHarness.Client) -> [String] {
        WidgetTests.reply(harness, line, client)
    }

    /// As ``WidgetTests/entries(_:from:)``, with `null` where nothing is drawn.
    static func entries(_ line: String?, from start: Timestamp) throws -> [String] {
        let text = try ServerText(try #require(line))
        let views = (text.body?["entries"]?.array ?? []).map { $0["view"] }
        return try zip(WidgetTests.entries(line, from: start), views).map { entry, view in
            view == .null ? entry.replacing(":?", with: ":null") : entry
        }
    }

    static func foreseen(_ harness: HubHarness, _ client: HubHarness.Client) throws -> JSON? {
        try HubHarness.tail(reply(harness, "STATS", client).last)["foreseen"]
    }

    /// An order of +0, and a screen that follows its widget.
    private func followed(
        _ kinds: [String] = [coffee, one]
    ) throws -> (HubHarness, HubHarness.Client, HubHarness.Client, Timestamp, row: String?) {
        let harness = try HubHarness(kinds: kinds)
        let (shop, screen, start) = (harness.connect(), harness.connect(), harness.time)
        Self.reply(harness, "EVT coffee-order/1 type=start eid=s1", shop)
        let row = Self.reply(harness, "SUB order/1 view=phone", screen).first { $0.hasPrefix("SNAP") }
        return (harness, shop, screen, start, row)
    }

    @Test("W-V24: the row of one order tells when it is stale, when it waits for the shop, when it ends and leaves")
    func foreseen() throws {
        let (_, _, _, start, row) = try followed()
        #expect(
            try Self.entries(row, from: start) == [
                "0:Order placed active", "240:Order placed stale!", "300:Waiting for the shop stale!",
                "28800:Waiting for the shop ended", "29700:null",
            ])
        #expect(try ServerText(try #require(row)).body?["live"] == true)
    }

    @Test("W-V25: what was foreseen comes without a row, with the same rev, and is counted")
    func kept() throws {
        let (harness, shop, screen, start, row) = try followed()
        let rev = try ServerText(try #require(row)).rev
        harness.advance(by: .seconds(240))
        harness.advance(by: .seconds(60))
        #expect(Self.rows(harness, screen) == [])
        #expect(try Self.foreseen(harness, shop)?["kept"] == 2)
        #expect(try Self.foreseen(harness, shop)?["missed"] == 0)
        let now = Self.reply(harness, "GET order/1 view=phone", screen).first
        #expect(try ServerText(try #require(now)).rev == rev)
        #expect(try Self.entries(now, from: start).first == "300:Waiting for the shop stale!")
    }

    @Test("W-V26: an event that overtakes it brings a row with the rev of its commit")
    func overtaken() throws {
        let (harness, shop, screen, start, _) = try followed()
        harness.advance(by: .seconds(100))
        Self.reply(harness, "EVT coffee-order/1 type=confirm eid=c1", shop)
        let rows = Self.rows(harness, screen)
        #expect(rows.count == 1)
        #expect(try ServerText(try #require(rows.first)).rev == Int64(harness.records.count))
        #expect(
            try Self.entries(rows.first, from: start) == [
                "100:queued active", "340:queued stale!", "28800:queued ended", "29700:null",
            ])
        #expect(try Self.foreseen(harness, shop)?["missed"] == 1)
        harness.advance(by: .seconds(200))
        #expect(Self.rows(harness, screen) == [])
    }

    @Test("W-V27: the same event again brings no row")
    func again() throws {
        let (harness, shop, screen, _, _) = try followed()
        Self.reply(harness, "EVT coffee-order/1 type=confirm eid=c1", shop)
        #expect(Self.rows(harness, screen).count == 1)
        Self.reply(harness, "EVT coffee-order/1 type=confirm eid=c1", shop)
        Self.reply(harness, "EVT coffee-order/1 type=collect", shop)
        Self.reply(harness, "SEEN coffee-order/1 for=alice rev=1", shop)
        #expect(Self.rows(harness, screen) == [])
    }

    @Test("W-V28: stopped at +250 and started at +400, a resume brings LIVE alone", arguments: [false, true])
    func resumed(fromSnapshot: Bool) throws {
        let (harness, _, _, _, _) = try followed()
        let cursor = try harness.cursor(of: "SUB order/1 view=phone", from: harness.connect())
        harness.advance(by: .seconds(250))
        harness.time = harness.time + .seconds(150)
        try harness.restart(kinds: [Self.coffee, Self.one], fromSnapshot: fromSnapshot)
        let back = Self.reply(harness, "SUB order/1 view=phone from=\(cursor)", harness.connect())
        #expect(back.count == 2 && back[1].hasPrefix("LIVE"), "\(back)")
        let near = Self.reply(harness, "SUB order/1 view=phone ahead=1 from=\(cursor)", harness.connect())
        #expect(near.contains { $0.contains("SNAP") || $0.contains("UPD") }, "\(near)")
    }

    @Test("W-V29: of an order that ended, the last entry draws nothing when its linger is over")
    func lingering() throws {
        let (harness, shop, screen, start, _) = try followed()
        for event in ["confirm", "brew", "ready", "collect"] {
            Self.reply(harness, "EVT coffee-order/1 type=\(event)", shop)
        }
        #expect(
            try Self.entries(Self.rows(harness, screen).last, from: start) == ["0:collected ended", "900:null"])
        harness.advance(by: .minutes(16))
        #expect(Self.rows(harness, screen) == [])
        // The card goes with the activity's own entry, and stays for as long as something can be asked of it.
        let row = Self.reply(harness, "GET order/1 view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["900:null"])
        Self.reply(harness, "EVT coffee-order/1 type=start", shop)
        #expect(try Self.entries(Self.rows(harness, screen).last, from: start).first == "960:Order placed active")
    }

    @Test("W-V30: a widget of each order begins with it, and goes when it is dismissed")
    func eachComesAndGoes() throws {
        let harness = try Self.makeHarness()
        let (shop, screen, start) = (harness.connect(), harness.connect(), harness.time)
        Self.reply(harness, "SUB card/* view=phone", screen)
        Self.reply(harness, "EVT coffee-order/7 type=start for=alice", shop)
        let rows = Self.rows(harness, screen)
        #expect(rows.count == 1 && rows[0].contains("key=card/7"))
        #expect(try Self.entries(rows[0], from: start).first == "0:Order placed ")
        // The condition does not hold any more when the order has ended.
        #expect(try Self.entries(rows[0], from: start).last == "28800:null")
        Self.reply(harness, "DISMISS coffee-order/7", harness.connect(as: "alice"))
        let gone = Self.rows(harness, screen)
        #expect(gone.count == 1 && gone[0].hasPrefix("DEL") && gone[0].contains("why=removed"), "\(gone)")
        #expect(Self.reply(harness, "LIST card/* view=phone", shop) == ["OK count=0"])
        Self.reply(harness, "EVT coffee-order/7 type=start", shop)
        #expect(Self.rows(harness, screen).count == 1)
    }

    @Test("W-V31: the widget of an order for alice is hers alone")
    func audience() throws {
        let harness = try Self.makeHarness()
        let (shop, bob, alice) = (harness.connect(), harness.connect(as: "bob"), harness.connect(as: "alice"))
        Self.reply(harness, "SUB card/* view=phone", bob)
        Self.reply(harness, "SUB card/* view=phone", alice)
        Self.reply(harness, "EVT coffee-order/7 type=start for=alice,carol", shop)
        #expect(Self.rows(harness, bob) == [] && Self.rows(harness, alice).count == 1)
        for key in ["card/7", "order/7"] {
            #expect(Self.reply(harness, "GET \(key) view=phone", bob).first?.contains("unknown_key") == true)
            #expect(Self.reply(harness, "GET \(key) view=phone", alice).first?.hasPrefix("OK") == true)
        }
        // She takes the activity off her screens, and its widget goes with it; it stays on carol's.
        let reported = Self.reply(harness, "DISMISS coffee-order/7", alice)
        #expect(reported.filter { $0.hasPrefix("DEL") }.count == 1, "\(reported)")
        #expect(Self.reply(harness, "LIST card/* view=phone", harness.connect(as: "carol")).last == "OK count=1")
        #expect(Self.reply(harness, "LIST card/* view=phone", alice).last == "OK count=0")
    }

    @Test("W-V111: a client that does not know widgets is told nothing of derived ones")
    func clientOfToday() throws {
        func reported(_ kinds: [String]) throws -> [String] {
            let harness = try HubHarness(kinds: kinds)
            let (shop, screen) = (harness.connect(), harness.connect())
            var lines = harness.send("SUB * view=carplay", from: screen)
            for event in ["start", "confirm", "brew", "ready", "collect"] {
                lines += harness.send("EVT coffee-order/1 type=\(event)", from: shop).map {
                    $0.replacing(#/ rev=\d+/#, with: "")
                }
            }
            harness.advance(by: .hours(9))
            lines += harness.lines(of: screen) + harness.send("LIST view=carplay", from: screen)
            return lines.map { $0.replacing(#/ (rev|cur)=\S+/#, with: "") }
        }
        #expect(try reported([Self.coffee]) == (try reported([Self.coffee, Self.one, Self.each])))
    }

    @Test("W-V22: a reload of a derived widget is a noop, and nothing is posted to it")
    func reload() throws {
        let (harness, shop, _, start, _) = try followed([Self.coffee, Self.one, Self.each])
        #expect(Self.reply(harness, "EVT order/1 type=reload", shop).first?.contains("verdict=noop") == true)
        let posted = Self.reply(harness, WidgetTests.timeline("order/1", [0], from: start), shop)
        #expect(posted.first?.contains("bad_action") == true)
        #expect(Self.reply(harness, "EVT card/1 type=end", shop).first?.contains("bad_action") == true)
    }

    @Test func `a recommended widget is a placeholder before its activity, and draws nothing after it`() throws {
        let harness = try Self.makeHarness()
        let (shop, screen, start) = (harness.connect(), harness.connect(), harness.time)
        let row = Self.reply(harness, "SUB order/star view=phone", screen).first { $0.hasPrefix("SNAP") }
        #expect(try Self.entries(row, from: start) == ["0:-"])
        Self.reply(harness, "EVT coffee-order/star type=start", shop)
        #expect(try Self.entries(Self.rows(harness, screen).first, from: start).count == 5)
        Self.reply(harness, "EVT coffee-order/star type=end", shop)
        for _ in 0..<3 { harness.advance(by: .hours(24 * 8)) }
        #expect(Self.reply(harness, "GET coffee-order/star", shop).first?.contains("unknown_key") == true)
        let left = Self.reply(harness, "GET order/star view=phone", shop).first
        #expect(try Self.entries(left, from: start).map { $0.split(separator: ":").last } == ["null"])
        #expect(Self.reply(harness, "GET card/star", shop).first?.contains("unknown_key") == true)
    }

    @Test func `kinds that come while there are activities make their widgets, and take them along`() throws {
        let harness = try HubHarness(kinds: [Self.coffee])
        let (shop, screen) = (harness.connect(), harness.connect())
        Self.reply(harness, "EVT coffee-order/1 type=start for=alice", shop)
        Self.reply(harness, "EVT coffee-order/2 type=start", shop)
        Self.reply(harness, "EVT coffee-order/2 type=end", shop)
        try harness.hub.adopt(try [Self.coffee, Self.each].map { try HubHarness.kind($0) })
        harness.turn()
        #expect(Self.reply(harness, "LIST card/* view=phone", shop).last == "OK count=1")
        Self.reply(harness, "SUB card/* view=phone", screen)
        let newer = Self.each.replacing(#""version":1"#, with: #""version":2"#).replacing("!=", with: "==")
        try harness.hub.adopt(try [Self.coffee, newer].map { try HubHarness.kind($0) })
        harness.turn()
        #expect(Self.reply(harness, "LIST card/* view=phone", shop).last == "OK count=1")
        let reported = Self.rows(harness, screen)
        #expect(reported.contains { $0.hasPrefix("DEL") && $0.contains("card/1") }, "\(reported)")
        #expect(reported.contains { $0.hasPrefix("UPD") && $0.contains("card/2") }, "\(reported)")
        try harness.hub.adopt([try HubHarness.kind(Self.coffee)])
        harness.turn()
        #expect(Self.rows(harness, screen).contains { $0.hasPrefix("DEL") && $0.contains("card/2") })
    }

    @Test("W-V3: the journal gives the same derived widgets again, with and without a snapshot")
    func replay() throws {
        let harness = try Self.makeHarness()
        let shop = harness.connect()
        for id in 1...4 { Self.reply(harness, "EVT coffee-order/\(id) type=start\(id == 2 ? " for=alice" : "")", shop) }
        Self.reply(harness, "EVT coffee-order/3 type=confirm", shop)
        Self.reply(harness, "EVT coffee-order/4 type=end", shop)
        harness.advance(by: .seconds(250))
        func rows() -> [String] {
            let reader = harness.connect()
            return ["card/*", "order/*"].flatMap { pattern in
                Self.reply(harness, "LIST \(pattern) view=phone", reader)
                    + Self.reply(harness, "LIST \(pattern)", reader)
            }
        }
        let (before, hash) = (rows(), harness.hub.stateHash)
        #expect(before.count == 2 * (3 + 1) + 2 * (5 + 1))
        #expect(try harness.recovered().stateHash == hash)
        for fromSnapshot in [true, false] {
            try harness.restart(kinds: [Self.coffee, Self.one, Self.each], fromSnapshot: fromSnapshot)
            #expect(rows() == before)
        }
    }

    @Test func `a full disk leaves derived widgets as they were`() throws {
        let (harness, shop, screen, _, _) = try followed()
        let hash = harness.hub.stateHash
        harness.isFull = true
        Self.reply(harness, "EVT coffee-order/1 type=confirm", shop)
        Self.reply(harness, "EVT coffee-order/9 type=start for=alice", shop)
        #expect(harness.hub.stateHash == hash)
        #expect(Self.rows(harness, screen) == [])
        harness.isFull = false
        Self.reply(harness, "EVT coffee-order/1 type=confirm", shop)
        #expect(Self.rows(harness, screen).count == 1)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }
}
