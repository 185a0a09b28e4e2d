internal import Synchronization

/// Wakes one waiting task. A signal without a waiting task is kept for the next one.
final class Wakeup: Sendable {
    private enum State {
        case idle
        case signaled
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.idle)

    /// Waits for a signal, or until the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if case .idle = state, !Task.isCancelled {
                        state = .waiting(continuation)
                        return false
                    }
                    state = .idle
                    return true
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            signal()
        }
    }

    func signal() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard case .waiting(let continuation) = state else {
                state = .signaled
                return nil
            }
            state = .idle
            return continuation
        }
        waiting?.resume()
    }

    /// Waits for a signal, at most until `deadline`.
    func wait(until deadline: ContinuousClock.Instant?) async {
        guard let deadline else { return await wait() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(until: deadline, clock: .continuous) }
            group.addTask { await self.wait() }
            await group.next()
            group.cancelAll()
        }
    }
}
