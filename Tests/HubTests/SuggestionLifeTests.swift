import TelltaleModel
import TestSupport
import Testing

@testable import Hub

// Suggestions across restarts, refusals and kinds, and by other requests than SUB.
extension SuggestionTests {
    @Test("W42: the journal gives the same suggestions again, with and without a snapshot", arguments: [false, true])
    func replay(fromSnapshot: Bool) throws {
        stack(2)
        post("tip/main", [(0, nil), (60, 1), (120, nil)])
        post("walk/main", [(0, 1)])
        let before = try TestBoardDevice.car(harness).rows
        let hash = harness.hub.stateHash
        #expect(before.count == 4)
        try harness.restart(kinds: Self.kinds, fromSnapshot: fromSnapshot)
        #expect(try TestBoardDevice.car(harness).rows == before)
        // Keys of suggestions are no state.
        let other = try harness.recovered()
        #expect(harness.hub.stateHash == other.stateHash && hash != 0)
    }

    @Test("A keep that the disk refuses leaves the suggestion")
    func fullDisk() throws {
        stack(1)
        post("tip/main", [(0, 1), (600, 0)])
        let (car, tip) = (try TestBoardDevice.car(harness), try id("tip/main"))
        harness.isFull = true
        #expect(reply("TILE @car/\(tip) do=keep").contains("storage_full"))
        harness.isFull = false
        #expect(try car.read() == [])
        #expect(reply("TILE @car/\(tip) do=keep pos=1").hasPrefix("OK verdict=applied"))
        try car.read()
        #expect(car.rows[tip]?["position"] == 1 && car.rows["t0"]?["position"] == 2)
    }

    @Test("A suggestion is kept and nothing else; a tile of its id that was taken off does not come again at once")
    func arranged() throws {
        stack(1)
        post("tip/main", [(0, 1)])
        let tip = try id("tip/main")
        for action in ["show", "pin pos=1", "remove", "configure scale=80", "move pos=1"] {
            #expect(reply("TILE @car/\(tip) do=\(action)").contains("not_offered"), "\(action)")
        }
        #expect(reply("TILE @car/\(tip) do=add widget=tip").contains("bad_key"))
        #expect(reply("TILE @car/~0 do=stack").contains("bad_key"))
        #expect(reply("TILE @car/t9 do=add widget=tip stack=~0").contains("bad_key"))
        #expect(reply("TILE @car/~0 do=keep").contains("unknown_key"))
        let car = try TestBoardDevice.car(harness)
        #expect(reply("HISTORY @car/\(tip)").contains("unknown_key"))
        #expect(reply("TILE @car/\(tip) do=keep eid=k1").hasPrefix("OK verdict=applied"))
        #expect(reply("TILE @car/\(tip) do=keep eid=k1").hasPrefix("OK verdict=duplicate"))
        #expect(reply("TILE @car/\(tip) do=remove").hasPrefix("OK verdict=applied"))
        try car.read()
        #expect(car.rows.keys.sorted() == ["t0"] && car.deletions.last?.contains("why=removed") == true)
    }

    @Test("GET, LIST and OPEN give a suggestion; a view without a device has none")
    func reads() throws {
        stack(1)
        post("tip/main", [(0, 1), (600, 0)])
        let tip = try id("tip/main")
        #expect(reply("GET @car/\(tip) view=carplay").contains(#""suggested":true"#))
        #expect(harness.send("LIST @car/* view=carplay", from: phone).contains { $0.contains(tip) })
        #expect(reply("GET @car/\(tip) view=full").contains("not_offered"))
        let full = harness.send("SUB @car/* view=full", from: phone)
        #expect(!full.contains { $0.contains(tip) })
        harness.advance(by: .seconds(600))
        #expect(reply("GET @car/\(tip) view=carplay").contains("not_offered"))
        #expect(!harness.lines(of: phone).contains { $0.contains(tip) })
    }

