import FanOut
import TelltaleModel
import Testing

@testable import Hub

struct RowCacheTests {
    private func change(of entity: Int32, commit: Int64) throws -> PendingUpdate {
        PendingUpdate(
            entity: EntityIndex(entity), commits: try #require(PendingCommits(first: commit)), number: 1, selection: 0,
            view: .full, isUsual: true)
    }

    @Test func `no call frees a large part of the bodies: the cache is emptied in shards`() {
        var cache = RowCache()
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 128)
        let limit = (16 << 20) / 256
        var (freedAtOnce, mostKept) = (0, 0)
        func keep(_ count: Int) {
            for number in 0..<count {
                let before = cache.count + cache.retiredCount
                cache.keep(body, of: EntityIndex(Int32(mostKept + number)), .full)
                freedAtOnce = max(freedAtOnce, before + 1 - cache.count - cache.retiredCount)
            }
            mostKept += count
        }
        keep(2 * limit)
        #expect((limit / 2...limit + 1).contains(cache.count))
        #expect(cache.body(of: EntityIndex(Int32(mostKept - 1)), .full) == body)
        cache.removeBodies()
        #expect(cache.count == 0 && cache.retiredCount > limit / 2)
        #expect(cache.body(of: EntityIndex(Int32(mostKept - 1)), .full) == nil)
        keep(100)
        #expect(cache.retiredCount == 0 && cache.count == 100)
        #expect(freedAtOnce < limit / 16)
    }

    @Test func `rows of one commit are kept up to 8 MB, and those of the next take their room`() throws {
        var cache = RowCache()
        let row = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        for commit in Int64(1)...3 {
            for entity in Int32(0)..<10 {
                cache.keep(row, nil, for: try change(of: entity, commit: commit), at: commit)
            }
            let kept = try (Int32(0)..<10).count {
                cache.row(of: try change(of: $0, commit: commit), at: commit) != nil
            }
            #expect(kept == 8)
            #expect(cache.row(of: try change(of: 0, commit: commit), at: commit + 1) == nil)
        }
    }
}
