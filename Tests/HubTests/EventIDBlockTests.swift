import Hub
import Journal
import TelltaleModel
import Testing

/// The event ids of a snapshot: those of the past stay in the blocks in which the snapshots before have put them.
struct EventIDBlockTests {
    private static func blocks(of hub: borrowing Hub) -> [SnapshotBlock] {
        var blocks: [SnapshotBlock] = []
        hub.snapshot().forEachPiece { if case .blocks(let some) = $0 { blocks += some } }
        return blocks
    }

    private static func restored(_ hub: borrowing Hub) throws -> Hub {
        var chunks: [[UInt8]] = []
        hub.snapshot().forEachChunk { chunks.append($0) }
        var loaded = Hub(configuration: HubConfiguration(), epoch: hub.epoch)
        for chunk in chunks { try loaded.load(chunk) }
        loaded.finishLoading()
        return loaded
    }

    private static func post(_ numbers: Range<Int>, to harness: HubHarness, source: String = "p") {
        let shop = harness.connect()
        for number in numbers {
            harness.send("EVT coffee-order/1 type=nothing src=\(source) eid=\(number)", from: shop)
        }
    }

    @Test func `full chunks are blocks, and stay the same when more ids come and across a restart`() throws {
        let harness = try HubHarness()
        harness.send("EVT coffee-order/1 type=start src=q eid=first", from: harness.connect())
        Self.post(0..<2_500, to: harness)
        let blocks = Self.blocks(of: harness.hub)
        #expect(blocks.count == 2)
        Self.post(2_500..<3_500, to: harness)
        let more = Self.blocks(of: harness.hub)
        #expect(more.count == 3)
        #expect(Array(more[..<2]) == blocks)

        let hash = harness.hub.stateHash
        harness.hub = try Self.restored(harness.hub)
        #expect(harness.hub.stateHash == hash)
        #expect(Self.blocks(of: harness.hub) == more)
        Self.post(3_500..<4_200, to: harness)
        let after = Self.blocks(of: harness.hub)
        #expect(after.count == 4)
        #expect(Array(after[..<3]) == more)
        // Each is known, whether it came with a block or not.
        let shop = harness.connect()
        for number in stride(from: 0, to: 4_200, by: 131) {
            let answer = harness.send("EVT coffee-order/1 type=nothing src=p eid=\(number)", from: shop).first
            #expect(answer?.contains("verdict=duplicate") == true, "\(number): \(answer ?? "")")
        }
    }

    @Test func `a chunk of which some ids are forgotten stays a block, and the forgotten ones stay forgotten`() throws {
        var configuration = HubConfiguration()
        configuration.decisions.eventIDAge = .seconds(10)
        let harness = try HubHarness(configuration: configuration)
        harness.send("EVT coffee-order/1 type=start", from: harness.connect())
        Self.post(0..<700, to: harness)
        harness.time = harness.time + .seconds(6)
        Self.post(700..<1_500, to: harness)
        let blocks = Self.blocks(of: harness.hub)
        #expect(blocks.count == 1)
        // The first 700 are now older than the ids are kept.
        harness.time = harness.time + .seconds(6)
        Self.post(1_500..<1_510, to: harness)
        #expect(Self.blocks(of: harness.hub) == blocks)
        let hash = harness.hub.stateHash
        harness.hub = try Self.restored(harness.hub)
        #expect(harness.hub.stateHash == hash)
        #expect(Self.blocks(of: harness.hub) == blocks)
        let shop = harness.connect()
        func verdict(_ number: Int) -> Bool {
            harness.send("EVT coffee-order/1 type=nothing src=p eid=\(number)", from: shop).first?
                .contains("verdict=duplicate") == true
        }
        #expect(!verdict(5))
        #expect(!verdict(699))
        #expect(verdict(700))
        #expect(verdict(1_023))
        #expect(verdict(1_509))
    }

    @Test func `a chunk that does not follow the one before it is refused`() throws {
        let harness = try HubHarness()
        harness.send("EVT coffee-order/1 type=start", from: harness.connect())
        Self.post(0..<2_100, to: harness)
        var chunks: [[UInt8]] = []
        harness.hub.snapshot().forEachChunk { chunks.append($0) }
        let blocks = Self.blocks(of: harness.hub)
        let first = try #require(chunks.firstIndex(of: blocks[0].bytes))
        for chunk in [blocks[0].bytes, Array(blocks[1].bytes.dropLast())] {
            var broken = chunks
            broken[first + 1] = chunk
            var loaded = Hub(configuration: HubConfiguration(), epoch: 1)
            #expect(throws: RecoveryError.self) { for chunk in broken { try loaded.load(chunk) } }
        }
    }
}
