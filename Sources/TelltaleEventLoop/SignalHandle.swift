internal import CTelltaleLibuv
internal import Glibc

/// Calls a closure on the loop's thread when the process receives a signal. Releasing the last reference stops it.
///
/// It does not keep the loop running by itself.
@safe public final class SignalHandle {
    /// The signals that the programs of this package handle.
    public enum Signal: Sendable {
        case hangUp, interrupt, terminate, userDefined1, windowChanged
        /// Ctrl-Z. Its handler must call ``SignalHandle/actByDefault()``.
        case stop
        /// The process continues after a stop.
        case `continue`

        var number: CInt {
            switch self {
            case .hangUp: SIGHUP
            case .interrupt: SIGINT
            case .terminate: SIGTERM
            case .userDefined1: SIGUSR1
            case .windowChanged: SIGWINCH
            case .stop: SIGTSTP
            case .continue: SIGCONT
            }
        }
    }

    private let handle: OwnedHandle
    private let signal: Signal
    private let onSignal: () -> Void

    public init(_ signal: Signal, on loop: EventLoop, onSignal: @escaping () -> Void) throws(UVError) {
        handle = try unsafe OwnedHandle(on: loop, attempting: "watch for a signal", uv_signal_init)
        self.signal = signal
        self.onSignal = onSignal
        handle.setOwner(self)
        try UVError.check(start(), attempting: "watch for signal \(signal.number)")
        Self.unblock(signal.number)
        unsafe uv_unref(handle.raw)
    }

    /// Lets the signal take its default effect on this process and returns after it: a stopped process continues here.
    ///
    /// - Precondition: This is the only handle for the signal.
    public func actByDefault() {
        unsafe uv_signal_stop(handle.pointer(as: uv_signal_t.self))
        raise(signal.number)
        // The handle was active before, so it can be started again.
        _ = start()
    }

    /// Unblocks a signal. A process inherits its parent's signal mask, and some runtimes block nearly all signals in
    /// their threads.
    static func unblock(_ number: CInt) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private func start() -> CInt {
        unsafe uv_signal_start(
            handle.pointer(as: uv_signal_t.self),
            { raw, _ in unsafe owner(of: raw, as: SignalHandle.self)?.onSignal() }, signal.number)
    }
}
