internal import CTelltaleLibuv
internal import Glibc

/// Accepts connections at one address. Releasing the last reference stops it and removes the file of a Unix socket.
@safe public final class Listener {
    public struct Options {
        /// The number of connections that the system queues until the loop accepts them.
        public var backlog = 4096
        /// The number of descriptors reserved for files, timers and libraries. A connection that would use one of them
        /// is sent the farewell and closed.
        public var reservedDescriptorCount = 64
        /// Called for each connection that cannot be accepted: its last bytes, a line of the caller's protocol. They are
        /// not sent where ``tls`` is set.
        public var farewell: () -> [UInt8] = { [] }
        /// The certificate of new connections; `nil` = they are plain. A connection is given to its owner when its
        /// handshake is finished.
        public var tls: (() -> TLSContext)?
        /// The mode of a Unix socket's file.
        public var socketFileMode: UInt16 = 0o600

        public init() {}
    }

    /// The actual address, with the port that the system chose for port 0.
    public let endpoint: Endpoint
    /// The number of connections refused for lack of descriptors.
    public private(set) var refusedCount = 0

    private let handle: OwnedHandle
    private let family: Connection.Family
    private let options: Options
    private let descriptorCeiling: CInt
    private let onConnection: (Connection) -> Void
    private var handshakes: TLSHandshakes?
    /// Connections that were accepted in this turn.
    private var acceptedCount = 0
    /// Whether libuv holds a connection to accept in the next turn. It does not look for others until then.
    private var isAcceptDue = false
    private var idle: IdleHandle?
    /// Takes about a millisecond, so that many new connections do not delay the existing ones.
    package static let acceptsPerTurn = 32
    /// A reserved descriptor, which is closed to accept and refuse one connection when the process has no other left.
    private var spareDescriptor: CInt

    /// - Parameters:
    ///   - endpoint: `localhost`, an IPv4 or IPv6 literal, or the path of a Unix socket. Port 0 stands for any free
    ///     port. A socket file without a listener is replaced.
    ///   - onConnection: Called with each connection; must call ``Connection/start(_:)`` within the call.
    /// - Throws: ``UVError`` with the address: in use, not local, or not permitted.
    public init(
        at endpoint: Endpoint, on loop: EventLoop, options: Options = Options(),
        onConnection: @escaping (Connection) -> Void
    ) throws(UVError) {
        self.options = options
        self.onConnection = onConnection
        descriptorCeiling = DescriptorLimit.current(less: options.reservedDescriptorCount)
        switch endpoint {
        case .tcp(let host, let port):
            family = .tcp
            handle = try unsafe OwnedHandle(on: loop, attempting: "make a TCP socket", uv_tcp_init)
            self.endpoint = try unsafe Self.bind(handle.pointer(as: uv_tcp_t.self), host, port)
        case .unix(let path):
            family = .unix
            handle = try Self.bindUnixSocket(path, on: loop, mode: options.socketFileMode)
            self.endpoint = endpoint
        }
        spareDescriptor = Self.openSpareDescriptor()
        if let tls = options.tls {
            handshakes = try TLSHandshakes(on: loop, context: tls, onFinished: onConnection)
        }
        idle = try IdleHandle(on: loop) { [weak self] _ in self?.beginTurn() }
        handle.setOwner(self)
        // For TCP, libuv reports a port in use only here.
        let status = unsafe uv_listen(stream, CInt(clamping: options.backlog)) { raw, status in
            unsafe owner(of: raw, as: Listener.self)?.hasConnection(status)
        }
        try UVError.check(status, attempting: "listen on \(endpoint)")
    }

    deinit {
        handshakes?.endAll()
        if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
    }

    private var stream: UnsafeMutablePointer<uv_stream_t> { unsafe handle.pointer(as: uv_stream_t.self) }

    private static func bind(
        _ tcp: UnsafeMutablePointer<uv_tcp_t>, _ host: String, _ port: UInt16
    ) throws(UVError) -> Endpoint {
        let attempt = "listen on \(Endpoint.tcp(host: host, port: port))"
        guard let address = SocketAddress(literal: host == "localhost" ? "127.0.0.1" : host, port: port) else {
            throw UVError(.invalidArgument, attempting: "\(attempt), which is no IP address and not localhost")
        }
        // libuv sets SO_REUSEADDR, so a restart need not wait for the end of old connections.
        let status = unsafe address.withSockaddr { unsafe uv_tcp_bind(tcp, $0, 0) }
        try UVError.check(status, attempting: attempt)
        guard let bound = unsafe SocketAddress(of: tcp, uv_tcp_getsockname)?.endpoint else {
            throw UVError(.addressInUse, attempting: attempt)  // libuv defers the error of the bind.
        }
        return bound
    }

