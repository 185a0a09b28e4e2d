import Hub
import Journal
import Server
import TelltaleModel
import Testing

struct HubTests {
    @Test func `timers that are always due keep nobody from being heard, and come before what is said of their key`()
        throws
    {
        let circle = """
            {"kind":"blinker","type":"activity","version":1,"app":"com.example.car","title":"Blinker",
             "machine":{"initial":"on","states":{"on":{"after":{"1ms":"off"}},"off":{"after":{"1ms":"on"},"on":{"stop":"done"}},
               "done":{"type":"final"}}},
             "views":{"compact":{"leading":{"symbol":"car"},"trailing":{"text":"{{state.title}}"}},"minimal":{"symbol":"car"},
               "lockScreen":{"title":"{{state.title}}"},"expanded":{"center":{"title":"{{state.title}}"}}}}
            """
        let house = try HubHarness(kinds: [circle, HubHarness.coffee])
        let client = house.connect()
        for number in 0..<8 { house.send("EVT blinker/\(number) type=start", from: client) }
        house.send("EVT coffee-order/1 type=start", from: client)
        house.time = house.time + .minutes(6)
        house.post("PING", from: client)
        house.post("EVT coffee-order/1 type=confirm", from: client)
        house.commit()
        house.flush()
        let answers = house.lines(of: client)
        #expect(answers.first == "PONG")
        // Nobody confirmed it in five minutes, whatever else was due before that.
        let answer = try #require(answers.last)
        #expect(answer.hasPrefix("OK verdict=ignored ") && answer.hasSuffix(" state=unattended"), "\(answers)")
    }

    @Test func `an order goes from its event to every row`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        #expect(house.send("HELLO id=h client=pos", from: shop).first?.hasPrefix("OK id=h conn=c1 hb=20000") == true)
        let subscribed = house.send("SUB coffee-order/* view=carplay id=s", from: screen)
        #expect(subscribed.count == 2)
        #expect(subscribed.first == "OK id=s sub=1 view=carplay")
        #expect(subscribed.last?.hasPrefix("LIVE sub=1 cur=6f3a91c2d0e4b577:") == true)

        let started = house.send(
            #"EVT coffee-order/1 type=start eid=e1 {"attributes":{"item":"Flat white"}}"#, from: shop)
        #expect(started.first?.hasPrefix("OK verdict=applied rev=") == true)
        #expect(started.first?.hasSuffix(" state=placed") == true)
        let row = try #require(house.lines(of: screen).first)
        #expect(row.hasPrefix("UPD sub=1 key=coffee-order/1 rev="))
        #expect(row.contains(#""presentation":"small""#))
    }