    @Test("A LIST in several writes has the suggestions of each board once, and gives no keys")
    func longList() throws {
        var configuration = HubConfiguration()
        configuration.limits.keysPerCheck = 2
        let harness = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let phone = harness.connect(as: "alice")
        let (tip, second) = (try id("tip/main"), harness.time.milliseconds / 1_000)
        harness.send("HELLO caps=widgets", from: phone)
        for number in 0..<6 { harness.send("TILE @b\(number)/left do=stack suggest=yes", from: phone) }
        let entry = #"{"date":\#(second),"content-state":{"n":"1"},"relevance":{"score":1}}"#
        harness.send(#"EVT tip/main type=timeline {"entries":[\#(entry)]}"#, from: phone)
        let count = harness.hub.store.keyCount
        let lines = harness.send("LIST * view=carplay", from: phone)
        let rows = lines.filter { $0.hasPrefix("SNAP ") }
        let reported = rows.filter { $0.contains(#""suggested":true"#) }.compactMap {
            HubHarness.attribute("key", of: $0)
        }
        #expect(reported == (0..<6).map { "@b\($0)/\(tip)" })
        #expect(lines.last?.contains(" count=\(rows.count)") == true)
        #expect(harness.hub.store.keyCount == count)
    }

    @Test("Kinds that come, change or go bring and take suggestions")
    func kindChanges() throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee, WidgetTests.sales])
        let phone = harness.connect(as: "alice")
        harness.send("TILE @car/left do=stack smart=yes suggest=yes", from: phone)
        harness.send(#"TILE @car/t0 do=add widget=sales stack=left {"configuration":{"shop":"a"}}"#, from: phone)
        let car = try TestBoardDevice.car(harness)
        try harness.hub.adopt(try Self.kinds.map { try HubHarness.kind($0) })
        harness.turn()
        #expect(try car.read() == [])
        let second = harness.time.milliseconds / 1_000
        harness.send(
            #"EVT tip/main type=timeline {"entries":[{"date":\#(second),"content-state":{},"relevance":{"score":1}}]}"#,
            from: phone)
        let tip = try id("tip/main")
        #expect(try car.read() == ["t0", tip].sorted())
        try harness.hub.adopt(try [HubHarness.coffee, WidgetTests.sales].map { try HubHarness.kind($0) })
        harness.turn()
        #expect(try car.read().contains("-\(tip)"))
        #expect(car.rows["t0"]?["top"] == true)
    }

    @Test("W42: the deletion of a suggestion is no older than its row", arguments: ["remove", "stack suggest=no"])
    func deletionRev(action: String) throws {
        stack(1)
        post("tip/main", [(0, 1)])
        let (tip, car) = (try id("tip/main"), harness.connect(as: "alice"))
        func rev(_ lines: [String]) -> Int? {
            lines.first { $0.contains(" key=@car/\(tip) ") }.flatMap { HubHarness.attribute("rev", of: $0) }
                .flatMap { Int($0) }
        }
        let reported = try #require(rev(harness.send("SUB @car/* view=carplay", from: car)))
        #expect(reply("TILE @car/left do=\(action)").hasPrefix("OK verdict=applied"))
        #expect(try #require(rev(harness.lines(of: car).filter { $0.hasPrefix("DEL ") })) >= reported)
    }

    @Test("W42: a kept tile that was removed is suggested again once it is forgotten, and devices are told")
    func forgotten() throws {
        var configuration = HubConfiguration()
        configuration.decisions.retention = .seconds(60)
        let harness = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let phone = harness.connect(as: "alice")
        let (car, tip, second) = (
            try TestBoardDevice.car(harness), try id("tip/main"), harness.time.milliseconds / 1_000
        )
        for line in [
            "TILE @car/left do=stack smart=yes suggest=yes",
            #"EVT tip/main type=timeline {"entries":[{"date":\#(second),"content-state":{"n":"1"},"relevance":{"score":1}}]}"#,
            "TILE @car/\(tip) do=keep pos=1", "TILE @car/t0 do=add widget=sales/a stack=left",
            "TILE @car/\(tip) do=remove",
        ] { harness.send(line, from: phone) }
        try car.read()
        #expect(car.rows[tip] == nil)
        for _ in 0..<8 { harness.advance(by: .seconds(10)) }
        try car.read()
        #expect(car.rows[tip]?["suggested"] == true)
        #expect(car.rows["t0"]?["top"] == false)
    }