    private func hasConnection(_ status: CInt) {
        guard status >= 0 else { return acceptWithSpareDescriptor() }
        guard acceptedCount < Self.acceptsPerTurn else {
            isAcceptDue = true
            return
        }
        accept()
    }

    private func beginTurn() {
        acceptedCount = 0
        guard isAcceptDue else {
            idle?.stop()
            return
        }
        isAcceptDue = false
        accept()
    }

    private func accept() {
        acceptedCount += 1
        if acceptedCount == 1 { idle?.start() }
        do throws(UVError) {
            let connection = try Connection(family, on: handle.loop)
            guard let accepted = unsafe connection.stream else { return }
            let status = unsafe uv_accept(stream, accepted)
            guard status >= 0 else { return connection.close() }
            connection.tuneTCP()
            connection.boundSendAhead()
            // A new descriptor has the lowest free number, so the number bounds how many are in use.
            guard connection.descriptor < descriptorCeiling else {
                let farewell = refuse()
                if !farewell.isEmpty { _ = connection.write(farewell) }
                return connection.close()
            }
            if let handshakes { handshakes.begin(connection) } else { onConnection(connection) }
        } catch {
            // Only memory can be short here, and then there is no remedy.
        }
    }

    /// Handles a refused connection.
    ///
    /// - Returns: The bytes to send it; empty on an encrypted listener, where nothing can be sent before a handshake.
    private func refuse() -> [UInt8] {
        refusedCount += 1
        let farewell = options.farewell()
        return handshakes == nil ? farewell : []
    }

    /// libuv reserves its own descriptor, with which it refuses waiting connections. If another thread has taken that
    /// number, this does the same; otherwise the loop would spin on a socket that it cannot accept from.
    private func acceptWithSpareDescriptor() {
        var listening: uv_os_fd_t = -1
        // Another thread may have taken its number the last time.
        if spareDescriptor < 0 { spareDescriptor = Self.openSpareDescriptor() }
        guard spareDescriptor >= 0, unsafe uv_fileno(handle.raw, &listening) == 0 else { return }
        Glibc.close(spareDescriptor)
        let accepted = Glibc.accept(listening, nil, nil)
        if accepted >= 0 {
            let farewell = refuse()
            _ = unsafe farewell.withUnsafeBytes {
                unsafe send(accepted, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
            }
            Glibc.close(accepted)
        }
        spareDescriptor = Self.openSpareDescriptor()
    }

    private static func openSpareDescriptor() -> CInt {
        unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    }

    /// Binds `path` after removing a stale socket file, which a process that died has left.
    ///
    /// libuv unlinks the file when the handle is closed.
    static func bindUnixSocket(
        _ path: String, on loop: EventLoop, mode: UInt16
    ) throws(UVError) -> OwnedHandle {
        let attempt = "listen on \(Endpoint.unix(path: path))"
        guard path.utf8.count <= Endpoint.pathLengthLimit, !path.utf8.contains(0) else {
            throw UVError(.nameTooLong, attempting: attempt)
        }
        let handle = try OwnedHandle(on: loop, attempting: "make a Unix socket") { unsafe uv_pipe_init($0, $1, 0) }
        var status = unsafe uv_pipe_bind(handle.pointer(as: uv_pipe_t.self), path)
        if status == UV_EADDRINUSE.rawValue, isStaleSocket(path) {
            _ = unsafe unlink(path)
            status = unsafe uv_pipe_bind(handle.pointer(as: uv_pipe_t.self), path)
        }
        try UVError.check(status, attempting: attempt)
        _ = unsafe chmod(path, mode_t(mode))
        return handle
    }

    /// Whether `path` is a socket without a listener. Any other file is kept.
    private static func isStaleSocket(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            for (index, byte) in path.utf8.enumerated() where index < Endpoint.pathLengthLimit {
                unsafe field[index] = byte
            }
        }
        let connected = unsafe withUnsafePointer(to: address) { address in
            unsafe connect(
                descriptor, UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size))
        }
        return connected < 0 && errno == ECONNREFUSED
    }
}

/// The largest number of open files and sockets of this process.
public enum DescriptorLimit {
    public static var current: Int { Int(clamping: limits.rlim_cur) }

    /// Raises the limit as far as the process may. Returns the limit then in force.
    @discardableResult
    public static func raiseToMaximum() -> Int {
        var limits = limits
        limits.rlim_cur = limits.rlim_max
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        return current
    }

    /// The first descriptor number that connections may not use. If the limit is small, only a part of it is reserved.
    static func current(less reservedCount: Int) -> CInt {
        CInt(clamping: current - min(max(0, reservedCount), current / 2))
    }

    private static var limits: rlimit {
        var limits = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        return limits
    }
}
