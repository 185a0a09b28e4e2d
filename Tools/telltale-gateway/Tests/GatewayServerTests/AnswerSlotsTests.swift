import Gateway
import NIOCore
import NIOPosix
import Testing

@testable import GatewayServer

/// How many long answers are under way.
struct AnswerSlotsTests {
    private static let loop = MultiThreadedEventLoopGroup.singleton.any()

    /// Waits until so many wait, 10 s at most.
    private static func until(_ count: Int, wait slots: AnswerSlots) async throws {
        let end = NIODeadline.now() + .seconds(10)
        while slots.waitingCount != count, NIODeadline.now() < end { try await Task.sleep(for: .milliseconds(1)) }
        try #require(slots.waitingCount == count)
    }

    @Test func `one that waits is next, and a caller at its limit lets others pass`() async throws {
        let slots = AnswerSlots(.init(total: 2, caller: 1, waiting: 4, patience: .minutes(10)))
        var first: AnswerSlots.Slot? = try await slots.enter("a", on: Self.loop)
        var other: AnswerSlots.Slot? = try await slots.enter("b", on: Self.loop)
        let again = Task { try await slots.enter("a", on: Self.loop) }
        try await Self.until(1, wait: slots)
        let late = Task { try await slots.enter("c", on: Self.loop) }
        try await Self.until(2, wait: slots)
        withExtendedLifetime(other) {}
        other = nil
        // "a" came earlier, and has one.
        let third = try await late.value
        #expect((slots.count, slots.waitingCount) == (2, 1))
        withExtendedLifetime(first) {}
        first = nil
        let second = try await again.value
        #expect((slots.count, slots.waitingCount) == (2, 0))
        withExtendedLifetime((second, third)) {}
    }

    @Test func `one that waits too long, and one too many, are notified when to come again`() async throws {
        let slots = AnswerSlots(.init(total: 1, caller: 1, waiting: 1, patience: .minutes(10)))
        let held = try await slots.enter("a", on: Self.loop)
        let waiting = Task { try await slots.enter("b", on: Self.loop) }
        try await Self.until(1, wait: slots)
        do {
            _ = try await slots.enter("c", on: Self.loop)
            Issue.record("there was room")
        } catch {
            #expect((error.code, error.status, error.retryAfter(now: SystemClock.now)) == ("busy", 503, 1))
        }
        withExtendedLifetime(held) {}
        waiting.cancel()

        let hasty = AnswerSlots(.init(total: 1, caller: 1, waiting: 1, patience: .nanoseconds(1)))
        let only = try await hasty.enter("a", on: Self.loop)
        await #expect(throws: Problem.self) { _ = try await hasty.enter("b", on: Self.loop) }
        #expect((hasty.count, hasty.waitingCount) == (1, 0))
        withExtendedLifetime(only) {}
    }

    @Test func `one caller does not take all places of those that wait`() async throws {
        let slots = AnswerSlots(.init(total: 1, caller: 1, waiting: 2, patience: .minutes(10)))
        let held = try await slots.enter("a", on: Self.loop)
        let waiting = Task { try await slots.enter("a", on: Self.loop) }
        try await Self.until(1, wait: slots)
        await #expect(throws: Problem.self) { _ = try await slots.enter("a", on: Self.loop) }
        let other = Task { try await slots.enter("b", on: Self.loop) }
        try await Self.until(2, wait: slots)
        withExtendedLifetime((held, waiting, other)) {}
    }

    @Test func `a place is free once nothing holds it`() async throws {
        let slots = AnswerSlots(.init(total: 1, caller: 1, waiting: 0, patience: .minutes(10)))
        for _ in 0..<3 { _ = try await slots.enter("a", on: Self.loop) }
        #expect(slots.count == 0)
    }
}
