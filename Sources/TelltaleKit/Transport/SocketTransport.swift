internal import Dispatch

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Glibc)
    internal import Glibc
#endif

/// Connections over TCP or a Unix socket, by the system's sockets. Without TLS.
public struct SocketTransport: Transport {
    public let address: ServerAddress
    /// The receive buffer of the socket in bytes; `nil` leaves the system's. While rows do not fit, the server replaces
    /// them by newer ones.
    public var receiveBuffer: Int?

    /// - Parameter address: Must not be `tls`, which fails at the first connection: that needs a transport with TLS.
    public init(to address: ServerAddress, receiveBuffer: Int? = nil) {
        self.address = address
        self.receiveBuffer = receiveBuffer
    }

    public func connect() async throws -> any TransportConnection {
        var reason = "no address"
        for candidate in try await addresses() {
            try Task.checkCancellation()
            do throws(TransportError) {
                let connection = try SocketConnection(candidate, receiveBuffer: receiveBuffer)
                try await connection.waitUntilConnected()
                return connection
            } catch {
                reason = error.description
            }
        }
        throw TransportError.failed("cannot connect to \(address): \(reason)")
    }

    private func addresses() async throws(TransportError) -> [TransportAddress] {
        switch address {
        case .unix(let path): return [TransportAddress(path: path)]
        case .tcp(let host, let port):
            // Looking up a name blocks.
            let found = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(returning: TransportAddress.all(host: host, port: port))
                }
            }
            return try found.get()
        case .tls:
            throw .unsupported("\(address) needs TLS, and sockets have none here: give the client a transport that has")
        }
    }
}

/// A non-blocking socket. Its descriptor is closed when the last task has released it, so that no other file can take
/// its number earlier.
private final class SocketConnection: TransportConnection {
    private let descriptor: CInt
    private static let queue = DispatchQueue(label: "telltale.sockets", attributes: .concurrent)

    /// Starts connecting.
    init(_ address: TransportAddress, receiveBuffer: Int?) throws(TransportError) {
        descriptor = socket(address.family, Self.streamType, 0)
        guard descriptor >= 0 else { throw .failed(Self.message(errno)) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        if let receiveBuffer { set(SOL_SOCKET, SO_RCVBUF, CInt(clamping: receiveBuffer)) }
        if address.family != AF_UNIX { set(CInt(IPPROTO_TCP), TCP_NODELAY, 1) }
        #if canImport(Darwin)
            set(SOL_SOCKET, SO_NOSIGPIPE, 1)
        #endif
        let status = unsafe address.withPointer { unsafe platformConnect(descriptor, $0, $1) }
        guard status == 0 || errno == EINPROGRESS else {
            // All properties are initialized, so deinit runs and closes the descriptor.
            let error = errno
            throw .failed(Self.message(error))
        }
    }

    deinit {
        _ = platformClose(descriptor)
    }

    func waitUntilConnected() async throws(TransportError) {
        await wait(toWrite: true)
        var error: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
        guard error == 0 else { throw .failed(Self.message(error)) }
    }

    func receive() async throws -> [UInt8] {
        while true {
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
                count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
                filled = max(count, 0)
            }
            if count >= 0 { return bytes }
            let error = errno
            guard error == EAGAIN || error == EWOULDBLOCK || error == EINTR else {
                throw TransportError.failed(Self.message(error))
            }
            if error != EINTR { await wait(toWrite: false) }
        }
    }

    func send(_ bytes: [UInt8]) async throws {
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes { rest in
                unsafe platformSend(descriptor, rest.baseAddress, rest.count)
            }
            let error = errno
            if count >= 0 {
                start += count
            } else if error == EAGAIN || error == EWOULDBLOCK {
                await wait(toWrite: true)
            } else if error != EINTR {
                throw TransportError.failed(Self.message(error))
            }
        }
    }

    /// Shuts both directions down, which wakes the waiting tasks.
    func close() { _ = shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Waits until the socket is readable or writable, or has ended. Cancelling the task ends the connection.
    private func wait(toWrite: Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let source: any DispatchSourceProtocol =
                    toWrite
                    ? DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: Self.queue)
                    : DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: Self.queue)
                // The handler holds the source until it has fired, once.
                source.setEventHandler { source.cancel() }
                source.setCancelHandler { continuation.resume() }
                source.activate()
            }
        } onCancel: {
            close()
        }
    }

    private func set(_ level: CInt, _ option: CInt, _ value: CInt) {
        var value = value
        unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }

    private static func message(_ error: CInt) -> String { unsafe String(cString: strerror(error)) }

    #if canImport(Glibc)
        private static let streamType = CInt(SOCK_STREAM.rawValue)
    #else
        private static let streamType = SOCK_STREAM
    #endif
}

// Wrappers for system functions that have the name of a method.
private func platformClose(_ descriptor: CInt) -> CInt { close(descriptor) }

@unsafe private func platformConnect(_ descriptor: CInt, _ address: UnsafePointer<sockaddr>, _ length: socklen_t)
    -> CInt
{
    unsafe connect(descriptor, address, length)
}

@unsafe private func platformSend(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Darwin)
        unsafe send(descriptor, bytes, count, 0)
    #else
        unsafe send(descriptor, bytes, count, CInt(MSG_NOSIGNAL))
    #endif
}
