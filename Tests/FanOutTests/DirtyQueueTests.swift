import FanOut
import TelltaleModel
import TestSupport
import Testing

struct DirtyQueueTests {
    private let a = EntityIndex(1)
    private let b = EntityIndex(2)
    private let c = EntityIndex(3)

    @Test func `keys leave in the order in which they became dirty, folded`() throws {
        var queue = DirtyQueue()
        queue.mark(a, commit: 10)
        queue.mark(b, commit: 11)
        queue.mark(a, commit: 12)
        #expect(queue.oldestMissingCommit == 10)
        guard case .row(a, let first)? = queue.popFirst() else { throw Unexpected() }
        #expect(first.foldedCount == 1)
        #expect(first.cause == .slow)
        #expect(queue.oldestMissingCommit == 11)
        guard case .row(b, let second)? = queue.popFirst() else { throw Unexpected() }
        #expect(second.foldedCount == 0)
        #expect(second.cause == nil)
        #expect(queue.oldestMissingCommit == nil)
        #expect(queue.isEmpty)
    }

    @Test func `a held-back key keeps the cursor down, and leaves in its order`() throws {
        var queue = DirtyQueue()
        queue.mark(a, commit: 10)
        guard case .row(a, let entry)? = queue.popFirst() else { throw Unexpected() }
        queue.delay(a, entry, until: MonotonicTime(milliseconds: 500))
        queue.mark(b, commit: 20)
        queue.mark(a, commit: 21)
        #expect(queue.oldestMissingCommit == 10)
        #expect(queue.nextRelease == MonotonicTime(milliseconds: 500))
        queue.release(at: MonotonicTime(milliseconds: 499))
        #expect(queue.nextRelease == MonotonicTime(milliseconds: 500))
        queue.release(at: MonotonicTime(milliseconds: 500))
        #expect(queue.nextRelease == nil)
        guard case .row(a, let released)? = queue.popFirst() else { throw Unexpected() }
        #expect(released.cause == .rate)
        #expect(released.foldedCount == 1)
    }

