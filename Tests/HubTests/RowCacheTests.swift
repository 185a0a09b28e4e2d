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
