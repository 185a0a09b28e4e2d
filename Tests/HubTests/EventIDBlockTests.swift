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

    private static func post(_ numbers: Range<Int>, to house: HubHarness, source: String = "p") {
        let shop = house.connect()
        for number in numbers {
            house.send("EVT coffee-order/1 type=nothing src=\(source) eid=\(number)", from: shop)
        }
    }

    @Test func `full chunks are blocks, and stay the same when more ids come and across a restart`() throws {
        let house = try HubHarness()
        house.send("EVT coffee-order/1 type=start src=q eid=first", from: house.connect())
        Self.post(0..<2_500, to: house)
        let blocks = Self.blocks(of: house.hub)
        #expect(blocks.count == 2)
        Self.post(2_500..<3_500, to: house)
        let more = Self.blocks(of: house.hub)
        #expect(more.count == 3)
        #expect(Array(more[..<2]) == blocks)

        let hash = house.hub.stateHash
        house.hub = try Self.restored(house.hub)
        #expect(house.hub.stateHash == hash)
        #expect(Self.blocks(of: house.hub) == more)
        Self.post(3_500..<4_200, to: house)
        let after = Self.blocks(of: house.hub)
        #expect(after.count == 4)
        #expect(Array(after[..<3]) == more)
        // Each is known, whether it came with a block or not.
        let shop = house.connect()
        for number in stride(from: 0, to: 4_200, by: 131) {
            let answer = house.send("EVT coffee-order/1 type=nothing src=p eid=\(number)", from: shop).first
            #expect(answer?.contains("verdict=duplicate") == true, "\(number): \(answer ?? "")")
        }
    }

    @Test func `a chunk of which some ids are forgotten stays a block, and the forgotten ones stay forgotten`() throws {
        var configuration = HubConfiguration()
        configuration.decisions.eventIDAge = .seconds(10)
        let house = try HubHarness(configuration: configuration)
        house.send("EVT coffee-order/1 type=start", from: house.connect())
        Self.post(0..<700, to: house)
        house.time = house.time + .seconds(6)
        Self.post(700..<1_500, to: house)
        let blocks = Self.blocks(of: house.hub)
        #expect(blocks.count == 1)
        // The first 700 are now older than the ids are kept.
        house.time = house.time + .seconds(6)
        Self.post(1_500..<1_510, to: house)
        #expect(Self.blocks(of: house.hub) == blocks)
        let hash = house.hub.stateHash
        house.hub = try Self.restored(house.hub)
        #expect(house.hub.stateHash == hash)
        #expect(Self.blocks(of: house.hub) == blocks)
        let shop = house.connect()
        func verdict(_ number: Int) -> Bool {
            house.send("EVT coffee-order/1 type=nothing src=p eid=\(number)", from: shop).first?
                .contains("verdict=duplicate") == true
        }
        #expect(!verdict(5))
        #expect(!verdict(699))
        #expect(verdict(700))
        #expect(verdict(1_023))
        #expect(verdict(1_509))
    }

    @Test func `a chunk that does not follow the one before it is refused`() throws {
        let house = try HubHarness()
        house.send("EVT coffee-order/1 type=start", from: house.connect())
        Self.post(0..<2_100, to: house)
        var chunks: [[UInt8]] = []
        house.hub.snapshot().forEachChunk { chunks.append($0) }
        let blocks = Self.blocks(of: house.hub)
        let first = try #require(chunks.firstIndex(of: blocks[0].bytes))
        for chunk in [blocks[0].bytes, Array(blocks[1].bytes.dropLast())] {
            var broken = chunks
            broken[first + 1] = chunk
            var loaded = Hub(configuration: HubConfiguration(), epoch: 1)
            #expect(throws: RecoveryError.self) { for chunk in broken { try loaded.load(chunk) } }
        }
    }
}
