import FanOut
import TestSupport
import Testing

struct ChangeOrderTests {
    enum Change: Sendable {
        case touch(Int32)
        case remove(Int32)
    }

    struct History: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let changes: [Change]
        let order: [Int32]
    }

    static let histories = [
        History(testDescription: "nothing", changes: [], order: []),
        History(testDescription: "one key", changes: [.touch(3)], order: [3]),
        History(testDescription: "keys as they change", changes: [.touch(2), .touch(0), .touch(1)], order: [2, 0, 1]),
        History(testDescription: "the newest again", changes: [.touch(0), .touch(1), .touch(1)], order: [0, 1]),
        History(testDescription: "the oldest again", changes: [.touch(0), .touch(1), .touch(0)], order: [1, 0]),
        History(
            testDescription: "one from the middle again", changes: [.touch(0), .touch(1), .touch(2), .touch(1)],
            order: [0, 2, 1]),
        History(testDescription: "the only key removed", changes: [.touch(0), .remove(0)], order: []),
        History(
            testDescription: "the oldest removed", changes: [.touch(0), .touch(1), .touch(2), .remove(0)],
            order: [1, 2]),
        History(
            testDescription: "one from the middle removed", changes: [.touch(0), .touch(1), .touch(2), .remove(1)],
            order: [0, 2]),
        History(
            testDescription: "the newest removed", changes: [.touch(0), .touch(1), .touch(2), .remove(2)],
            order: [0, 1]),
        History(
            testDescription: "removed, and back as the newest",
            changes: [.touch(0), .touch(1), .remove(0), .touch(0)], order: [1, 0]),
        History(testDescription: "removed twice", changes: [.touch(0), .touch(1), .remove(0), .remove(0)], order: [1]),
        History(testDescription: "an unknown key removed", changes: [.touch(0), .remove(7)], order: [0]),
        History(
            testDescription: "emptied and filled again",
            changes: [.touch(0), .touch(1), .remove(1), .remove(0), .touch(1)], order: [1]),
    ]

    @Test("Keys stand in the order of their last change", arguments: histories)
    func order(_ history: History) {
        var order = ChangeOrder()
        for change in history.changes {
            switch change {
            case .touch(let raw): order.touch(EntityIndex(raw))
            case .remove(let raw): order.remove(EntityIndex(raw))
            }
        }
        #expect(order.suffix { _ in true }.map(\.rawValue) == history.order)
        for raw in 0..<9 as Range<Int32> {
            #expect(order.contains(EntityIndex(raw)) == history.order.contains(raw))
        }
    }

    @Test func `a suffix ends at the newest key that is not wanted, and visits no older one`() {
        var order = ChangeOrder()
        for raw in 0..<6 as Range<Int32> { order.touch(EntityIndex(raw)) }
        var visited: [Int32] = []
        let suffix = order.suffix {
            visited.append($0.rawValue)
            return $0.rawValue != 2
        }
        #expect(suffix.map(\.rawValue) == [3, 4, 5])
        #expect(visited == [5, 4, 3, 2])
        #expect(order.suffix { $0.rawValue < 5 } == [])
    }

    @Test("Random changes agree with a list", arguments: 0..<30 as Range<UInt64>)
    func sameAsList(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var order = ChangeOrder()
        var model: [Int32] = []
        for step in 0..<300 {
            let raw = Int32(random.below(10))
            model.removeAll { $0 == raw }
            if random.chance(70) {
                order.touch(EntityIndex(raw))
                model.append(raw)
            } else {
                order.remove(EntityIndex(raw))
            }
            expect(order.suffix { _ in true }.map(\.rawValue) == model, "seed \(seed), step \(step)")
        }
    }
}
