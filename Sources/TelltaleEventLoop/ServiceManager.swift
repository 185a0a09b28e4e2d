internal import CTelltaleLibuv
internal import Glibc
internal import Synchronization

/// The service manager that started the process, as `sd_notify` reaches it: a datagram to the socket of `NOTIFY_SOCKET`.
///
/// Without the variable nothing is told. A socket that is full or gone is no failure: the manager's own limits judge silence.
public final class ServiceManager: Sendable {
    private let address: ServiceManagerAddress?
    private let descriptor: CInt
    private let isStopping = Atomic(false)
    /// How often the loop says that it turns: half of what the manager waits. `nil` where nobody waits for it.
    public let watchdogMilliseconds: Int64?

    /// Takes the variables out of the environment, so that no child speaks for this process.
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

    /// `WATCHDOG_PID`, where it is set, names the one process that is meant.
    static func watchdogInterval(_ environment: [String: String], process: pid_t) -> Int64? {
        if let meant = environment["WATCHDOG_PID"], meant != String(process) { return nil }
        guard let limit = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), limit > 0 else { return nil }
        return max(1, limit / 2_000)
    }

    /// The timer by which the loop says that it turns; none where nobody waits for it. A loop that hangs says nothing.
    public func watchdog(on loop: EventLoop) throws(UVError) -> TimerHandle? {
        guard let watchdogMilliseconds else { return nil }
        let timer = try TimerHandle(on: loop) { [self] _ in tell("WATCHDOG=1") }
        timer.scheduleRepeating(everyMilliseconds: watchdogMilliseconds)
        return timer
    }

    public func ready() { tell("READY=1", "STATUS=serving") }

    /// Once: a process that stops is asked to stop again at times.
    public func stopping() {
        if !isStopping.exchange(true, ordering: .relaxed) { tell("STOPPING=1", "STATUS=stopping") }
    }

    /// A reload begins. Say ``reloaded()`` behind it.
    ///
    /// - Returns: `false` for a process that stops, which reloads nothing: it would be taken for one that is ready again.
    public func reloading() -> Bool {
        guard !isStopping.load(ordering: .relaxed) else { return false }
        tell("RELOADING=1")
        return true
    }

    public func reloaded() {
        if !isStopping.load(ordering: .relaxed) { tell("READY=1") }
    }

    /// Sends these assignments in one datagram.
    public func tell(_ lines: String...) {
        guard let address, descriptor >= 0 else { return }
        let text = Array(lines.joined(separator: "\n").utf8)
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        unsafe address.withSocketAddress { pointer, length in
            _ = unsafe sendto(descriptor, text, text.count, flags, pointer, length)
        }
    }
}

/// The address in `NOTIFY_SOCKET`: a path, or a name after `@` that is in no folder.
struct ServiceManagerAddress: Sendable {
    private let bytes: [UInt8]

    /// `nil` for what is neither, or too long for a socket's address.
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
        // The name after `@` has no end of its own: the length is its end.
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }
}
