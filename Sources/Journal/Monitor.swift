internal import Glibc

/// A value protected by a lock, with a way to wait for a state of it.
///
/// The lock and the condition have stable addresses from `init` to `deinit`, which the unsafe calls below require.
@safe package final class Monitor<Value: Sendable>: @unchecked Sendable {
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    package init(_ value: Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    package func change(_ body: (inout Value) -> Void) {
        unsafe pthread_mutex_lock(mutex)
        body(&value)
        unsafe pthread_mutex_unlock(mutex)
        unsafe pthread_cond_signal(condition)
    }

    /// Waits until `isReady`, then calls `body`.
    package func waitAndChange<Result>(_ isReady: (Value) -> Bool, _ body: (inout Value) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while !isReady(value) { unsafe pthread_cond_wait(condition, mutex) }
        return body(&value)
    }
}

/// Runs `body` on a new thread that blocks every signal, because signals belong to the event loop.
///
/// - Parameter isBackground: Runs the thread at a lower priority. Its work is awaited only if it falls far behind, so
///   it must not take processor time from the threads that are awaited.
package func startThread(isBackground: Bool = false, _ body: sending @escaping () -> Void) {
    let start = unsafe Unmanaged.passRetained(ThreadStart(isBackground, body)).toOpaque()
    var thread = pthread_t()
    let code = unsafe pthread_create(
        &thread, nil,
        { argument in
            guard let argument = unsafe argument else { return nil }
            let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
            var all = sigset_t()
            unsafe sigfillset(&all)
            unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
            // On Linux the nice value is per thread. If it cannot be set, the work is only less well scheduled.
            if start.isBackground { _ = nice(10) }
            start.body()
            return nil
        }, start)
    precondition(code == 0, "no thread: error \(code)")
    pthread_detach(thread)
}

private final class ThreadStart {
    let isBackground: Bool
    let body: () -> Void

    init(_ isBackground: Bool, _ body: @escaping () -> Void) {
        self.isBackground = isBackground
        self.body = body
    }
}
