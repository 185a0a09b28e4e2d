import Hub
import TelltaleModel
import Testing

/// The widgets that tiles stand on, and the bounds of boards.
struct TileWidgetTests {
    private static let weather = """
        {"kind":"weather","type":"widget","version":1,"app":"a.b","title":"Weather","families":["systemSmall"],
         "source":{"provider":true},"parameters":{"town":{}},"views":{"systemSmall":{"title":"{{content.n}} in {{config.town}}"}}}
        """
    private static let trip = """
        {"kind":"trip","type":"widget","version":1,"app":"a.b","title":"Trip","families":["systemSmall"],
         "parameters":{"from":{},"to":{}},"views":{"systemSmall":{"title":"{{config.from}} {{content.n}}"}}}
        """
    private static let kinds = TileTests.kinds + [weather, trip]

    @Test("W-V87: a configuration is one key, whatever the order of its members and however many placed it")
    func oneKey() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (alice, bob) = (harness.connect(as: "alice"), harness.connect(as: "bob"))
        _ = TileTests.reply(
            harness, #"TILE @a/t1 do=add widget=trip {"configuration":{"from":"Seoul","to":"Busan"}}"#, alice)
        _ = TileTests.reply(
            harness, #"TILE @b/t1 do=add widget=trip {"configuration":{"to":"Busan","from":"Seoul"}}"#, bob)
        let own = try TileTests.body(TileTests.reply(harness, "GET @a/t1 view=phone", alice))
        let other = try TileTests.body(TileTests.reply(harness, "GET @b/t1 view=phone", bob))
        let key = try #require(own["widget"]?.string)
        #expect(key.hasPrefix("trip/h-") && other["widget"]?.string == key)
        #expect(own["entries"]?.array?.first?["placeholder"] == true)
        // The key says nothing of the configuration; the tile does.
        #expect(TileTests.reply(harness, WidgetTests.timeline(key, [0], from: harness.time), alice).contains("applied"))
        #expect(try TileTests.title(TileTests.reply(harness, "GET @b/t1 view=phone", bob)) == "Seoul 0")
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test("W-V15: a tile of a widget with a provider has it asked, and shows a placeholder until it answers")
    func refreshed() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (phone, provider) = (harness.connect(as: "alice"), harness.connect())
        harness.send("SERVE weather", from: provider)
        harness.send("SUB @a/* view=phone", from: phone)
        harness.post(#"TILE @a/t1 do=add widget=weather {"configuration":{"town":"Prague"}}"#, from: phone)
        harness.turn()
        let ask = try #require(harness.lines(of: provider).first { $0.hasPrefix("DO ") })
        #expect(ask.contains("key=weather/Prague action=timeline reason=first"))
        let lines = WidgetTests.rows(harness, phone)
        #expect(try AggregateTests.titles(lines.last) == ["-"])
        let operation = try #require(HubHarness.attribute("op", of: ask))
        let date = harness.time.milliseconds / 1_000
        harness.send(#"DONE op=\#(operation) {"entries":[{"date":\#(date),"content-state":{"n":5}}]}"#, from: provider)
        #expect(try AggregateTests.titles(WidgetTests.rows(harness, phone).last) == ["5 in Prague"])
    }

    @Test("A tile whose posted widget has ended is unavailable, until another timeline is posted")
    func ended() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let phone = harness.connect(as: "alice")
        _ = TileTests.reply(harness, "TILE @a/t1 do=add widget=sales/Hoegi", phone)
        harness.send(WidgetTests.timeline("sales/Hoegi", [0], from: harness.time), from: phone)
        harness.send("SUB @a/* view=phone", from: phone)
        harness.send("EVT sales/Hoegi type=end", from: phone)
        var row = try TileTests.body(TileTests.reply(harness, "GET @a/t1 view=phone", phone))
        #expect(row["unavailable"] == true)
        harness.advance(by: .days(8))
        row = try TileTests.body(TileTests.reply(harness, "GET @a/t1 view=phone", phone))
        #expect(row["unavailable"] == nil && row["entries"]?.array?.first?["placeholder"] == true)
        harness.send(WidgetTests.timeline("sales/Hoegi", [0], from: harness.time), from: phone)
        #expect(try TileTests.title(TileTests.reply(harness, "GET @a/t1 view=phone", phone)) == "0 at Hoegi")
    }

    @Test("A widget that is for other accounts is a placeholder in a tile")
    func othersContent() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (alice, bob) = (harness.connect(as: "alice"), harness.connect(as: "bob"))
        harness.send(WidgetTests.timeline("sales/Own", [0], from: harness.time, "for=bob"), from: bob)
        _ = TileTests.reply(harness, "TILE @a/t1 do=add widget=sales/Own", alice)
        let row = TileTests.reply(harness, "GET @a/t1 view=phone", alice)
        #expect(try AggregateTests.titles(row) == ["-"] && !row.contains("0 at"))
    }

    @Test("A board has 64 tiles and stacks, an account 32 boards; what is removed makes room")
    func limits() throws {
        var configuration = HubConfiguration()
        configuration.limits.tilesPerBoard = 3
        configuration.limits.boardsPerAccount = 2
        configuration.limits.sharedBoards = 1
        let harness = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let (alice, nobody) = (harness.connect(as: "alice"), harness.connect())
        #expect(HubConfiguration().limits.tilesPerBoard == 64 && HubConfiguration().limits.boardsPerAccount == 32)
        _ = TileTests.reply(harness, "TILE @a/s do=stack", alice)
        for tile in ["t1", "t2"] { #expect(TileTests.add(harness, "@a/\(tile)", by: alice).hasPrefix("OK")) }
        #expect(TileTests.add(harness, "@a/t3", by: alice).contains("code=limit_tiles"))
        _ = TileTests.reply(harness, "TILE @a/s do=remove", alice)
        #expect(TileTests.add(harness, "@a/t3", by: alice).hasPrefix("OK"))
        #expect(TileTests.add(harness, "@b/t1", by: alice).hasPrefix("OK"))
        #expect(TileTests.add(harness, "@c/t1", by: alice).contains("code=limit_tiles"))
        _ = TileTests.reply(harness, "TILE @b/t1 do=remove", alice)
        #expect(TileTests.add(harness, "@c/t1", by: alice).hasPrefix("OK"))
        #expect(TileTests.add(harness, "@d/t1", by: nobody).hasPrefix("OK"))
        #expect(TileTests.add(harness, "@e/t1", by: nobody).contains("code=limit_tiles"))
        try harness.restart(kinds: Self.kinds, fromSnapshot: true)
        #expect(TileTests.reply(harness, "GET @a/t3", harness.connect(as: "alice")).hasPrefix("OK"))
    }

    @Test("A follower of everything resumes by a walk, and is sent the tiles whose widgets changed")
    func walk() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysFilledAtOnce = 2
        let harness = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let phone = harness.connect(as: "alice")
        for number in 1...5 { TileTests.add(harness, "@a/t\(number)", shop: "S\(number)", by: phone) }
        let screen = harness.connect()
        harness.send("HELLO caps=widgets", from: screen)
        let cursor = try harness.cursor(of: "SUB * view=phone", from: screen)
        harness.disconnect(screen)
        AggregateTests.begin(harness, "1", shop: "S3", phone)
        let again = harness.connect()
        harness.send("HELLO caps=widgets", from: again)
        let lines = WidgetTests.reply(harness, "SUB * view=phone from=\(cursor)", again)
        let keys = lines.compactMap { HubHarness.attribute("key", of: $0) }
        #expect(keys.contains("@a/t3") && keys.filter { $0.hasPrefix("@") }.count == 1, "\(keys)")
    }

    @Test("A principal places no widget that it may not read: the board would show it")
    func rights() throws {
        var access = try AccessHarness(kinds: Self.kinds)
        let harness = access.harness
        func client(_ name: String, _ scopes: [String]) throws -> HubHarness.Client {
            let scopes = Set(try scopes.map { try #require(Scope($0)) })
            let token = access.insert(Principal(name: name, scopes: scopes, accounts: .one("alice")))
            return access.connect(with: token)
        }
        let narrow = try client("narrow", ["act:@a/*", "read:@a/*"])
        let wide = try client("wide", ["act:@a/*", "read:*"])
        let refused = TileTests.add(harness, "@a/t1", by: narrow)
        #expect(refused.contains("code=forbidden") && refused.contains("read:kitchen/Hoegi"))
        #expect(TileTests.add(harness, "@a/t1", by: wide).hasPrefix("OK"))
        #expect(
            TileTests.reply(harness, #"TILE @a/t1 do=configure {"configuration":{"shop":"B"}}"#, narrow)
                .contains("code=forbidden"))
        #expect(TileTests.reply(harness, "TILE @a/t1 do=pin", narrow).hasPrefix("OK"))
        // Any widget may be suggested.
        #expect(TileTests.reply(harness, "TILE @a/left do=stack suggest=yes", narrow).contains("read:*"))
        #expect(TileTests.reply(harness, "TILE @a/left do=stack suggest=no", narrow).hasPrefix("OK"))
        #expect(TileTests.reply(harness, "TILE @a/left do=stack suggest=yes", wide).hasPrefix("OK"))
        #expect(TileTests.reply(harness, "TILE @b/t1 do=remove", narrow).contains("code=forbidden"))
    }

    @Test("The hours of a schedule go by in a tile, and a resume behind them brings the row")
    func schedule() throws {
        let clock = """
            {"kind":"clock","type":"widget","version":1,"app":"a.b","title":"Clock","families":["systemSmall"],
             "parameters":{"of":{}},"source":{"schedule":[{"at":"00:00","set":{"is":"night"}},{"at":"12:00","set":{"is":"day"}}]},
             "views":{"systemSmall":{"title":"{{content.is}} of {{config.of}}"}}}
            """
        let harness = try HubHarness(kinds: [clock])
        let phone = harness.connect(as: "alice")
        let answer = TileTests.reply(harness, "TILE @a/t1 do=add widget=clock/Me", phone)
        #expect(answer.hasPrefix("OK"))
        let cursor = try harness.cursor(of: "SUB @a/* view=phone ahead=0", from: phone)
        harness.disconnect(phone)
        harness.advance(by: .hours(12))
        let again = harness.connect(as: "alice")
        let lines = WidgetTests.reply(harness, "SUB @a/* view=phone ahead=0 from=\(cursor)", again)
        #expect(lines.count == 3, "\(lines)")
        harness.advance(by: .hours(12))
        #expect(WidgetTests.rows(harness, again).count == 1)
    }

    @Test("A widget that is forgotten gives its tiles another row, which a resume finds")
    func forgotten() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let phone = harness.connect(as: "alice")
        _ = TileTests.reply(harness, "TILE @a/t1 do=add widget=sales/Own", phone)
        harness.send(WidgetTests.timeline("sales/Own", [0], from: harness.time), from: phone)
        harness.send("EVT sales/Own type=end", from: phone)
        harness.send("SUB @a/* view=phone", from: phone)
        let before = TileTests.reply(harness, "GET @a/t1 view=phone", phone)
        harness.advance(by: .days(8))
        let row = try #require(WidgetTests.rows(harness, phone).first { $0.hasPrefix("UPD") })
        #expect(try TileTests.body(row)["unavailable"] == nil)
        let revs = [before, row].compactMap { HubHarness.attribute("rev", of: $0) }.compactMap { Int($0) }
        #expect(revs.count == 2 && revs[1] > revs[0])
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }
}
