import Hub
import TelltaleModel
import Testing

/// Boards and tiles over the line. Vectors W-V are those of Protocols/Widgets/rules.md.
struct TileTests {
    static let kinds = [DerivedWidgetTests.coffee, AggregateTests.kitchen, WidgetTests.sales]

    static func harness() throws -> HubHarness { try HubHarness(kinds: kinds) }

    static func reply(_ harness: HubHarness, _ line: String, _ client: HubHarness.Client) -> String {
        WidgetTests.reply(harness, line, client).first ?? "-"
    }

    /// Places a widget of `kitchen`, which is taken.
    @discardableResult
    static func add(
        _ harness: HubHarness, _ key: String, shop: String = "Hoegi", words: String = "", by client: HubHarness.Client
    ) -> String {
        let attributes = words.isEmpty ? "" : " " + words
        return reply(
            harness, #"TILE \#(key) do=add widget=kitchen\#(attributes) {"configuration":{"shop":"\#(shop)"}}"#, client)
    }

    static func body(_ line: String?) throws -> JSON {
        let text = try ServerText(try #require(line))
        return try #require(text.body)
    }

    static func title(_ line: String?) throws -> String? { try AggregateTests.titles(line).first }

    @Test("W-V102: a phone arranges what a car shows; the row comes in the same flush, and stands in HISTORY")
    func car() throws {
        let harness = try Self.harness()
        let (phone, car) = (harness.connect(as: "alice"), harness.connect(as: "alice"))
        AggregateTests.begin(harness, "1", phone)
        harness.send("SUB @alice-car/* view=carplay", from: car)
        _ = harness.lines(of: car)
        let answer = Self.add(harness, "@alice-car/t1", by: phone)
        #expect(answer.hasPrefix("OK verdict=applied") && answer.hasSuffix("state=placed"))
        let rows = WidgetTests.rows(harness, car)
        let row = try #require(rows.first)
        #expect(rows.count == 1 && row.contains("key=@alice-car/t1"))
        let body = try Self.body(row)
        #expect(body["style"] == "standby" && body["background"] == "removed" && body["mode"] == "fullColor")
        #expect(body["widget"] == "kitchen/Hoegi" && body["order"] == 1 && body["scale"] == 2)
        #expect(try Self.title(row)?.hasPrefix("1|") == true)
        let history = WidgetTests.reply(harness, "HISTORY @alice-car/t1", phone)
        #expect(history.count == 2 && history[0].contains("type=placed"))
        #expect(history[0].contains(#""do":"add""#) && history[0].contains(#""widget":"kitchen/Hoegi""#))
    }

    @Test("keep of what is not there is unknown_key, however full the board is; of what stands there a noop")
    func keep() throws {
        var configuration = HubConfiguration()
        configuration.limits.tilesPerBoard = 2
        let harness = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let phone = harness.connect()
        for number in 1...2 { Self.add(harness, "@a/t\(number)", by: phone) }
        #expect(Self.reply(harness, "TILE @a/t3 do=keep", phone).contains("code=unknown_key"))
        #expect(Self.reply(harness, "TILE @a/t2 do=keep", phone).hasPrefix("OK verdict=noop"))
    }

    @Test("A change of the widget reaches the followers of its tiles, with the widget's rev")
    func widgetChanges() throws {
        let harness = try Self.harness()
        let (phone, car, full) = (
            harness.connect(as: "alice"), harness.connect(as: "alice"), harness.connect(as: "alice")
        )
        Self.add(harness, "@alice-car/t1", by: phone)
        Self.add(harness, "@alice-car/t2", shop: "Central", by: phone)
        harness.send("SUB @alice-car/* view=carplay", from: car)
        harness.send("SUB @alice-car/* view=full", from: full)
        _ = (harness.lines(of: car), harness.lines(of: full))
        AggregateTests.begin(harness, "1", phone)
        let rev = harness.records.count
        let rows = WidgetTests.rows(harness, car)
        #expect(rows.count == 1 && rows[0].hasPrefix("UPD sub=1 key=@alice-car/t1 rev=\(rev) "))
        #expect(try Self.title(rows.first)?.hasPrefix("1|") == true)
        // The full view is of the tile itself.
        #expect(WidgetTests.rows(harness, full).isEmpty)
        let got = Self.reply(harness, "GET @alice-car/t1 view=carplay", phone)
        #expect(got.hasPrefix("OK key=@alice-car/t1 rev=\(rev) "))
    }

    @Test("A resume brings the tiles whose widgets changed meanwhile, and no others")
    func resume() throws {
        let harness = try Self.harness()
        let phone = harness.connect(as: "alice")
        Self.add(harness, "@alice-car/t1", by: phone)
        Self.add(harness, "@alice-car/t2", shop: "Central", by: phone)
        for account in ["alice", nil] {
            let car = account.map { harness.connect(as: $0) } ?? harness.connect()
            let cursor = try harness.cursor(of: "SUB @alice-car/* view=carplay", from: car)
            harness.disconnect(car)
            let again = account.map { harness.connect(as: $0) } ?? harness.connect()
            AggregateTests.begin(harness, account ?? "none", phone)
            let lines = WidgetTests.reply(harness, "SUB @alice-car/* view=carplay from=\(cursor)", again)
            #expect(lines.count == 3 && lines[1].contains("key=@alice-car/t1"), "\(lines)")
            harness.disconnect(again)
        }
    }

    @Test("W-V88: a parameter that is missing, or that there is not, is named")
    func configurations() throws {
        let harness = try Self.harness()
        let phone = harness.connect(as: "alice")
        let missing = Self.reply(harness, "TILE @b/t1 do=add widget=kitchen", phone)
        #expect(missing.contains("code=bad_attr") && missing.contains("configuration.shop"))
        let unknown = Self.reply(
            harness, #"TILE @b/t1 do=add widget=kitchen {"configuration":{"shop":"Hoegi","shp":"Hoegi"}}"#, phone)
        #expect(unknown.contains("code=bad_attr") && unknown.contains("configuration.shp"))
        #expect(Self.reply(harness, "GET @b/t1", phone).contains("code=unknown_key"))
    }

    @Test("W-V89: configured anew, the row of the other widget comes at once, and no placeholder")
    func configures() throws {
        let harness = try Self.harness()
        let (phone, car) = (harness.connect(as: "alice"), harness.connect(as: "alice"))
        AggregateTests.begin(harness, "1", shop: "Central", phone)
        Self.add(harness, "@alice-car/t1", by: phone)
        harness.send("SUB @alice-car/* view=carplay", from: car)
        let answer = Self.reply(
            harness, #"TILE @alice-car/t1 do=configure {"configuration":{"shop":"Central"}}"#, phone)
        #expect(answer.contains("verdict=applied"))
        let rows = WidgetTests.rows(harness, car)
        #expect(rows.count == 1)
        let body = try Self.body(rows.first)
        #expect(body["widget"] == "kitchen/Central")
        #expect(body["entries"]?.array?.contains { $0["placeholder"] == true } == false)
        #expect(try Self.title(rows.first)?.hasPrefix("1|") == true)
    }

    @Test("W-V91: an if= of before is stale_rev; an eid takes effect once, and for nothing else")
    func onceAndInOrder() throws {
        let harness = try Self.harness()
        let phone = harness.connect(as: "alice")
        Self.add(harness, "@alice-car/t1", by: phone)
        let old = harness.records.count
        Self.add(harness, "@alice-car/t2", words: "pos=1", by: phone)
        #expect(Self.reply(harness, "TILE @alice-car/t1 do=pin if=1", phone).contains("code=stale_rev"))
        let line = #"TILE @alice-car/t1 do=configure eid=e1 {"configuration":{"shop":"Central"}}"#
        #expect(Self.reply(harness, line, phone).contains("verdict=applied"))
        let records = harness.records.count
        #expect(Self.reply(harness, line, phone).contains("verdict=duplicate"))
        #expect(
            Self.reply(harness, #"TILE @alice-car/t1 do=configure eid=e1 {"configuration":{"shop":"Mapo"}}"#, phone)
                .contains("code=dup_mismatch"))
        #expect(harness.records.count == records)
        #expect(Self.reply(harness, "TILE @alice-car/t1 do=remove if=\(old)", phone).contains("code=stale_rev"))
        // The rev of the row, which may be the widget's.
        AggregateTests.begin(harness, "1", shop: "Central", phone)
        let row = Self.reply(harness, "GET @alice-car/t1 view=carplay", phone)
        let rev = try #require(HubHarness.attribute("rev", of: row))
        #expect(Self.reply(harness, "TILE @alice-car/t1 do=remove if=\(rev)", phone).contains("verdict=applied"))
    }

    @Test("W-V92: another account's board is not there")
    func others() throws {
        let harness = try Self.harness()
        let (alice, bob, nobody) = (harness.connect(as: "alice"), harness.connect(as: "bob"), harness.connect())
        Self.add(harness, "@alice-car/t1", by: alice)
        for line in [
            "TILE @alice-car/t1 do=remove", "TILE @alice-car/t9 do=stack", "GET @alice-car/t1", "HISTORY @alice-car/t1",
        ] {
            #expect(Self.reply(harness, line, bob).contains("code=unknown_key"), "\(line)")
        }
        #expect(Self.add(harness, "@alice-car/t2", by: bob).contains("code=unknown_key"))
        #expect(WidgetTests.reply(harness, "SUB @alice-car/* view=carplay", bob).count == 2)
        Self.add(harness, "@alice-car/t3", by: alice)
        #expect(WidgetTests.rows(harness, bob).isEmpty)
        // One that has said no account sees all there is.
        #expect(Self.reply(harness, "GET @alice-car/t1 view=carplay", nobody).hasPrefix("OK"))
        // A board without tiles is nobody's.
        for tile in ["t1", "t3"] { _ = Self.reply(harness, "TILE @alice-car/\(tile) do=remove", alice) }
        #expect(Self.add(harness, "@alice-car/t1", by: bob).hasPrefix("OK"))
        #expect(Self.reply(harness, "HISTORY @alice-car/t1", alice).contains("code=unknown_key"))
        let own = WidgetTests.reply(harness, "HISTORY @alice-car/t1", bob)
        #expect(own.count == 2, "\(own)")
    }

    @Test("W-V111: a client without caps=widgets that follows everything is told nothing of boards")
    func strangers() throws {
        let harness = try Self.harness()
        let (phone, old) = (harness.connect(as: "alice"), harness.connect(as: "alice"))
        let new = harness.connect()
        harness.send("HELLO account=alice caps=widgets", from: new)
        harness.send("SUB * view=carplay", from: old)
        harness.send("SUB * view=carplay", from: new)
        _ = (harness.lines(of: old), harness.lines(of: new))
        Self.add(harness, "@alice-car/t1", by: phone)
        Self.add(harness, "@alice-car/t2", shop: "Central", words: "stack=left", by: phone)
        _ = Self.reply(harness, "TILE @alice-car/t1 do=remove", phone)
        #expect(WidgetTests.rows(harness, old).isEmpty)
        #expect(!WidgetTests.rows(harness, new).isEmpty)
        #expect(!WidgetTests.reply(harness, "LIST view=carplay", old).contains { $0.contains("key=@") })
        #expect(!WidgetTests.reply(harness, "SUB * view=carplay", old).contains { $0.contains("key=@") })
    }

    @Test("remove is DEL why=removed, and the tiles behind it move up")
    func removes() throws {
        let harness = try Self.harness()
        let (phone, car) = (harness.connect(as: "alice"), harness.connect(as: "alice"))
        Self.add(harness, "@alice-car/t1", by: phone)
        Self.add(harness, "@alice-car/t2", shop: "Central", by: phone)
        let cursor = try harness.cursor(of: "SUB @alice-car/* view=carplay", from: car)
        let answer = Self.reply(harness, "TILE @alice-car/t1 do=remove", phone)
        #expect(answer.hasSuffix("state=gone"))
        let rows = WidgetTests.rows(harness, car)
        #expect(rows.count == 2)
        #expect(rows.contains { $0.hasPrefix("DEL") && $0.contains("t1") && $0.contains("why=removed") })
        let other = rows.first { $0.contains("t2") }
        #expect(try Self.body(other)["order"] == 1)
        harness.disconnect(car)
        let again = harness.connect(as: "alice")
        let lines = WidgetTests.reply(harness, "SUB @alice-car/* view=carplay from=\(cursor)", again)
        #expect(lines.contains { $0.hasPrefix("DEL") && $0.contains("t1") && $0.contains("why=removed") })
        #expect(Self.reply(harness, "TILE @alice-car/t1 do=remove", phone).contains("code=unknown_key"))
    }

    @Test("W69: a restart brings all of it back, from the journal and from a snapshot", arguments: [false, true])
    func restart(fromSnapshot: Bool) throws {
        let harness = try Self.harness()
        let phone = harness.connect(as: "alice")
        Self.add(harness, "@alice-car/t1", words: "eid=e1", by: phone)
        Self.add(harness, "@alice-car/t2", shop: "Central", words: "stack=left", by: phone)
        Self.add(harness, "@alice-car/t3", shop: "Mapo", words: "stack=left", by: phone)
        _ = Self.reply(harness, "TILE @alice-car/left do=stack smart=yes", phone)
        _ = Self.reply(harness, "TILE @alice-car/t3 do=show", phone)
        _ = Self.reply(harness, "TILE @alice-car/t1 do=remove", phone)
        let before = WidgetTests.reply(harness, "LIST @alice-car/* view=full", phone)
        #expect(before.count == 4)
        try harness.restart(kinds: Self.kinds, fromSnapshot: fromSnapshot)
        let again = harness.connect(as: "alice")
        #expect(WidgetTests.reply(harness, "LIST @alice-car/* view=full", again) == before)
        #expect(Self.add(harness, "@alice-car/t1", words: "eid=e1", by: again).contains("verdict=duplicate"))
        let car = harness.connect(as: "alice")
        harness.send("SUB @alice-car/* view=carplay", from: car)
        AggregateTests.begin(harness, "1", shop: "Mapo", again)
        #expect(harness.lines(of: car).contains { $0.hasPrefix("UPD") && $0.contains("t3") })
        let other = try harness.recovered()
        #expect(other.stateHash == harness.hub.stateHash)
    }

    @Test("A batch that the disk refuses leaves no tile behind")
    func fullDisk() throws {
        let harness = try Self.harness()
        let phone = harness.connect(as: "alice")
        Self.add(harness, "@alice-car/t1", by: phone)
        let hash = harness.hub.stateHash
        harness.isFull = true
        #expect(Self.add(harness, "@alice-car/t2", words: "stack=left", by: phone).contains("code=storage_full"))
        #expect(Self.reply(harness, "TILE @alice-car/t1 do=remove", phone).contains("code=storage_full"))
        harness.isFull = false
        #expect(harness.hub.stateHash == hash)
        #expect(WidgetTests.reply(harness, "LIST @alice-car/* view=full", phone).count == 2)
        #expect(Self.add(harness, "@alice-car/t2", by: phone).contains("verdict=applied"))
    }

    @Test("A request that changes nothing, and that the disk refuses, is not in the history of its tile")
    func fullDiskHistory() throws {
        let harness = try Self.harness()
        let phone = harness.connect(as: "alice")
        Self.add(harness, "@alice-car/t1", by: phone)
        harness.isFull = true
        #expect(Self.reply(harness, "TILE @alice-car/t1 do=unpin", phone).contains("code=storage_full"))
        harness.isFull = false
        Self.add(harness, "@alice-car/t2", by: phone)
        #expect(Self.reply(harness, "TILE @alice-car/t1 do=unpin", phone).contains("verdict=noop"))
        let history = WidgetTests.reply(harness, "HISTORY @alice-car/t1", phone)
        #expect(history.count == 3 && history.last?.hasPrefix("OK count=2") == true, "\(history)")
    }

    @Test("A board takes no stack with its first tile where there is room for one of the two alone")
    func limit() throws {
        var configuration = HubConfiguration()
        configuration.limits.tilesPerBoard = 3
        let harness = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let phone = harness.connect(as: "alice")
        for tile in ["t1", "t2"] { Self.add(harness, "@b/\(tile)", by: phone) }
        #expect(Self.add(harness, "@b/t3", words: "stack=s", by: phone).contains("code=limit_tiles"))
        #expect(Self.add(harness, "@b/t3", by: phone).contains("verdict=applied"))
        #expect(Self.add(harness, "@b/t4", by: phone).contains("code=limit_tiles"))
    }

    @Test("A tile stays when its kind is taken away, and comes back with it")
    func kindTakenAway() throws {
        let harness = try Self.harness()
        let (phone, car) = (harness.connect(as: "alice"), harness.connect(as: "alice"))
        Self.add(harness, "@alice-car/t1", by: phone)
        harness.send("SUB @alice-car/* view=carplay", from: car)
        _ = harness.lines(of: car)
        try harness.hub.adopt(try [DerivedWidgetTests.coffee].map { try HubHarness.kind($0) })
        harness.turn()
        let gone = WidgetTests.rows(harness, car)
        #expect(gone.count == 1)
        let body = try Self.body(gone.first)
        #expect(body["unavailable"] == true && body["interactive"] == false)
        #expect(body["entries"]?.array?.first?["placeholder"] == true)
        try harness.hub.adopt(try Self.kinds.map { try HubHarness.kind($0) })
        harness.turn()
        let back = WidgetTests.rows(harness, car)
        #expect(try Self.body(back.last)["unavailable"] == nil)
        #expect(try Self.title(back.last)?.hasPrefix("0|") == true)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test("An event, a tap, a swipe on a tile is another thing's")
    func otherVerbs() throws {
        let harness = try Self.harness()
        let phone = harness.connect(as: "alice")
        Self.add(harness, "@alice-car/t1", by: phone)
        for line in [
            "EVT @alice-car/t1 type=timeline", "SET @alice-car/t1 value=on", "PRESS @alice-car/t1",
            "SEEN @alice-car/t1 rev=1", "DISMISS @alice-car/t1",
        ] {
            #expect(Self.reply(harness, line, phone).contains("code=bad_action"), "\(line)")
        }
        #expect(Self.reply(harness, "TILE coffee-order/1 do=remove", phone).contains("code=bad_key"))
        #expect(Self.reply(harness, "TILE @b/t1 do=add widget=nothing", phone).contains("code=unknown_kind"))
        #expect(Self.reply(harness, "TILE @b/t1 do=add widget=coffee-order", phone).contains("code=bad_action"))
    }
}
