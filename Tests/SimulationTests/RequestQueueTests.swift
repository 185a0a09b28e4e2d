import TelltaleModel
import TelltaleWire
import Testing

@testable import Simulation

/// The requests of a simulated client: order, retries and reconnects.
struct RequestQueueTests {
    private func line(_ text: String) throws -> ServerLine {
        try ServerLine(Array(text.utf8).span, parser: JSONParser())
    }

    private func sent(_ queue: inout RequestQueue, at now: Int64 = 0) -> [Int] {
        var numbers: [Int] = []
        while let number = queue.next(at: now) { numbers.append(number) }
        return numbers
    }

    @Test func `after a reconnect the unanswered requests go before the waiting ones`() throws {
        var queue = RequestQueue(letter: "r", window: 2)
        queue.append(contentsOf: [0, 1, 2])
        queue.reconnect()
        #expect(sent(&queue) == [0, 1])
        guard case .greeting = queue.matchReply(try line("OK id=hello")) else { Issue.record(); return }
        guard case .answer(0) = queue.matchReply(try line("OK id=r0 rev=1")) else { Issue.record(); return }
        queue.reconnect()
        #expect(!queue.isGreeted)
        #expect(sent(&queue) == [1, 2])
    }

    @Test func `a request that must not be repeated is dropped at a reconnect`() {
        var queue = RequestQueue(letter: "f")
        queue.append(contentsOf: [0, 1])
        queue.reconnect()
        #expect(sent(&queue) == [0, 1])
        queue.reconnect { $0 == 1 }
        #expect(sent(&queue) == [1])
    }

    @Test func `a reply with another id is unexpected, and leaves the request unanswered`() throws {
        var queue = RequestQueue(letter: "r")
        queue.append(0)
        queue.reconnect()
        #expect(sent(&queue) == [0])
        _ = queue.matchReply(try line("OK id=hello"))
        guard case .unexpected("r0") = queue.matchReply(try line("OK id=r7")) else { Issue.record(); return }
        #expect(queue.unansweredCount == 1)
    }

    @Test func `a postponed request pauses the queue once`() throws {
        var queue = RequestQueue(letter: "c")
        queue.append(contentsOf: [0, 1])
        queue.reconnect()
        _ = sent(&queue)
        let isFirst = queue.postpone(0, at: 100)
        let isSecond = queue.postpone(1, at: 100)
        #expect(isFirst && !isSecond)
        #expect(sent(&queue, at: 100 + RequestQueue.retryDelay - 1) == [])
        #expect(sent(&queue, at: 100 + RequestQueue.retryDelay) == [0, 1])
    }
}
