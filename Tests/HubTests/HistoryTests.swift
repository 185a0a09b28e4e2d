import Hub
import TelltaleModel
import Testing

/// `HISTORY`: complete, in order, in bounded memory, and limited to the account's own activities.
struct HistoryTests {
    @Test("A history is told from its first record on", arguments: [1, 255, 256, 257, 512, 600])
    func whole(count: Int) throws {
        let (harness, shop) = try HubHarness.startedOrder()
        for number in 1..<count {
            harness.send(#"EVT coffee-order/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
        }
        let lines = harness.send("HISTORY coffee-order/1 id=h", from: shop)
        #expect(lines.last == "OK id=h count=\(count)")
        let sequences = try lines.dropLast().map { try #require(HubHarness.tail($0)["seq"]?.integer) }
        #expect(sequences.count == count)
        #expect(sequences == sequences.sorted())
        #expect(lines.first?.contains("type=start") == true)
    }

    @Test func `one piece of one history is read for a session, and no more before it is taken`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        for _ in 1...10 { harness.post("HISTORY coffee-order/1", from: shop) }
        _ = harness.hub.decide(at: harness.now)
        harness.hub.committed(at: harness.now)
        harness.flush()
        let requests = harness.hub.takeHistoryRequests()
        #expect(requests.count == 1)
        // A piece that was read for a session that has gone is dropped.
        harness.hub.disconnected(shop.id)
        harness.hub.historyRead(.success([]), for: try #require(requests.first))
        #expect(harness.hub.takeHistoryRequests().isEmpty)
    }

    @Test func `no row overtakes a reply that waits behind a history`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let screen = harness.connect()
        harness.send("SUB coffee-order/1", from: screen)
        harness.post("HISTORY coffee-order/1 id=h\nGET coffee-order/1 id=g", from: screen)
        for line in ["", "EVT coffee-order/1 type=confirm"] {
            harness.post(line, from: shop)
            harness.commit()
            harness.flush()
        }
        // The journal is slow: nothing was read meanwhile.
        #expect(harness.lines(of: screen) == [])
        harness.turn()
        let lines = harness.lines(of: screen).map {
            $0.prefix { $0 != "{" }.split(separator: " ").prefix(2).joined(separator: " ")
        }
        #expect(lines == ["HIST key=coffee-order/1", "OK id=h", "OK id=g", "UPD sub=1"])
    }

    @Test func `rows leave while the journal looks for a history`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let screen = harness.connect()
        harness.send("SUB coffee-order/1", from: screen)
        harness.post("HISTORY coffee-order/1 id=h", from: screen)
        harness.post("EVT coffee-order/1 type=confirm", from: shop)
        harness.commit()
        harness.flush()
        #expect(harness.lines(of: screen).map { $0.prefix(4) } == ["UPD "])
        harness.turn()
        #expect(harness.lines(of: screen).last?.hasPrefix("OK id=h count=") == true)
    }

    @Test func `a source that has the name of the hub's own source is not taken for the hub`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        harness.send(
            #"EVT coffee-order/1 type=start src=pos {"seq":1,"state":"x","src":"me","eid":"e","ver":9,"note":2}"#,
            from: shop)
        let line = try #require(harness.send("HISTORY coffee-order/1", from: shop).first)
        let tail = try HubHarness.tail(line)
        #expect(tail["seq"]?.integer == Int64(harness.records.count))
        #expect(tail["src"] == "pos")
        #expect(tail["note"] == nil && tail["ignored"] == ["eid", "note", "seq", "src", "state", "ver"])
        #expect(tail["eid"] == nil && tail["ver"] == nil)
    }

    @Test func `a history does not contain other accounts' activities under the same key`() throws {
        let harness = try HubHarness()
        let (shop, alice) = (harness.connect(), harness.connect())
        harness.send("HELLO account=alice", from: alice)
        harness.send(#"EVT coffee-order/1 type=start for=bob {"attributes":{"item":"Secret"}}"#, from: shop)
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":0}"#, from: shop)
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        let lines = harness.send("HISTORY coffee-order/1", from: alice)
        #expect(lines.last == "OK count=2")
        #expect(!lines.contains { $0.contains("Secret") })
        #expect(harness.send("HISTORY coffee-order/1", from: shop).last == "OK count=4")
        // After a start from a snapshot as well.
        try harness.restart(kinds: [HubHarness.coffee], fromSnapshot: true)
        let again = harness.connect()
        harness.send("HELLO account=alice", from: again)
        #expect(harness.send("HISTORY coffee-order/1", from: again).last == "OK count=2")
    }

    @Test func `a key that was pruned begins a new history`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":0}"#, from: shop)
        harness.advance(by: .days(8))
        harness.send("EVT coffee-order/1 type=start", from: shop)
        #expect(harness.send("HISTORY coffee-order/1", from: shop).last == "OK count=1")
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test(
        "Records that are pruned while a history is sent leave no hole in it", arguments: 0...6,
        [1, 200, 300, 556, 600])
    func pruned(pieces: Int, count: Int64) throws {
        let (harness, shop) = try HubHarness.startedOrder()
        for number in 1..<600 {
            harness.send(#"EVT coffee-order/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
        }
        let newest = Int64(harness.records.count)
        harness.post("HISTORY coffee-order/1 id=h", from: shop)
        harness.commit()
        harness.flush()
        // Three pieces back, three forth.
        for _ in 0..<pieces { harness.readHistory() }
        harness.prunedThrough = newest - 600 + count
        harness.turn()
        let lines = harness.lines(of: shop)
        let reported = try lines.dropLast().map { try #require(HubHarness.tail($0)["seq"]?.integer) }
        let last = try #require(lines.last)
        if last.hasPrefix("OK id=h") {
            #expect(last == "OK id=h count=\(reported.count)")
            #expect(
                reported == reported.indices.map { newest - Int64(reported.count - 1 - $0) },
                "whole to its newest record")
        } else {
            #expect(last.hasPrefix("ERR id=h code=internal retry=later"))
            #expect(reported.last.map { $0 < newest } == true)
            #expect(reported == reported.indices.map { reported[0] + Int64($0) })
        }
    }
}
