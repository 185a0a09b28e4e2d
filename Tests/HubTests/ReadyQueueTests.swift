import Testing

@testable import Hub

struct ReadyQueueTests {
    private func session(_ slot: Int32, _ number: Int64 = 1) -> SessionID { SessionID(slot: slot, number: number) }

    @Test func `sessions come in the order in which they became ready, each once`() {
        var queue = ReadyQueue()
        for slot: Int32 in 0..<4 { queue.open(slot: slot) }
        for slot: Int32 in [2, 0, 3] { queue.append(session(slot)) }
        #expect(queue.contains(slot: 0) && !queue.contains(slot: 1) && queue.count == 3)
        #expect(queue.popFirst() == session(2))
        queue.left(slot: 2)
        #expect(!queue.contains(slot: 2))
        queue.append(session(2))
        #expect([queue.popFirst(), queue.popFirst(), queue.popFirst()] == [session(0), session(3), session(2)])
        #expect(queue.popFirst() == nil && queue.isEmpty)
    }

    @Test func `a session that takes over a slot is not ready because the one before it was`() {
        var queue = ReadyQueue()
        queue.open(slot: 0)
        queue.append(session(0, 1))
        queue.open(slot: 0)
        #expect(!queue.contains(slot: 0))
        queue.append(session(0, 2))
        #expect([queue.popFirst(), queue.popFirst()] == [session(0, 1), session(0, 2)])
    }
}
