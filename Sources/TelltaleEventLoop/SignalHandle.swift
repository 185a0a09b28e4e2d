internal import CTelltaleLibuv
internal import Glibc

/// Is called on the loop's thread when the process receives a signal. Dropping the last reference stops it.
///
/// It does not keep the loop running by itself.
@safe public final class SignalHandle {
    /// The signals that programs here care about.
    public enum Signal: Sendable {
        case hangUp, interrupt, terminate, userDefined1, windowChanged
        /// Ctrl-Z. Whoever watches for it is to ``SignalHandle/actByDefault()``.
        case stop
        /// The process was stopped, and goes on.
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

    /// Lets the signal do to this process what it does where nobody watches for it, and returns when that is over: a
    /// process that was stopped goes on here.
    ///
    /// - Precondition: This is the only one that watches for it.
    public func actByDefault() {
        unsafe uv_signal_stop(handle.pointer(as: uv_signal_t.self))
        raise(signal.number)
        // What was watched for a moment ago can be watched for again.
        _ = start()
    }

    /// A process inherits what its parent blocked, and the threads of some runtimes block nearly all signals.
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
