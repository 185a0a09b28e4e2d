import Journal
import TelltaleModel
import Testing

@testable import Hub

/// A hub that reads its journal again has the state of the one that wrote it.
struct RecoveryTests {
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
        // The records after the snapshot give the same states, hash by hash.
        for record in house.records[records...] { try loaded.replay(record) }
        #expect(loaded.lastRecordSequence == house.hub.lastRecordSequence)
        house.hub = loaded
        let again = house.connect()
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=p eid=confirm", from: again).first?.contains(
                "verdict=duplicate") == true)
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
        // The prunings are asked for again: the process may have died before the journal made them.
        var copy = try house.recovered()
        #expect(copy.takePrunedChains().count == 6)
        house.send("EVT coffee-order/30 type=confirm", from: shop)
        #expect(try house.recovered().stateHash != loaded.stateHash)
    }

    @Test func `a snapshot has the clocks of its newest record, whatever its hub has read since`() throws {
        let (house, shop) = try HubHarness.startedOrder()
        let records = house.records.count
        let begin = house.time
        // Time goes on, without a record: this machine's clock may be ahead of that of the next leader.
        house.time = begin + .seconds(30)
        house.send("GET coffee-order/1", from: shop)
        var loaded = Hub(configuration: HubConfiguration(), epoch: house.hub.epoch)
        house.hub.snapshot().forEachChunk { chunk in try? loaded.load(chunk) }
        loaded.finishLoading()
        #expect(loaded.lastRecordTime == begin)
        #expect(house.hub.stateHash == (try house.recovered().stateHash))

        // That leader's records give the same here.
        house.hub = try house.recovered()
        house.time = begin + .seconds(1)
        house.send("EVT coffee-order/2 type=start", from: house.connect())
        for record in house.records[records...] { try loaded.replay(record) }
        #expect(loaded.stateHash == house.hub.stateHash)
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
            let minutes: [Int64] = [4, 5, 8 * 60, 8 * 60 + 15]
            let times = minutes.map { began + $0 * 60_000 }
            for (line, time) in zip(lines, times) {
                #expect(line.contains(" at=\(time) heard=\(heard) "), "\(line)")
                all.append((time, key))
            }
            #expect(lines.count == times.count)
        }
        let fired = house.records[count...].map(\.entity).filter { !$0.isEmpty }
        #expect(fired == all.sorted { $0.at < $1.at }.map(\.key))
    }
}
