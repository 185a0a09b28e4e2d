import TestSupport
import Testing

@testable import Hub

struct ReadyQueueTests {
    private func queue(of slots: Int32) -> ReadyQueue {
        var queue = ReadyQueue()
        for slot in 0..<slots { queue.open(slot: slot) }
        return queue
    }

    private func popAll(_ queue: inout ReadyQueue) -> [Int32] {
        var slots: [Int32] = []
        while let slot = queue.popFirst() { slots.append(slot) }
        return slots
    }

    @Test func `sessions come in the order in which they became ready, each once`() {
        var queue = queue(of: 4)
        for slot: Int32 in [2, 0, 3, 2] { queue.append(slot: slot, to: .rows) }
        #expect(queue.count == 3 && queue.popFirst() == 2 && queue.count == 2)
        queue.append(slot: 2, to: .rows)
        #expect(popAll(&queue) == [0, 3, 2] && queue.isEmpty)
    }

    @Test func `answers come before rows, and take a session out of the line of rows`() {
        var queue = queue(of: 6)
        for slot: Int32 in 0..<5 { queue.append(slot: slot, to: .rows) }
        for slot: Int32 in [3, 5, 0, 3, 4] { queue.append(slot: slot, to: .answers) }
        #expect(queue.count == 6 && queue.hasAnswers)
        // An answer to it is pending already.
        queue.append(slot: 3, to: .rows)
        #expect(popAll(&queue) == [3, 5, 0, 4, 1, 2] && !queue.hasAnswers)
    }

    @Test func `a session that takes over a slot is not ready because the one before it was`() {
        var queue = queue(of: 3)
        for slot: Int32 in 0..<3 { queue.append(slot: slot, to: .rows) }
        queue.remove(slot: 1)
        queue.open(slot: 1)
        #expect(queue.count == 2)
        queue.append(slot: 1, to: .answers)
        queue.open(slot: 1)
        queue.append(slot: 1, to: .rows)
        #expect(popAll(&queue) == [0, 2, 1])
    }

    @Test func `it is what two lists of slots are, whatever comes and goes`() {
        var generator = SeededGenerator(seed: 1)
        var (queue, answers, rows) = (queue(of: 8), [Int32](), [Int32]())
        for _ in 0..<2_000 {
            let slot = Int32.random(in: 0..<8, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                queue.append(slot: slot, to: .rows)
                if !answers.contains(slot), !rows.contains(slot) { rows.append(slot) }
            case 1:
                queue.append(slot: slot, to: .answers)
                rows.removeAll { $0 == slot }
                if !answers.contains(slot) { answers.append(slot) }
            case 2:
                queue.remove(slot: slot)
                answers.removeAll { $0 == slot }
                rows.removeAll { $0 == slot }
            default:
                let expected = answers.isEmpty ? (rows.isEmpty ? nil : rows.removeFirst()) : answers.removeFirst()
                #expect(queue.popFirst() == expected)
            }
            #expect(queue.count == answers.count + rows.count && queue.hasAnswers == !answers.isEmpty)
        }
    }
}
