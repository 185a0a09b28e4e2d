internal import Glibc

/// A value behind a lock, and a way to wait until it is what one needs.
///
/// The lock and the condition live at addresses of their own from `init` to `deinit`, which is what makes the unsafe
/// calls below right.
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
    package func take<Result>(_ isReady: (Value) -> Bool, _ body: (inout Value) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while !isReady(value) { unsafe pthread_cond_wait(condition, mutex) }
        return body(&value)
    }
}

/// Runs `body` on a thread of its own, with every signal blocked: those are for the loop.
///
/// - Parameter isBackground: What it does is waited for only where it has fallen far behind, so it is not to take a
///   processor from those who are waited for: while they want it, it gets a tenth of what they get.
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
            // On Linux this is the thread's own. Where it may not be set, nothing is lost but time.
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