    @Test func `a queue that is trimmed at any time gives the same`() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            var (plain, trimmed) = (DirtyQueue(), DirtyQueue())
            for step in 0..<40 {
                let entity = EntityIndex(Int32.random(in: 0..<6, using: &random))
                let choice = Int.random(in: 0..<7, using: &random)
                let (left, right) = (change(&plain, choice, entity, step), change(&trimmed, choice, entity, step))
                #expect(left == right)
                trimmed.trim()
                #expect(plain.count == trimmed.count)
                #expect(plain.oldestMissingCommit == trimmed.oldestMissingCommit)
                #expect(plain.nextRelease == trimmed.nextRelease)
            }
        }
    }

    /// - Returns: A description of the removed entries.
    private func change(_ queue: inout DirtyQueue, _ choice: Int, _ entity: EntityIndex, _ step: Int) -> String {
        let time = Int64(step)
        switch choice {
        case 0, 1: queue.mark(entity, commit: time)
        case 2: queue.announce(.milestone(rev: time, state: "s", at: Timestamp(milliseconds: time)), before: entity)
        case 3: queue.release(at: MonotonicTime(milliseconds: time))
        case 4: queue.markLive()
        default:
            guard let item = queue.popFirst() else { return "nothing" }
            if choice == 5, case .row(let entity, let entry) = item {
                queue.delay(entity, entry, until: MonotonicTime(milliseconds: time + 5))
            }
            return "\(item)"
        }
        return ""
    }

    @Test func `64 milestones wait, and older ones are named as missed`() throws {
        var queue = DirtyQueue()
        queue.mark(a, commit: 1)
        for rev in 1...70 {
            queue.mark(a, commit: Int64(rev))
            queue.announce(.milestone(rev: Int64(rev), state: "s\(rev)", at: .distantPast), before: a)
        }
        guard case .row(a, let entry)? = queue.popFirst() else { throw Unexpected() }
        #expect(entry.announcements.count == 64)
        #expect(entry.missed == (1...6).map { "s\($0)" })
    }

    @Test func `the first commit of a key that waits for its surroundings is folded into nothing`() throws {
        var queue = DirtyQueue()
        queue.markChangedSurroundings(a, firstCommit: 10)
        queue.mark(a, commit: 11)
        queue.markChangedSurroundings(b, firstCommit: 12)
        queue.mark(b, commit: 13)
        queue.mark(b, commit: 14)
        #expect(queue.oldestMissingCommit == 10)
        guard case .row(a, let one)? = queue.popFirst() else { throw Unexpected() }
        #expect(one.foldedCount == 0 && one.cause == nil)
        guard case .row(b, let two)? = queue.popFirst() else { throw Unexpected() }
        #expect(two.foldedCount == 1 && two.cause == .slow)

        // Nor while it is held back; after that each counts.
        queue.markChangedSurroundings(c, firstCommit: 15)
        guard case .row(c, let early)? = queue.popFirst() else { throw Unexpected() }
        queue.delay(c, early, until: MonotonicTime(milliseconds: 1))
        queue.mark(c, commit: 15)
        queue.mark(c, commit: 16)
        queue.release(at: MonotonicTime(milliseconds: 1))
        guard case .row(c, let held)? = queue.popFirst() else { throw Unexpected() }
        #expect(held.foldedCount == 1 && held.cause == .rate)
    }

    @Test func `a row names the newest 64 milestones that were missed, however long its reader took nothing`() throws {
        var queue = DirtyQueue()
        queue.mark(a, commit: 0)
        for rev in 1...10_000 as ClosedRange<Int64> {
            queue.mark(a, commit: rev)
            queue.announce(.milestone(rev: rev, state: "s\(rev)", at: .distantPast), before: a)
            try #require(queue.byteCount < 10_000)
        }
        let waiting = queue.byteCount
        #expect(waiting > 128 * 16)
        guard case .row(a, let entry)? = queue.popFirst() else { throw Unexpected() }
        #expect(entry.foldedCount == 10_000)
        #expect(entry.announcements.count == 64)
        #expect(entry.missed == (9_873...9_936).map { "s\($0)" })
        #expect(queue.byteCount == 0)
        queue.delay(a, entry, until: MonotonicTime(milliseconds: 1))
        #expect(queue.byteCount >= waiting)
    }

    @Test func `of the milestones that wait, one that was held back is still the oldest`() throws {
        var queue = DirtyQueue()
        for (rev, entity) in [(1, a), (2, b)] as [(Int64, EntityIndex)] {
            queue.mark(entity, commit: rev)
            queue.announce(.milestone(rev: rev, state: "s\(rev)", at: .distantPast), before: entity)
        }
        guard case .row(a, let entry)? = queue.popFirst() else { throw Unexpected() }
        queue.delay(a, entry, until: MonotonicTime(milliseconds: 500))
        for rev in 3...65 as ClosedRange<Int64> {
            queue.mark(b, commit: rev)
            queue.announce(.milestone(rev: rev, state: "s\(rev)", at: .distantPast), before: b)
        }
        queue.release(at: MonotonicTime(milliseconds: 500))
        guard case .row(a, let held)? = queue.popFirst() else { throw Unexpected() }
        #expect(held.announcements.isEmpty && held.missed == ["s1"])
        guard case .row(b, let other)? = queue.popFirst() else { throw Unexpected() }
        #expect(other.announcements.count == 64 && other.missed.isEmpty)
    }

    @Test func `the snapshot comes before the marker, and changes behind it`() throws {
        var queue = DirtyQueue()
        queue.markSnapshot(a, firstCommit: 5)
        queue.markSnapshot(b, firstCommit: 5)
        queue.markLive()
        queue.mark(c, commit: 6)
        queue.mark(b, commit: 7)
        var order: [String] = []
        while let item = queue.popFirst() {
            switch item {
            case .live: order.append("live")
            case .row(let entity, let entry): order.append("\(entity.rawValue)\(entry.isSnapshot ? "s" : "")")
            }
        }
        #expect(order == ["1s", "2s", "live", "3"])
    }

    @Test func `the change order finds later changes, and forgets removed keys`() {
        var order = ChangeOrder()
        var revs: [EntityIndex: Int64] = [:]
        for (commit, entity) in [a, b, c, a].enumerated() {
            order.touch(entity)
            revs[entity] = Int64(commit)
        }
        #expect(order.suffix { revs[$0, default: 0] > 0 } == [b, c, a])
        #expect(order.suffix { revs[$0, default: 0] > 2 } == [a])
        order.remove(c)
        #expect(order.suffix { _ in true } == [b, a])
        // The newest, and the only one.
        order.remove(a)
        #expect(order.suffix { _ in true } == [b])
        order.touch(c)
        #expect(order.suffix { _ in true } == [b, c])
        for entity in [c, b] { order.remove(entity) }
        #expect(order.suffix { _ in true } == [])
    }

    struct Unexpected: Error {}
}
