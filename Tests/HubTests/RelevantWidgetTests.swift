import Machines
import TelltaleModel
import Testing

@testable import Hub

/// Widgets that come and go by themselves on a watch's board: W43, W44, and the vectors V62–V65 of Protocols/Widgets/rules.md.
struct RelevantWidgetTests: BoardSuite {
    static func kind(_ name: String, _ context: String) -> String {
        """
        {"kind":"\(name)","type":"widget","version":1,"app":"com.example.coffee","title":"Hint",
         "families":["systemSmall","accessoryRectangular"],"source":{"each":"coffee-order","where":"lifecycle != \\"ended\\""},
         "relevance":[\(context)],"url":"https://example.com/{{id}}",
         "views":{"accessoryRectangular":{"title":"{{id}} {{content.n}}"},"systemSmall":{"title":"{{id}}"}}}
        """
    }
    static let dates = kind("hint", #"{"date":{"from":"{{content.from}}","to":"{{content.to}}"}}"#)
    static let places = kind("near", #"{"place":"work"}"#)
    static let sales = WidgetTests.sales
    static let kinds = [HubHarness.coffee, dates, places, sales]

    let harness: HubHarness
    let phone: HubHarness.Client
    let start: Timestamp

    init() throws {
        harness = try HubHarness(kinds: Self.kinds)
        phone = harness.connect(as: "alice")
        start = harness.time
        #expect(reply(#"TILE @wrist/t0 do=add widget=sales/s0 family=accessoryRectangular"#).hasPrefix("OK"))
    }

    /// Begins an order that matters from one second to another.
    func begin(_ id: String, _ from: Int64, _ to: Int64, for accounts: String = "alice") {
        let second = start.milliseconds / 1_000
        let words = accounts.isEmpty ? "" : " for=\(accounts)"
        let content = #"{"from":\#(second + from),"to":\#(second + to),"n":1}"#
        let answer = reply(#"EVT coffee-order/\#(id) type=start\#(words) {"content-state":\#(content)}"#)
        #expect(answer.hasPrefix("OK verdict=applied"), "\(answer)")
    }

    static func id(_ widget: String) -> String { Key(widget).map { Board.relevantTileID(of: $0) } ?? widget }

    @Test(
        "W-V62: at each date a watch draws those that are relevant, before what is placed, without a connection"
    )
    func untilDates() throws {
        let watch = try TestBoardDevice.watch(harness)
        #expect(watch.drawn(at: start) == ["sales/s0"])
        begin("a", 0, 600)
        begin("b", 300, 900)
        try watch.read()
        #expect(watch.rows.count == 3 && watch.rows[Self.id("hint/a")]?["suggested"] == true)
        for (second, shown) in [
            (0, ["hint/a"]), (299, ["hint/a"]), (300, ["hint/a", "hint/b"]), (600, ["hint/b"]), (900, []),
        ] as [(Int64, [String])] {
            #expect(watch.drawn(at: start + .seconds(second)) == shown + ["sales/s0"], "\(second)")
        }
        // With a connection what is over goes.
        harness.advance(by: .seconds(600))
        #expect(try watch.read().contains("-" + Self.id("hint/a")))
        #expect(watch.deletions.allSatisfy { $0.contains("why=hidden") })
        harness.advance(by: .seconds(300))
        try watch.read()
        #expect(watch.rows.keys.sorted() == ["t0"] && watch.drawn(at: harness.time) == ["sales/s0"])
    }

    @Test("W-V63: a situation brings it to the watch that is in it, and its end takes it away")
    func situations() throws {
        reply("EVT coffee-order/a type=start for=alice {}")
        let (watch, other) = (try TestBoardDevice.watch(harness), try TestBoardDevice.watch(harness))
        #expect(watch.rows.count == 1)
        harness.send("TRAIT place=work", from: watch.client)
        let near = Self.id("near/a")
        let row = harness.send("GET @wrist/\(near) view=watch", from: watch.client).first ?? ""
        #expect(row.contains(#""order":1"#) && row.contains(#""widget":"near/a""#))
        let gone = harness.send("TRAIT place=none", from: watch.client)
        #expect(gone.contains { $0.hasPrefix("DEL sub=1 key=@wrist/\(near)") && $0.contains("why=hidden") })
        #expect(gone.contains { $0.hasPrefix("UPD sub=1 key=@wrist/t0") && $0.contains(#""order":1"#) })
        #expect(try other.read() == [])
    }

    @Test("W-V64: of 12 that matter and a pinned tile a watch shows 10, the pinned one second")
    func limit() throws {
        reply("TILE @wrist/t0 do=pin pos=2")
        let watch = try TestBoardDevice.watch(harness)
        for number in 0..<12 { begin("o\(number)", Int64(-60 + number), 600, for: "") }
        try watch.read()
        let drawn = watch.drawn(at: harness.time)
        #expect(drawn.count == 10 && drawn[1] == "sales/s0" && drawn[0] == "hint/o0" && drawn[9] == "hint/o8")
        // One that goes makes room.
        reply("EVT coffee-order/o0 type=end")
        try watch.read()
        #expect(watch.drawn(at: harness.time).last == "hint/o9" && watch.drawn(at: harness.time).count == 10)
    }

    @Test("It comes and goes with its activity; a change of it is a row of that commit")
    func members() throws {
        let watch = try TestBoardDevice.watch(harness)
        begin("a", 0, 600)
        let hint = Self.id("hint/a")
        #expect(try watch.read().contains(hint))
        let second = start.milliseconds / 1_000
        let update = reply(
            #"EVT coffee-order/a type=update {"content-state":{"from":\#(second),"to":\#(second + 600),"n":2}}"#)
        #expect(try watch.read() == [hint])
        #expect(watch.rows[hint]?["entries"]?.array?.first?["view"]?["title"] == "a 2")
        #expect(
            reply("GET @wrist/\(hint) view=watch").contains("rev=\(HubHarness.attribute("rev", of: update) ?? "-")"))
        let end = reply("EVT coffee-order/a type=end")
        #expect(try watch.read() == ["-\(hint)", "t0"])
        #expect(
            watch.deletions.last.flatMap { HubHarness.attribute("rev", of: $0) }
                == HubHarness.attribute("rev", of: end))
    }

    @Test("W43, W-V65: it is neither kept nor arranged nor placed, and other places and views have none")
    func notArranged() throws {
        begin("a", 0, 600)
        let hint = Self.id("hint/a")
        for action in ["keep", "show", "pin pos=1", "remove", "configure scale=80", "move pos=1", "unpin"] {
            #expect(reply("TILE @wrist/\(hint) do=\(action)").contains("not_offered"), "\(action)")
        }
        #expect(reply("TILE @wrist/x do=add widget=hint/a").contains("not_offered"))
        #expect(reply("TILE @wrist/\(hint) do=add widget=sales").contains("bad_key"))
        #expect(reply("TILE @wrist/~0 do=keep").contains("unknown_key"))
        #expect(reply("GET @wrist/\(hint) view=watch").hasPrefix("OK key=@wrist/\(hint)"))
        #expect(reply("GET @wrist/\(hint) view=phone").contains("not_offered"))
        #expect(reply("GET @wrist/\(hint) view=full").contains("not_offered"))
        #expect(reply("HISTORY @wrist/\(hint)").contains("unknown_key"))
        #expect(harness.send("LIST @wrist/* view=watch", from: phone).contains { $0.contains(hint) })
        _ = try TestBoardDevice.watch(harness)
        for request in ["SUB @wrist/* view=full", "SUB @wrist/* view=phone", "LIST @wrist/* view=phone"] {
            #expect(!harness.send(request, from: harness.connect(as: "alice")).contains { $0.contains(hint) })
        }
        let all = harness.connect(as: "alice")
        harness.send("HELLO caps=widgets account=alice", from: all)
        for request in ["SUB * view=watch", "LIST * view=watch"] {
            let lines = harness.send(request, from: all)
            #expect(lines.contains { $0.contains("key=hint/a ") } && !lines.contains { $0.contains(hint) })
        }
    }

    @Test("W25: a board has its account's and everybody's; one that is everybody's has no account's")
    func audience() throws {
        harness.send("TILE @hall/t0 do=add widget=sales/s0 family=accessoryRectangular", from: harness.connect())
        let watches = try [
            TestBoardDevice.watch(harness), TestBoardDevice.watch(harness, pattern: "@hall/*"),
            TestBoardDevice.watch(harness, as: "bob", pattern: "@hall/*"),
        ]
        begin("mine", 0, 600)
        begin("his", 0, 600, for: "bob")
        begin("ours", 0, 600, for: "")
        func shown() throws -> [[String]] {
            try watches.map { watch in
                try watch.read()
                return watch.drawn(at: harness.time).filter { $0.hasPrefix("hint") }.sorted()
            }
        }
        #expect(try shown() == [["hint/mine", "hint/ours"], ["hint/ours"], ["hint/ours"]])
        // To a person who took it off it is gone.
        reply("DISMISS coffee-order/ours")
        #expect(try shown() == [["hint/mine"], [], ["hint/ours"]])
        #expect(watches[0].rows.keys.sorted() == [Self.id("hint/mine"), "t0"].sorted())
    }

    @Test("A watch that was away is told what came and what has gone", arguments: [false, true])
    func resume(restarts: Bool) throws {
        begin("a", 0, 600)
        begin("b", 0, 600)
        let first = try TestBoardDevice.watch(harness)
        let cursor = try #require(first.cursor)
        harness.disconnect(first.client)
        reply("EVT coffee-order/a type=end")
        begin("c", 0, 600)
        if restarts { try harness.restart(kinds: Self.kinds) }
        let watch = try TestBoardDevice.watch(harness, "from=\(cursor)")
        #expect(watch.deletions.count { $0.contains(Self.id("hint/a")) && $0.contains("why=hidden") } == 1)
        #expect(watch.rows[Self.id("hint/c")] != nil && watch.rows[Self.id("hint/c")]?["order"] == 2)
        // Whoever may not see the board is sent nothing.
        let stranger = harness.connect(as: "bob")
        let lines = harness.send("SUB @wrist/* view=watch from=\(cursor)", from: stranger)
        #expect(!lines.contains { $0.contains("~") })
    }

    @Test(
        "The journal gives the same again, with and without a snapshot; keys of what comes by itself are no state",
        arguments: [false, true])
    func replay(fromSnapshot: Bool) throws {
        begin("a", 0, 600)
        begin("b", 60, 600)
        let before = try TestBoardDevice.watch(harness).rows
        #expect(before.count == 3)
        try harness.restart(kinds: Self.kinds, fromSnapshot: fromSnapshot)
        #expect(try TestBoardDevice.watch(harness).rows == before)
        let other = try harness.recovered()
        #expect(harness.hub.stateHash == other.stateHash)
    }

    @Test("A batch that the disk refuses brings nothing and takes nothing")
    func fullDisk() throws {
        begin("a", 0, 600)
        let watch = try TestBoardDevice.watch(harness)
        harness.isFull = true
        #expect(reply("EVT coffee-order/a type=end").contains("storage_full"))
        #expect(reply("EVT coffee-order/b type=start for=alice {}").contains("storage_full"))
        harness.isFull = false
        #expect(try watch.read() == [])
        #expect(harness.hub.store.relevantWidgetCount(for: "alice") == 2)
        #expect(try TestBoardDevice.watch(harness).rows == watch.rows)
    }

    @Test("A board that no watch looks at has no keys of them, and their change does not look at it")
    func unfollowed() throws {
        begin("a", 0, 600)
        for number in 0..<20 { reply("TILE @b\(number)/t0 do=add widget=sales/s0 family=accessoryRectangular") }
        let watch = try TestBoardDevice.watch(harness)
        #expect(harness.hub.subscriptions.presence.boardNumbers.count == 1)
        let count = harness.hub.store.keyCount
        harness.disconnect(watch.client)
        reply(#"EVT coffee-order/a type=end"#)
        #expect(harness.hub.subscriptions.presence.isEmpty && harness.hub.store.keyCount == count - 2)
        // Requests give no keys.
        begin("b", 0, 600)
        let former = harness.hub.store.keyCount
        for number in 0..<20 {
            #expect(harness.send("LIST @b\(number)/* view=watch", from: harness.connect(as: "alice")).count == 3)
            #expect(reply("GET @b\(number)/\(Self.id("hint/b")) view=watch").hasPrefix("OK key=@b\(number)/~"))
        }
        #expect(harness.hub.subscriptions.presence.isEmpty && harness.hub.store.keyCount == former)
    }

    @Test("Of many that are everybody's a board looks at the newest; the others come as these go")
    func many() throws {
        for number in 0..<100 {
            begin("o\(number)", 0, 600, for: "")
            harness.advance(by: .seconds(1))
        }
        let watch = try TestBoardDevice.watch(harness)
        let number = harness.hub.store.boardNumbers[0]
        #expect(harness.hub.subscriptions.presence.members(onBoard: number).count == RelevantWidgets.limit)
        // Each order has two of them, and one of these needs another situation.
        #expect(watch.drawn(at: harness.time) == (68..<78).map { "hint/o\($0)" })
        for number in (10..<100).reversed() { reply("EVT coffee-order/o\(number) type=end") }
        try watch.read()
        #expect(watch.drawn(at: harness.time) == (0..<10).map { "hint/o\($0)" })
        #expect(try TestBoardDevice.watch(harness).drawn(at: harness.time) == watch.drawn(at: harness.time))
    }

    @Test("The first tile of a board, and a kind that comes, bring them to a watch that follows already")
    func later() throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee, Self.sales])
        let phone = harness.connect(as: "alice")
        let watch = try TestBoardDevice.watch(harness)
        harness.send("EVT coffee-order/a type=start for=alice {}", from: phone)
        harness.send("TILE @wrist/t0 do=add widget=sales/s0 family=accessoryRectangular", from: phone)
        try harness.hub.adopt(try Self.kinds.map { try HubHarness.kind($0) })
        harness.turn()
        try watch.read()
        let second = harness.time.milliseconds / 1_000
        harness.send(
            #"EVT coffee-order/b type=start for=alice {"content-state":{"from":\#(second),"to":\#(second + 60)}}"#,
            from: phone)
        #expect(try watch.read().contains(Self.id("hint/b")))
        harness.send("TILE @wrist/t0 do=remove", from: phone)
        try watch.read()
        #expect(watch.rows.isEmpty)
        harness.send("TILE @wrist/t1 do=add widget=sales/s1 family=accessoryRectangular", from: phone)
        try watch.read()
        #expect(watch.rows.keys.sorted() == [Self.id("hint/b"), "t1"].sorted())
    }
}
