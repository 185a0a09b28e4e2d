import TelltaleModel
import TestSupport
import Testing

@testable import FanOut

/// The keys that `rate=` holds back, beside all other waiting keys.
struct HeldKeysTests {
    @Test("A queue behaves as a list that is searched from end to end", arguments: 0..<40)
    func sameAsModel(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (queue, model) = (DirtyQueue(), QueueModel())
        var world = World(keys: Int32(1 + random.below(40)), readingPercent: 2 + random.below(50))
        for step in 0..<700 {
            let reported = world.step(&queue, &model, &random)
            #expect(reported.queue == reported.model, "seed \(seed), step \(step)")
            #expect(queue.isEmpty == model.isEmpty)
            #expect(queue.count == model.keys.count)
            #expect(queue.oldestMissingCommit == model.oldestMissingCommit, "seed \(seed), step \(step)")
            #expect(queue.nextRelease == model.nextRelease)
            #expect(queue.count == model.keys.count && model.keys.allSatisfy { queue.contains($0) })
            guard reported.queue == reported.model else { return }
        }
        queue.release(at: .distantFuture)
        model.release(at: .distantFuture)
        while let item = model.popFirst() { #expect("\(item)" == queue.popFirst().map { "\($0)" }) }
        #expect(queue.isEmpty && queue.count == 0 && queue.oldestMissingCommit == nil && queue.byteCount == 0)
    }

    /// Commits, a clock, and a reader that is now and then too quick.
    private struct World {
        let keys: Int32
        let readingPercent: UInt64
        var commit: Int64 = 0
        var time = MonotonicTime(milliseconds: 0)

        /// Performs the same step on both.
        ///
        /// - Returns: The result of each.
        mutating func step(
            _ queue: inout DirtyQueue, _ model: inout QueueModel, _ random: inout SeededGenerator
        ) -> (queue: String, model: String) {
            let entity = EntityIndex(Int32(random.below(UInt64(keys))))
            guard random.chance(100 - readingPercent) else { return read(&queue, &model, &random) }
            switch random.below(12) {
            case 0...3:
                commit += 1
                let isNew = !model.contains(entity)
                model.mark(entity, commit: commit)
                return ("\(queue.mark(entity, commit: commit))", "\(isNew)")
            case 4:
                return insert(entity, DirtyQueue.Entry(firstCommit: commit + 1, hasOwnCommit: false), &queue, &model) {
                    $0.markChangedSurroundings(entity, firstCommit: $1)
                }
            case 5:
                return insert(entity, DirtyQueue.Entry(firstCommit: commit + 1, isSnapshot: true), &queue, &model) {
                    $0.markSnapshot(entity, firstCommit: $1)
                }
            case 6:
                queue.trim()
                if random.chance(10) {
                    queue.markLive()
                    model.markLive()
                }
            case 7:
                time = time + Milliseconds(Int64(random.below(10)))
                queue.release(at: time)
                model.release(at: time)
            default:
                commit += 1
                queue.mark(entity, commit: commit)
                model.mark(entity, commit: commit)
                for _ in 0...random.below(2) {
                    let announcement: Announcement =
                        random.chance(60)
                        ? .milestone(rev: commit, state: "s\(commit)", at: .distantPast)
                        : .alert(rev: commit, json: [])
                    queue.announce(announcement, before: entity)
                    model.announce(announcement, before: entity)
                }
            }
            return ("", "")
        }

        private func insert(
            _ entity: EntityIndex, _ entry: DirtyQueue.Entry, _ queue: inout DirtyQueue, _ model: inout QueueModel,
            _ mark: (inout DirtyQueue, Int64) -> Bool
        ) -> (queue: String, model: String) {
            let isNew = !model.contains(entity)
            model.insert(entity, entry)
            return ("\(mark(&queue, entry.firstCommit))", "\(isNew)")
        }

        private func read(
            _ queue: inout DirtyQueue, _ model: inout QueueModel, _ random: inout SeededGenerator
        ) -> (queue: String, model: String) {
            let (item, expected) = (queue.popFirst(), model.popFirst())
            if random.chance(70) {
                let until = time + Milliseconds(Int64(random.below(random.chance(10) ? 2_000 : 30)))
                if case .row(let entity, let entry)? = item { queue.delay(entity, entry, until: until) }
                if case .row(let entity, let entry)? = expected { model.delay(entity, entry, until: until) }
            }
            return (item.map { "\($0)" } ?? "nothing", expected.map { "\($0)" } ?? "nothing")
        }
    }

    @Test func `a row costs about the same whether hundreds of keys are held back or tens of thousands`() {
        // A hundred times as many are to cost less than twenty times as much, however restless the machine: the quickest
        // of some runs counts.
        let (few, many) = (quickestRound(holding: 400), quickestRound(holding: 40_000))
        #expect(many < few * 20, "\(few) with 400, \(many) with 40,000")
    }

    /// The processor time of a hundred rows of a subscription that holds back so many keys: each asks for the cursor, its key is
    /// held back, and the one that has waited for longest is let go.
    private func quickestRound(holding count: Int64) -> Duration {
        var queue = DirtyQueue()
        for number in 0..<count {
            queue.mark(EntityIndex(Int32(number)), commit: number + 1)
            hold(&queue, until: number + 1)
        }
        var (time, commits) = (Int64(0), Int64(0))
        return (0..<5).map { _ in
            processorTime {
                for _ in 0..<100 {
                    time += 1
                    commits += queue.oldestMissingCommit ?? 0
                    queue.release(at: queue.nextRelease ?? .distantPast)
                    hold(&queue, until: count + time)
                }
            }
        }.min() ?? .zero
    }

    private func hold(_ queue: inout DirtyQueue, until time: Int64) {
        guard case .row(let entity, let entry)? = queue.popFirst() else { return }
        queue.delay(entity, entry, until: MonotonicTime(milliseconds: time))
    }

    @Test func `a key that is held back for long does not keep the memory of keys that left meanwhile`() throws {
        var held = HeldKeys()
        held.insert(HeldKeys.Place(commit: 1, raw: 0), until: .distantFuture)
        for commit in 2...10_000 as ClosedRange<Int64> {
            held.insert(HeldKeys.Place(commit: commit, raw: 1), until: MonotonicTime(milliseconds: commit))
            held.release(at: MonotonicTime(milliseconds: commit))
            #expect(held.firstReleased == HeldKeys.Place(commit: commit, raw: 1))
            #expect(held.oldestCommit == 1)
            held.removeFirstReleased()
            try #require(held.byteCount < 5_000)
        }
        held.release(at: .distantFuture)
        #expect(held.oldestCommit == 1 && held.nextRelease == nil)
        held.removeFirstReleased()
        #expect(held.oldestCommit == nil && held.isEmpty && held.byteCount == 0)
    }
}
