internal import CTelltaleLibuv
internal import Glibc
internal import Synchronization

/// The service manager that started the process, notified as by `sd_notify`: a datagram to the socket of
/// `NOTIFY_SOCKET`.
///
/// Without the variable nothing is sent. A full or missing socket is not a failure: the manager has its own timeout for
/// silence.
public final class ServiceManager: Sendable {
    private let address: ServiceManagerAddress?
    private let descriptor: CInt
    private let isStopping = Atomic(false)
    /// The interval of watchdog notifications: half of the manager's timeout. `nil` if the manager expects none.
    public let watchdogMilliseconds: Int64?

    /// Removes the variables from the environment, so that no child notifies in this process's name.
    public convenience init() {
        var environment: [String: String] = [:]
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            if let value = unsafe getenv(name) { environment[name] = unsafe String(cString: value) }
            unsafe unsetenv(name)
        }
        self.init(environment, process: getpid())
    }

    init(_ environment: [String: String], process: pid_t) {
        address = environment["NOTIFY_SOCKET"].flatMap { ServiceManagerAddress($0) }
        let type = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        descriptor = address == nil ? -1 : socket(AF_UNIX, type, 0)
        watchdogMilliseconds = descriptor < 0 ? nil : Self.watchdogInterval(environment, process: process)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// `WATCHDOG_PID`, if set, is the only process that must notify.
    static func watchdogInterval(_ environment: [String: String], process: pid_t) -> Int64? {
        if let meant = environment["WATCHDOG_PID"], meant != String(process) { return nil }
        guard let limit = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), limit > 0 else { return nil }
        return max(1, limit / 2_000)
    }

    /// The timer that sends watchdog notifications; `nil` if none are expected. A loop that hangs sends none.
    public func watchdog(on loop: EventLoop) throws(UVError) -> TimerHandle? {
        guard let watchdogMilliseconds else { return nil }
        let timer = try TimerHandle(on: loop) { [self] _ in notify("WATCHDOG=1") }
        timer.scheduleRepeating(everyMilliseconds: watchdogMilliseconds)
        return timer
    }

    public func ready() { notify("READY=1", "STATUS=serving") }

    /// Sent once, because a stopping process may be asked to stop again.
    public func stopping() {
        if !isStopping.exchange(true, ordering: .relaxed) { notify("STOPPING=1", "STATUS=stopping") }
    }

    /// Reports that a reload begins. Call ``reloaded()`` after it.
    ///
    /// - Returns: `false` for a process that is stopping, which must not reload: it would be taken for ready again.
    public func reloading() -> Bool {
        guard !isStopping.load(ordering: .relaxed) else { return false }
        notify("RELOADING=1")
        return true
    }

    public func reloaded() {
        if !isStopping.load(ordering: .relaxed) { notify("READY=1") }
    }

    /// Sends these assignments in one datagram.
    public func notify(_ lines: String...) {
        guard let address, descriptor >= 0 else { return }
        let text = Array(lines.joined(separator: "\n").utf8)
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        unsafe address.withSocketAddress { pointer, length in
            _ = unsafe sendto(descriptor, text, text.count, flags, pointer, length)
        }
    }
}

/// The address in `NOTIFY_SOCKET`: a path, or an abstract name after `@`.
struct ServiceManagerAddress: Sendable {
    private let bytes: [UInt8]

    /// `nil` if it is neither, or too long for a socket's address.
    init?(_ text: String) {
        var bytes = Array(text.utf8)
        guard bytes.count > 1, bytes.count < 108, bytes[0] == UInt8(ascii: "/") || bytes[0] == UInt8(ascii: "@") else {
            return nil
        }
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        self.bytes = bytes
    }

    func withSocketAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { path in unsafe path.copyBytes(from: bytes) }
        // An abstract name is not terminated: the length marks its end.
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }
}