    @Test("W42: a device that resumes is told of a deletion that is no older than the row that it holds")
    func deletionRevAtResume() throws {
        stack(1)
        post("tip/main", [(0, 1)])
        let (tip, car) = (try id("tip/main"), harness.connect(as: "alice"))
        let row = try #require(harness.send("SUB @car/* view=carplay", from: car).first { $0.contains("@car/\(tip) ") })
        let cursor = try harness.cursor(of: "SUB @car/* view=carplay", from: harness.connect(as: "alice"))
        harness.disconnect(car)
        #expect(reply("TILE @car/left do=remove").hasPrefix("OK verdict=applied"))
        let lines = harness.send("SUB @car/* view=carplay from=\(cursor)", from: harness.connect(as: "alice"))
        let deletion = try #require(lines.first { $0.hasPrefix("DEL ") && $0.contains("key=@car/\(tip) ") })
        let revs = try [row, deletion].map { try #require(HubHarness.attribute("rev", of: $0).flatMap { Int($0) }) }
        #expect(revs[1] >= revs[0])
    }

    @Test("W42: StandBy gets the deletion of a suggestion that leaves the top for good")
    func standBy() throws {
        stack(1)
        post("sales/s0", [(0, nil), (120, 5)])
        post("tip/main", [(0, 1)])
        let tip = try id("tip/main")
        let clock = harness.connect(as: "alice")
        let rows = harness.send("SUB @car/* view=standby", from: clock)
        #expect(rows.contains { $0.contains("@car/\(tip)") }, "\(rows)")
        harness.advance(by: .seconds(119))
        #expect(!harness.lines(of: clock).contains { !$0.hasPrefix("MARK") })
        harness.advance(by: .seconds(1))
        let lines = harness.lines(of: clock)
        #expect(lines.contains { $0.hasPrefix("DEL sub=1 key=@car/\(tip)") && $0.contains("why=hidden") }, "\(lines)")
        // A car has the whole stack.
        #expect(try TestBoardDevice.car(harness).rows[tip] != nil)
    }

    @Test("A widget that is not for the account is not suggested")
    func audience() throws {
        let mine = """
            {"kind":"mine","type":"widget","version":1,"app":"com.example.coffee","title":"Mine","families":["systemSmall"],
             "source":{"one":"coffee-order/1"},"suggest":true,"relevance":[{"score":"content.n"}],
             "views":{"systemSmall":{"title":"{{content.n}}"}}}
            """
        let harness = try HubHarness(kinds: [HubHarness.coffee, mine])
        let anybody = harness.connect()
        harness.send("TILE @hall/left do=stack smart=yes suggest=yes", from: anybody)
        harness.send(#"EVT coffee-order/1 type=start for=alice {"content-state":{"n":1}}"#, from: anybody)
        #expect(try TestBoardDevice.car(harness, "alice", pattern: "@hall/*").suggested.count == 1)
        #expect(try TestBoardDevice.car(harness, "bob", pattern: "@hall/*").suggested.isEmpty)
    }

    @Test("A board that nobody looks at has no keys of suggestions, and a change of their widget does not look at it")
    func unfollowed() throws {
        stack(1)
        for number in 0..<20 { reply("TILE @b\(number)/left do=stack suggest=yes") }
        post("tip/main", [(0, 1)])
        #expect(harness.hub.subscriptions.presence.boardNumbers.isEmpty)
        let car = try TestBoardDevice.car(harness)
        #expect(harness.hub.subscriptions.presence.boardNumbers.count == 1)
        let count = harness.hub.store.keyCount
        harness.disconnect(car.client)
        post("tip/main", [(0, 2)])
        #expect(harness.hub.subscriptions.presence.boardNumbers.isEmpty && harness.hub.store.keyCount == count - 2)
    }

    @Test("SUB * of an account has the suggestions of its boards; without one those of boards that are everybody's")
    func everything() throws {
        stack(1)
        harness.send("TILE @hall/left do=stack suggest=yes", from: harness.connect())
        post("tip/main", [(0, 1)])
        let keys = try ["@car", "@hall"].map { "\($0)/\(try id("tip/main"))" }
        for (account, expected) in [("alice", keys), ("bob", [keys[1]]), ("", [keys[1]])] {
            let client = account.isEmpty ? harness.connect() : harness.connect(as: account)
            harness.send("HELLO caps=widgets", from: client)
            for request in ["SUB * view=carplay", "LIST * view=carplay"] {
                let lines = harness.send(request, from: client).filter { $0.contains(#""suggested":true"#) }
                let reported = lines.compactMap { HubHarness.attribute("key", of: $0) }
                #expect(reported.sorted() == expected, "\(account) \(request)")
            }
            // A stack does not turn to a tile that is not reported.
            for request in account == "bob" ? [] : ["SUB * view=carplay", "LIST * view=carplay"] {
                let row = harness.send(request, from: client).first { $0.contains(" key=@car/t0 ") } ?? "-"
                #expect(row.contains(#""top":\#(account.isEmpty)"#), "\(account) \(request): \(row)")
            }
        }
    }

    @Test(
        "A car without a connection shows at each minute of a day what the server suggests, while nothing else happens",
        arguments: Lane.some(0..<4, atEveryChange: 1))
    func everyMinute(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        stack(Int(seed))
        for widget in ["tip/main", "walk/main", "sales/s0"] {
            var (second, entries): (Int64, [(Int64, Double?)]) = (0, [])
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                entries.append((second, [nil, 0, 1, 2, 3].randomElement(using: &generator) ?? nil))
                second += 60 * Int64.random(in: 1...400, using: &generator)
            }
            post(widget, entries)
        }
        let car = try TestBoardDevice.car(harness, "alice", "ahead=64")
        let (tip, walk) = (try id("tip/main"), try id("walk/main"))
        for minute in 0..<1_440 {
            harness.time = start + .minutes(Int64(minute))
            harness.turn()
            var top: String?
            for name in ["t0", "t1", "t2", tip, walk] {
                let line = WidgetTests.reply(harness, "GET @car/\(name) view=carplay", phone).first
                let body = try ServerText(try #require(line)).body
                if body?["top"] == true { top = name }
                guard name == tip || name == walk else { continue }
                let drawn = body?["entries"]?.array?.first?["view"]?["title"]?.string
                #expect(drawn == car.drawn(name, at: harness.time), "minute \(minute): \(name)")
            }
            if top != nil { #expect(car.top(at: harness.time) == top, "minute \(minute)") }
        }
        // Nothing came but the ends of what was suggested.
        #expect(try car.read().allSatisfy { $0.hasPrefix("-") })
    }
}
