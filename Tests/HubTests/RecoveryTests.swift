import Journal
import TelltaleModel
import Testing

@testable import Hub

/// A hub that reads its journal again has the state of the one that wrote it.
struct RecoveryTests {
    @Test func `replaying the journal gives the same state, and a changed past is refused`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        for event in ["start", "confirm", "brew", "ready"] {
            harness.send("EVT coffee-order/1 type=\(event)", from: shop)
        }
        harness.advance(by: .hours(9))
        harness.send("EVT coffee-order/2 type=start eid=x", from: shop)
        var copy = try harness.recovered()
        #expect(copy.entityCount == harness.hub.entityCount)
        #expect(copy.lastRecordSequence == harness.hub.lastRecordSequence)
        var broken = harness.records
        broken.remove(at: 3)
        copy = Hub(configuration: HubConfiguration(), epoch: 1)
        #expect(throws: RecoveryError.self) { for record in broken { try copy.replay(record) } }
    }

    @Test func `a replay goes by the clocks of its records, however far those of this node were ahead`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        harness.send("EVT coffee-order/1 type=start", from: shop)
        var copy = try harness.recovered()
        let count = harness.records.count
        harness.send("EVT coffee-order/1 type=confirm eid=2", from: shop)
        // A batch of reads, by a clock that is ahead of the leader's.
        var ahead = harness.now
        (ahead.time, ahead.wall) = (ahead.time + .seconds(30), ahead.wall + .seconds(30))
        let decided = copy.decide(at: ahead)
        copy.committed(at: ahead)
        holds(decided.isEmpty && copy.lastRecordTime == ahead.time)
        for record in harness.records[count...] { try copy.replay(record) }
        holds(copy.stateHash == harness.hub.stateHash && copy.lastRecordTime == harness.now.time)
        holds(copy.lastRecordWall == harness.now.wall)
    }

    @Test func `a batch that is refused takes the clocks back to the newest record`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        harness.send("EVT coffee-order/1 type=start", from: shop)
        let time = harness.time
        harness.isFull = true
        harness.time = time + .seconds(30)
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(harness.hub.lastRecordTime == time && harness.hub.lastRecordWall == time)
    }

    @Test func `a snapshot holds everything that the records before it did`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        for event in ["start", "confirm"] {
            harness.send("EVT coffee-order/1 type=\(event) src=p eid=\(event)", from: shop)
        }
        harness.send("EVT coffee-order/2 type=start for=alice", from: shop)
        let records = harness.records.count
        var loaded = Hub(configuration: HubConfiguration(), epoch: harness.hub.epoch)
        harness.hub.snapshot().forEachChunk { chunk in try? loaded.load(chunk) }
        loaded.finishLoading()
        harness.send("EVT coffee-order/1 type=brew src=p eid=brew", from: shop)
        harness.advance(by: .hours(9))
        // The records after the snapshot give the same states, hash by hash.
        for record in harness.records[records...] { try loaded.replay(record) }
        #expect(loaded.lastRecordSequence == harness.hub.lastRecordSequence)
        harness.hub = loaded
        let again = harness.connect()
        #expect(
            harness.send("EVT coffee-order/1 type=confirm src=p eid=confirm", from: again).first?.contains(
                "verdict=duplicate") == true)
    }

    @Test func `the same journal gives the same state, from its beginning, from a snapshot, and twice`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        // Keys that go and come again take the places of others, which must not show.
        for number in 1...20 {
            harness.send("EVT coffee-order/\(number) type=start src=p eid=\(number)", from: shop)
            if number % 3 == 0 {
                harness.send("EVT coffee-order/\(number) type=end {\"dismissal-date\":1}", from: shop)
            }
        }
        harness.advance(by: .days(8))
        let records = harness.records.count
        var loaded = Hub(configuration: HubConfiguration(), epoch: 7)
        harness.hub.snapshot().forEachChunk { chunk in try? loaded.load(chunk) }
        loaded.finishLoading()
        #expect(loaded.stateHash == harness.hub.stateHash)
        for number in 21...30 { harness.send("EVT coffee-order/\(number) type=start src=p eid=\(number)", from: shop) }
        for record in harness.records[records...] { try loaded.replay(record) }
        #expect(loaded.stateHash == harness.hub.stateHash)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
        // The prunings are asked for again: the process may have died before the journal made them.
        var copy = try harness.recovered()
        #expect(copy.takePrunedChains().count == 6)
        harness.send("EVT coffee-order/30 type=confirm", from: shop)
        #expect(try harness.recovered().stateHash != loaded.stateHash)
    }

    @Test func `a snapshot has the clocks of its newest record, whatever its hub has read since`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let records = harness.records.count
        let begin = harness.time
        // Time goes on, without a record: this machine's clock may be ahead of that of the next leader.
        harness.time = begin + .seconds(30)
        harness.send("GET coffee-order/1", from: shop)
        var loaded = Hub(configuration: HubConfiguration(), epoch: harness.hub.epoch)
        harness.hub.snapshot().forEachChunk { chunk in try? loaded.load(chunk) }
        loaded.finishLoading()
        #expect(loaded.lastRecordTime == begin)
        #expect(harness.hub.stateHash == (try harness.recovered().stateHash))

        // That leader's records give the same here.
        harness.hub = try harness.recovered()
        harness.time = begin + .seconds(1)
        harness.send("EVT coffee-order/2 type=start", from: harness.connect())
        for record in harness.records[records...] { try loaded.replay(record) }
        #expect(loaded.stateHash == harness.hub.stateHash)
    }

    @Test func `deadlines that passed while the process was down fire in order, at their own times`() throws {
        let harness = try HubHarness()
        var shop = harness.connect()
        harness.send("EVT coffee-order/late type=start", from: shop)
        harness.time = harness.time + .seconds(30)
        harness.send("EVT coffee-order/later type=start", from: shop)
        let start = harness.time.milliseconds
        let count = harness.records.count
        harness.time = harness.time + .hours(10)
        try harness.restart(kinds: [HubHarness.coffee])
        let heard = harness.time.milliseconds
        shop = harness.connect()
        var all: [(at: Int64, key: String)] = []
        for (key, began) in [("coffee-order/late", start - 30_000), ("coffee-order/later", start)] {
            let lines = harness.send("HISTORY \(key)", from: shop).filter { $0.contains(" type=deadline ") }
            let minutes: [Int64] = [4, 5, 8 * 60, 8 * 60 + 15]
            let times = minutes.map { began + $0 * 60_000 }
            for (line, time) in zip(lines, times) {
                #expect(line.contains(" at=\(time) heard=\(heard) "), "\(line)")
                all.append((time, key))
            }
            #expect(lines.count == times.count)
        }
        let fired = harness.records[count...].map(\.entity).filter { !$0.isEmpty }
        #expect(fired == all.sorted { $0.at < $1.at }.map(\.key))
    }
}