    @Test func `the same event id takes effect once, and another event with it is refused`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        let first = house.send("EVT coffee-order/1 type=start src=pos eid=e1", from: shop)
        let rev = try #require(first.first?.split(separator: " ").first { $0.hasPrefix("rev=") })
        #expect(
            house.send("EVT coffee-order/1 type=start src=pos eid=e1", from: shop).first?.contains(
                "verdict=duplicate \(rev) state=placed") == true)
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=pos eid=e1", from: shop).first?.contains(
                "code=dup_mismatch") == true)
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=till eid=e1", from: shop).first?.contains("verdict=applied")
                == true)
    }

    @Test func `a blocked reader gets the newest state with the number that was folded`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.send("SUB *", from: screen)
        house.hub.becameBlocked(screen.id, at: house.now)
        for event in ["confirm", "brew", "ready"] { house.send("EVT coffee-order/1 type=\(event)", from: shop) }
        #expect(house.lines(of: screen).isEmpty)
        house.hub.becameWritable(screen.id)
        house.turn()
        let lines = house.lines(of: screen)
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("MILE sub=1 key=coffee-order/1") == true)
        #expect(lines.first?.contains("state=ready") == true)
        #expect(lines.last?.contains("skip=2 why=slow") == true)
        #expect(lines.last?.contains(#""state":"ready""#) == true)
    }

    @Test func `a resume between folded rows brings what did not leave`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/a type=start", from: shop)
        house.send("EVT coffee-order/b type=start", from: shop)
        house.send("SUB *", from: screen)
        house.hub.becameBlocked(screen.id, at: house.now)
        house.send("EVT coffee-order/a type=confirm", from: shop)
        house.send("EVT coffee-order/b type=confirm", from: shop)
        house.send("EVT coffee-order/a type=brew", from: shop)
        house.hub.becameWritable(screen.id)
        house.turn()
        // A leaves first and tells a cursor; the link breaks before B's row arrives.
        let first = try #require(house.lines(of: screen).first)
        #expect(first.contains("key=coffee-order/a"))
        let cursor = try #require(first.split(separator: " ").first { $0.hasPrefix("cur=") }?.dropFirst(4))
        house.disconnect(screen)
        let again = house.connect()
        let resumed = house.send("SUB * from=\(cursor)", from: again)
        #expect(resumed.contains { $0.hasPrefix("UPD sub=1 key=coffee-order/b") && $0.contains("why=resume") })
        #expect(resumed.last?.hasPrefix("LIVE sub=1") == true)
    }

    @Test("A resume brings what it follows and changed, and nothing else", arguments: ["full", "watch"])
    func resume(view: String) throws {
        let house = try HubHarness()
        let shop = house.connect()
        let patterns = ["coffee-order/a", "coffee-order/b", "coffee-order/c", "coffee-order/*", "*"]
        for key in ["a", "b", "c"] { house.send("EVT coffee-order/\(key) type=start", from: shop) }
        let screen = house.connect()
        let cursors = try patterns.map { pattern in
            let live = try #require(house.send("SUB \(pattern) view=\(view)", from: screen).last)
            return try #require(live.split(separator: " ").first { $0.hasPrefix("cur=") }?.dropFirst(4))
        }
        house.disconnect(screen)
        house.send("EVT coffee-order/a type=confirm", from: shop)
        house.send(#"EVT coffee-order/b type=end {"dismissal-date":1}"#, from: shop)
        for (pattern, cursor) in zip(patterns, cursors) {
            let lines = house.send("SUB \(pattern) view=\(view) from=\(cursor)", from: house.connect()).dropFirst()
            let rows = lines.dropLast().map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
            let expected: [String] =
                switch pattern {
                case "coffee-order/a": ["UPD sub=1 key=coffee-order/a"]
                case "coffee-order/b": ["DEL sub=1 key=coffee-order/b"]
                case "coffee-order/c": []
                default: ["UPD sub=1 key=coffee-order/a", "DEL sub=1 key=coffee-order/b"]
                }
            #expect(rows == expected, "\(pattern)")
            #expect(lines.last?.hasPrefix("LIVE sub=1") == true)
        }
    }

    @Test(
        "A cursor that is no good is told why, and a snapshot follows",
        arguments: [
            ("0000000000000000:1:%s", "epoch"), ("6f3a91c2d0e4b577:1:ffff", "selection"),
            ("6f3a91c2d0e4b577:999999:%s", "future"),
        ])
    func reset(cursor: String, why: String) throws {
        let house = try HubHarness()
        let screen = house.connect()
        let live = try #require(house.send("SUB *", from: screen).last)
        let selection = try #require(live.split(separator: ":").last)
        let from = cursor.split(separator: ":").map { $0 == "%s" ? selection : $0 }.joined(separator: ":")
        let lines = house.send("SUB * from=\(from)", from: screen)
        #expect(lines.contains("RESET sub=2 why=\(why)"))
        #expect(lines.last?.hasPrefix("LIVE sub=2") == true)
    }

    @Test func `a full disk refuses writers, serves readers, and is over when space returns`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start src=pos eid=e1", from: shop)
        house.send("SUB *", from: screen)
        house.isFull = true
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=pos eid=e2", from: shop).first?.contains(
                "code=storage_full") == true)
        #expect(
            house.send("EVT coffee-order/2 type=start src=pos eid=e3", from: shop).first?.contains("code=storage_full")
                == true)
        #expect(house.send("GET coffee-order/1", from: screen).first?.contains(#""state":"placed""#) == true)
        #expect(house.send("GET coffee-order/2", from: screen).first?.contains("code=unknown_key") == true)
        house.isFull = false
        house.time = house.time + .seconds(2)
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=pos eid=e2", from: shop).first?.contains("verdict=applied")
                == true)
        #expect(house.lines(of: screen).count == 1)
        #expect(house.records.map(\.sequence) == Array(1...Int64(house.records.count)))
    }

    @Test func `replaying the journal gives the same state, and a changed past is refused`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        for event in ["start", "confirm", "brew", "ready"] {
            house.send("EVT coffee-order/1 type=\(event)", from: shop)
        }
        house.advance(by: .hours(9))
        house.send("EVT coffee-order/2 type=start eid=x", from: shop)
        var copy = try house.recovered()
        #expect(copy.entityCount == house.hub.entityCount)
        #expect(copy.lastRecordSequence == house.hub.lastRecordSequence)
        var broken = house.records
        broken.remove(at: 3)
        copy = Hub(configuration: HubConfiguration(), epoch: 1)
        #expect(throws: RecoveryError.self) { for record in broken { try copy.replay(record) } }
    }

    @Test func `a snapshot holds everything that the records before it did`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        for event in ["start", "confirm"] {
            house.send("EVT coffee-order/1 type=\(event) src=p eid=\(event)", from: shop)
        }
        house.send("EVT coffee-order/2 type=start for=alice", from: shop)
        let records = house.records.count
        var loaded = Hub(configuration: HubConfiguration(), epoch: house.hub.epoch)
        house.hub.snapshot().forEachChunk { chunk in try? loaded.load(chunk) }
        loaded.finishLoading()
        house.send("EVT coffee-order/1 type=brew src=p eid=brew", from: shop)
        house.advance(by: .hours(9))
        // The records behind the snapshot give the same states, hash by hash.
        for record in house.records[records...] { try loaded.replay(record) }
        #expect(loaded.lastRecordSequence == house.hub.lastRecordSequence)
        house.hub = loaded
        let again = house.connect()
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=p eid=confirm", from: again).first?.contains(
                "verdict=duplicate") == true)
    }

    @Test func `an event id is known for seven days and not for ever`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        func post(_ eid: String) -> String? {
            house.send("EVT coffee-order/1 type=start src=p eid=\(eid)", from: shop).last
        }
        #expect(post("a")?.contains("verdict=applied") == true)
        house.advance(by: .days(7))
        #expect(post("b")?.hasPrefix("OK verdict=") == true)
        #expect(post("a")?.contains("verdict=duplicate rev=3") == true)
        house.advance(by: .seconds(1))
        #expect(post("c")?.hasPrefix("OK verdict=") == true)
        #expect(post("a")?.contains("verdict=duplicate") == false)
        #expect(post("b")?.contains("verdict=duplicate") == true)
    }

    @Test func `the same journal gives the same state, from its beginning, from a snapshot, and twice`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        // Keys that go and come again take the places of others, which must not show.
        for number in 1...20 {
            house.send("EVT coffee-order/\(number) type=start src=p eid=\(number)", from: shop)
            if number % 3 == 0 { house.send("EVT coffee-order/\(number) type=end {\"dismissal-date\":1}", from: shop) }
        }
        house.advance(by: .days(8))
        let records = house.records.count
        var loaded = Hub(configuration: HubConfiguration(), epoch: 7)
        house.hub.snapshot().forEachChunk { chunk in try? loaded.load(chunk) }
        loaded.finishLoading()
        #expect(loaded.stateHash == house.hub.stateHash)
        for number in 21...30 { house.send("EVT coffee-order/\(number) type=start src=p eid=\(number)", from: shop) }
        for record in house.records[records...] { try loaded.replay(record) }
        #expect(loaded.stateHash == house.hub.stateHash)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
        // Pruning is asked for again: the process may have died before the journal heard of it.
        var copy = try house.recovered()
        #expect(copy.takePrunedChains().count == 6)
        house.send("EVT coffee-order/30 type=confirm", from: shop)
        #expect(try house.recovered().stateHash != loaded.stateHash)
    }

    @Test func `deadlines that passed while the process was down fire in order, at their own times`() throws {
        let house = try HubHarness()
        var shop = house.connect()
        house.send("EVT coffee-order/late type=start", from: shop)
        house.time = house.time + .seconds(30)
        house.send("EVT coffee-order/later type=start", from: shop)
        let start = house.time.milliseconds
        let count = house.records.count
        house.time = house.time + .hours(10)
        try house.restart(kinds: [HubHarness.coffee])
        let heard = house.time.milliseconds
        shop = house.connect()
        var all: [(at: Int64, key: String)] = []
        for (key, began) in [("coffee-order/late", start - 30_000), ("coffee-order/later", start)] {
            let lines = house.send("HISTORY \(key)", from: shop).filter { $0.contains(" type=deadline ") }
            let minutes = [4, 5, 8 * 60, 8 * 60 + 15].map { began + Int64($0) * 60_000 }
            for (line, time) in zip(lines, minutes) {
                #expect(line.contains(" at=\(time) heard=\(heard) "), "\(line)")
                all.append((time, key))
            }
            #expect(lines.count == minutes.count)
        }
        let fired = house.records[count...].map(\.entity).filter { !$0.isEmpty }
        #expect(fired == all.sorted { $0.at < $1.at }.map(\.key))
    }

    @Test func `a person dismisses a card on all of their devices, and others keep it`() throws {
        let house = try HubHarness()
        let (shop, phone, watch, other) = (house.connect(), house.connect(), house.connect(), house.connect())
        house.send("HELLO account=alice surface=phone", from: phone)
        house.send("HELLO account=alice surface=watch", from: watch)
        house.send("HELLO account=bob surface=watch", from: other)
        for client in [phone, watch, other] { house.send("SUB *", from: client) }
        house.send("EVT coffee-order/1 type=start for=alice,bob", from: shop)
        for client in [phone, watch, other] { #expect(house.lines(of: client).count == 1) }
        #expect(house.send("DISMISS coffee-order/1", from: phone).contains { $0.hasPrefix("OK") })
        #expect(house.lines(of: watch).last?.contains("why=dismissed") == true)
        #expect(house.lines(of: other).allSatisfy { !$0.hasPrefix("DEL") })
        #expect(house.send("DISMISS coffee-order/1", from: shop).first?.contains("code=forbidden") == true)
    }

    @Test func `activities go stale, end and leave by themselves`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        house.send("EVT coffee-order/1 type=start", from: shop)
        _ = house.lines(of: screen)
        house.advance(by: .minutes(4))
        #expect(house.lines(of: screen).last?.contains(#""lifecycle":"stale""#) == true)
        house.advance(by: .minutes(1))
        #expect(house.lines(of: screen).last?.contains(#""state":"unattended""#) == true)
        house.advance(by: .hours(8))
        #expect(house.lines(of: screen).last?.contains(#""lifecycle":"ended""#) == true)
        house.advance(by: .minutes(15))
        #expect(house.lines(of: screen).last?.hasPrefix("DEL sub=1 key=coffee-order/1") == true)
        #expect(house.send("GET coffee-order/1", from: screen).first?.contains(#""lifecycle":"dismissed""#) == true)
        house.advance(by: .days(8))
        #expect(house.send("GET coffee-order/1", from: screen).contains { $0.contains("code=unknown_key") })
    }

    @Test func `a milestone that a timer reaches is told at the timer's time`() throws {
        let kind = HubHarness.coffee.replacing(#""unattended":{"#, with: #""unattended":{"milestone":true,"#)
        let house = try HubHarness(kinds: [kind])
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        house.send("EVT coffee-order/1 type=start", from: shop)
        let due = house.time.milliseconds + 5 * 60_000
        house.advance(by: .minutes(7))
        let told = house.lines(of: screen).first { $0.hasPrefix("MILE ") }
        #expect(told?.hasSuffix(" state=unattended at=\(due)") == true)
    }

    @Test func `history tells every event with its verdict`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        house.send("EVT coffee-order/1 type=start at=\(house.time.milliseconds - 5_000)", from: shop)
        house.send("EVT coffee-order/1 type=collect", from: shop)
        let lines = house.send("HISTORY coffee-order/1 id=h", from: shop)
        #expect(lines.count == 3)
        #expect(lines.first?.contains("type=start verdict=applied") == true)
        #expect(lines.first?.contains("at=\(house.time.milliseconds - 5_000)") == true)
        #expect(lines[1].contains("type=collect verdict=ignored"))
        #expect(lines.last == "OK id=h count=2")
    }

    @Test func `a batch in parts is the batch`() throws {
        func post(to house: HubHarness) {
            let shop = house.connect()
            for number in 1...7 {
                house.post("EVT coffee-order/\(number % 3) type=\(number < 4 ? "start" : "ready")", from: shop)
            }
        }
        let (whole, parted) = (try HubHarness(), try HubHarness())
        post(to: whole)
        post(to: parted)
        let records = whole.hub.decide(at: whole.now)
        var parts: [[JournalRecord]] = []
        repeat { parts.append(parted.hub.decide(at: parted.now, limit: 3)) } while parted.hub.isDeciding
        #expect(parts.map(\.count) == [3, 3, 1])
        #expect(parts.flatMap(\.self) == records)

        // It is taken back as a whole.
        parted.hub.refused(at: parted.now)
        #expect(parted.hub.entityCount == 0)
        #expect(parted.hub.lastRecordSequence == parted.hub.durableSequence)
        whole.hub.committed(at: whole.now)
        #expect(whole.hub.durableSequence == records.last?.sequence)
    }

    @Test(
        "a part is a quarter of what is left of its batch",
        arguments: [
            (0, Int.max, [0]), (20, .max, [20]), (100, .max, [32, 32, 32, 4]), (400, 40, [32, 8]),
            (400, .max, [100, 75, 56, 42, 32, 32, 32, 31]),
            (2_000, 1_200, [256, 236, 177, 132, 99, 75, 56, 42, 32, 32, 32, 31]),
        ])
    func partLength(waiting: Int, batchLimit: Int, lengths: [Int]) throws {
        let house = try HubHarness()
        // A connection may have a thousand in flight.
        for start in stride(from: 0, to: waiting, by: 1_000) {
            let shop = house.connect()
            for _ in start..<min(start + 1_000, waiting) { house.post("EVT coffee-order/1 type=start", from: shop) }
        }
        var parts: [Int] = []
        repeat {
            let limit = BatchLimiter.partLength(
                waiting: house.hub.waitingCount, room: house.hub.batchRoom ?? batchLimit)
            parts.append(house.hub.decide(at: house.now, limit: limit, batchLimit: batchLimit).count)
        } while house.hub.isDeciding
        #expect(parts == lengths)
    }

    @Test func `what a batch has no room for is decided with the next one, in order`() throws {
        let house = try HubHarness()
        let (shop, other) = (house.connect(), house.connect())
        for (number, sender) in [shop, other, shop, shop, other].enumerated() {
            house.post("EVT coffee-order/\(number) type=start id=\(number)", from: sender)
        }
        var orders: [[String]] = []
        while house.hub.hasWork(at: house.now) {
            var batch: [String] = []
            repeat {
                batch += house.hub.decide(at: house.now, limit: 1, batchLimit: 2).map(\.entity)
            } while house.hub.isDeciding
            orders.append(batch)
            #expect(house.hub.waitingCount == [3, 1, 0][orders.count - 1])
            house.hub.committed(at: house.now)
        }
        #expect(
            orders == [
                ["coffee-order/0", "coffee-order/1"], ["coffee-order/2", "coffee-order/3"], ["coffee-order/4"],
            ])
    }

    @Test func `what is held back takes up no room in a batch`() throws {
        let house = try HubHarness()
        let (screen, shop) = (house.connect(), house.connect())
        // An account may not change before the requests of the old one are answered.
        for line in ["SUB *", "HELLO account=ann", "PING id=2"] { house.post(line, from: screen) }
        for number in 1...2 { house.post("EVT coffee-order/\(number) type=start", from: shop) }
        #expect(house.hub.decide(at: house.now, batchLimit: 3).count == 2)
        #expect(house.hub.batchRequestCount == 3)
        #expect(house.hub.isDeciding == false)
        house.hub.committed(at: house.now)
        #expect(house.hub.waitingCount == 2)
    }

    @Test func `what makes no record takes up room in a batch too`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        for number in 1...3 { house.post("PING id=\(number)", from: shop) }
        #expect(house.hub.decide(at: house.now, batchLimit: 2).isEmpty)
        #expect(house.hub.waitingCount == 1)
        house.hub.committed(at: house.now)
    }

    @Test func `nothing is rendered while a batch is on its way to the disk`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        house.post("EVT coffee-order/1 type=start", from: shop)
        let records = house.hub.decide(at: house.now)
        #expect(records.count == 1)
        #expect(house.hub.nextReady() == nil)
        house.hub.committed(at: house.now)
        house.flush()
        #expect(house.lines(of: shop).count == 1)
        #expect(house.lines(of: screen).count == 1)
    }
}
