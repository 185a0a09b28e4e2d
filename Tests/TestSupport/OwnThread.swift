internal import Foundation
public import TelltaleEventLoop

/// Runs `body` on a thread of its own, and waits for it without blocking a thread of the cooperative pool.
///
/// A loop on a pool thread would keep the thread from the tasks that the test waits for. The thread runs the test's own
/// task, so that the expectations of `body` belong to this test: a bare thread has no test, and its issues would be
/// reported once for every running test.
///
/// Six bodies run at a time, and the others wait for their turn. Most of them drive processes that have deadlines of their own.
/// If all suites did so at once, each would have a fiftieth of the machine, and a pause of many seconds would be usual.
@concurrent
public func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await TestTurns.ofProcesses.run { try await onThread(body) }
}

@concurrent
private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(OwnThreadExecutor()) { try await run(body) }
}

@concurrent
private func run<Value: Sendable>(_ body: @Sendable () throws -> Value) async throws -> Value { try body() }

/// Gives each piece of a task a thread of its own.
private final class OwnThreadExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }.start()
    }
}

/// A test's loop ran for longer than it may.
public struct LoopTimeout: Error {
    /// How things stood then.
    public let state: String
}

/// Gives `body` a loop on a thread of its own, runs it until it is stopped, and then asks `result`.
///
/// - Parameters:
///   - seconds: The time after which the loop is stopped and the test fails.
///   - state: Asked on the loop's thread when the time is over, for the error.
///   - body: Sets everything up, and returns the closure that makes the result once the loop has stopped. The values
/// that this closure holds live as long.
public func onLoop<Value: Sendable>(
    within seconds: Int64 = Int64(patience), state: (@Sendable () -> String)? = nil,
    _ body: @escaping @Sendable (EventLoop) throws -> () throws -> Value
) async throws -> Value {
    try await onThread {
        let loop = try EventLoop()
        let hasTimedOut = Flag()
        let watchdog = try TimerHandle(on: loop) { _ in
            hasTimedOut.isSet = true
            loop.stop()
        }
        watchdog.schedule(afterMilliseconds: seconds * 1000)
        let result = try body(loop)
        loop.run()
        watchdog.cancel()
        defer { loop.shutDown() }
        // Not asked then: it may wait for a peer that waits for the loop.
        if hasTimedOut.isSet { throw LoopTimeout(state: state?() ?? "") }
        return try result()
    }
}

private final class Flag {
    var isSet = false
}
