internal import CLibuv
internal import Glibc

/// Is called on the loop's thread when the process receives a signal. Dropping the last reference stops it.
///
/// It does not keep the loop running by itself.
@safe public final class SignalHandle {
    /// The signals that programs here care about.
    public enum Signal: Sendable {
        case hangUp, interrupt, terminate, userDefined1, windowChanged

        var number: CInt {
            switch self {
            case .hangUp: SIGHUP
            case .interrupt: SIGINT
            case .terminate: SIGTERM
            case .userDefined1: SIGUSR1
            case .windowChanged: SIGWINCH
            }
        }
    }

    private let handle: OwnedHandle
    private let onSignal: () -> Void

    public init(_ signal: Signal, on loop: EventLoop, onSignal: @escaping () -> Void) throws(UVError) {
        handle = try unsafe OwnedHandle(on: loop, attempting: "watch for a signal", uv_signal_init)
        self.onSignal = onSignal
        handle.setOwner(self)
        let status = unsafe uv_signal_start(
            handle.pointer(as: uv_signal_t.self),
            { raw, _ in unsafe owner(of: raw, as: SignalHandle.self)?.onSignal() }, signal.number)
        try UVError.check(status, attempting: "watch for signal \(signal.number)")
        // A process inherits what its parent blocked, and the threads of some runtimes block nearly all signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, signal.number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        unsafe uv_unref(handle.raw)
    }
}
