import Journal
import Server
import Testing

@testable import Hub

/// How requests are gathered into batches, decided in parts and committed as a whole.
struct BatchTests {
    @Test func `a batch in parts is the batch`() throws {
        func post(to harness: HubHarness) {
            let shop = harness.connect()
            for number in 1...7 {
                harness.post("EVT coffee-order/\(number % 3) type=\(number < 4 ? "start" : "ready")", from: shop)
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
        let harness = try HubHarness()
        // A connection may have a thousand in flight.
        for start in stride(from: 0, to: waiting, by: 1_000) {
            let shop = harness.connect()
            for _ in start..<min(start + 1_000, waiting) { harness.post("EVT coffee-order/1 type=start", from: shop) }
        }
        var parts: [Int] = []
        repeat {
            let limit = BatchLimiter.partLength(
                waiting: harness.hub.waitingCount, room: harness.hub.batchRoom ?? batchLimit)
            parts.append(harness.hub.decide(at: harness.now, limit: limit, batchLimit: batchLimit).count)
        } while harness.hub.isDeciding
        #expect(parts == lengths)
    }

    @Test func `large requests are gathered up to so many bytes of records`() throws {
        var configuration = HubConfiguration()
        configuration.limits.batchBytes = 4_500
        let harness = try HubHarness(configuration: configuration)
        let shop = harness.connect()
        let item = String(repeating: "x", count: 2_500)
        for number in 1...5 {
            harness.post("EVT coffee-order/\(number) type=start {\"attributes\":{\"item\":\"\(item)\"}}", from: shop)
        }
        var counts: [Int] = []
        while harness.hub.hasWork(at: harness.now) {
            counts.append(harness.hub.decide(at: harness.now).count)
            harness.hub.committed(at: harness.now)
        }
        #expect(counts == [2, 2, 1])
        harness.flush()
        #expect(harness.lines(of: shop).count { $0.hasPrefix("OK verdict=applied") } == 5)
    }

    @Test func `requests that a batch has no room for are decided with the next one, in order`() throws {
        let harness = try HubHarness()
        let (shop, other) = (harness.connect(), harness.connect())
        for (number, sender) in [shop, other, shop, shop, other].enumerated() {
            harness.post("EVT coffee-order/\(number) type=start id=\(number)", from: sender)
        }
        var orders: [[String]] = []
        while harness.hub.hasWork(at: harness.now) {
            var batch: [String] = []
            repeat {
                batch += harness.hub.decide(at: harness.now, limit: 1, batchLimit: 2).map(\.entity)
            } while harness.hub.isDeciding
            orders.append(batch)
            #expect(harness.hub.waitingCount == [3, 1, 0][orders.count - 1])
            harness.hub.committed(at: harness.now)
        }
        #expect(
            orders == [
                ["coffee-order/0", "coffee-order/1"], ["coffee-order/2", "coffee-order/3"], ["coffee-order/4"],
            ])
    }

    @Test func `a held-back request takes no room in a batch`() throws {
        let harness = try HubHarness()
        let (screen, shop) = (harness.connect(), harness.connect())
        // A session may not change its account before its earlier requests are answered.
        for line in ["SUB *", "HELLO account=ann", "PING id=2"] { harness.post(line, from: screen) }
        for number in 1...2 { harness.post("EVT coffee-order/\(number) type=start", from: shop) }
        #expect(harness.hub.decide(at: harness.now, batchLimit: 3).count == 2)
        #expect(harness.hub.batchRequestCount == 3)
        #expect(harness.hub.isDeciding == false)
        harness.hub.committed(at: harness.now)
        #expect(harness.hub.waitingCount == 2)
    }

    @Test func `a request without a record takes room in a batch too`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        for number in 1...3 { harness.post("PING id=\(number)", from: shop) }
        #expect(harness.hub.decide(at: harness.now, batchLimit: 2).isEmpty)
        #expect(harness.hub.waitingCount == 1)
        harness.hub.committed(at: harness.now)
    }

    @Test func `nothing is rendered while a batch is on its way to the disk`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("SUB *", from: screen)
        harness.post("EVT coffee-order/1 type=start", from: shop)
        let records = harness.hub.decide(at: harness.now)
        #expect(records.count == 1)
        #expect(harness.hub.nextReady() == nil)
        harness.hub.committed(at: harness.now)
        harness.flush()
        #expect(harness.lines(of: shop).count == 1)
        #expect(harness.lines(of: screen).count == 1)
    }
}
