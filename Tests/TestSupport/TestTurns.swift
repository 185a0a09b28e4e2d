internal import Synchronization

/// Lets at most `count` pieces of work run at a time. The others wait in the order in which they came, and block no thread.
public final class TestTurns: Sendable {
    static let ofProcesses = TestTurns(6)

    private struct State {
        var freeCount: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    public init(_ count: Int) {
        state = Mutex(State(freeCount: count))
    }

    public func run<Value: Sendable>(_ work: @Sendable () async throws -> Value) async rethrows -> Value {
        await begin()
        defer { end() }
        return try await work()
    }

    private func begin() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.freeCount > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.freeCount -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private func end() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.freeCount += 1
            return nil
        }
        next?.resume()
    }
}
