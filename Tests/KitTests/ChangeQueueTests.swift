import TelltaleClientProtocol
import TelltaleModel
import Testing

@testable import TelltaleKit

struct ChangeQueueTests {
    private var queue = ChangeQueue()

    private func row(_ key: String, _ rev: Int64, snapshot: Bool = false, skip: Int = 0) throws -> PendingChange {
        var row = Row(key: try #require(Key(key)), rev: rev, body: ["n": .integer(rev)])
        row.skip = skip
        return .update(row, isSnapshot: snapshot)
    }

    private mutating func takeAll() -> [String] {
        var found: [String] = []
        while let entry = queue.take() {
            found.append("\(entry.change.map { describe(Change<FullRow>($0)) } ?? "place") @\(entry.cursor ?? "-")")
        }
        return found
    }

    @Test mutating func `a newer row takes the place of the one that waits`() throws {
        queue.put(try row("a/1", 1), cursor: "1")
        queue.put(try row("a/2", 2), cursor: "2")
        queue.put(try row("a/1", 3, skip: 2), cursor: "3")
        queue.put(try row("a/1", 3), cursor: "3")
        #expect(takeAll() == ["upd a/1 3 skipped 3 slow @1", "upd a/2 2 @3"])
        // A change that was taken is not changed any more.
        queue.put(try row("a/1", 4), cursor: "4")
        #expect(queue.take()?.cursor == "4")
        queue.put(try row("a/1", 5), cursor: "5")
        #expect(takeAll() == ["upd a/1 5 @5"])
    }

    @Test mutating func `a removal folds rows, and a row a removal`() throws {
        let key = try #require(Key("a/1"))
        queue.put(try row("a/1", 1, snapshot: true), cursor: nil)
        queue.put(.removal(RowRemoval(key: key, rev: 2, why: "hidden", skipped: 0)), cursor: "2")
        queue.put(try row("a/2", 3, snapshot: true), cursor: nil)
        queue.put(try row("a/2", 4), cursor: "4")
        #expect(queue.count == 2)
        guard case .removal(let removal)? = queue.take()?.change,
            case .update(_, let isSnapshot)? = queue.take()?.change
        else {
            Issue.record("another order")
            return
        }
        #expect(removal.skipped == 1 && isSnapshot && queue.count == 0)
    }

    @Test mutating func `milestones and alerts stay before the row that follows them, each of them`() throws {
        let key = try #require(Key("a/1"))
        let alert = PendingChange.alert(RowAlert(key: key, rev: 2, body: ["title": "T"]))
        queue.put(try row("a/1", 1), cursor: "1")
        queue.put(alert, cursor: "1")
        queue.put(try row("a/1", 2), cursor: "2")
        queue.put(alert, cursor: "2")
        queue.put(try row("a/1", 3), cursor: "3")
        queue.put(.live, cursor: "3")
        #expect(
            takeAll() == [
                "upd a/1 1 @1", "alert a/1 T @1", "upd a/1 2 @2", "alert a/1 T @2", "upd a/1 3 @3", "live @3",
            ])
    }

    @Test mutating func `behind a reset nothing is folded into what stands before it`() throws {
        queue.put(try row("a/1", 9), cursor: "9")
        queue.put(.reset(why: "epoch"), cursor: nil)
        queue.put(try row("a/1", 1), cursor: nil)
        #expect(takeAll() == ["upd a/1 9 @9", "reset epoch @-", "upd a/1 1 @-"])
    }

    @Test mutating func `any number of changes passes through`() throws {
        for number in 0..<5_000 {
            queue.put(try row("a/\(number)", Int64(number) + 1), cursor: "\(number)")
            queue.put(nil, cursor: "\(number)")
            if number % 3 == 0 { #expect(queue.take()?.change != nil) }
        }
        #expect(queue.isFull)
        var last: Int64 = 0
        while let entry = queue.take() {
            guard case .update(let row, _)? = entry.change else { continue }
            #expect(row.rev > last)
            last = row.rev
        }
        #expect(last == 5_000 && queue.count == 0 && !queue.isFull)
    }
}
