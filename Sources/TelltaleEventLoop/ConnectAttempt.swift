internal import CTelltaleLibuv
internal import Glibc

/// A connection attempt: name lookup, then each address in turn. Releasing the last reference cancels it.
@safe public final class ConnectAttempt {
    public typealias Completion = (Result<Connection, UVError>) -> Void

    private let loop: EventLoop
    private let endpoint: Endpoint
    private var completion: Completion?
    private var addresses: [SocketAddress] = []
    private var current: Connection?
    private let tls: TLSContext?

    /// - Parameters:
    ///   - tls: Encrypts the connection, and checks that the certificate is that of the endpoint's host.
    ///   - completion: Called once, in a later turn, unless the attempt is cancelled before. After a success it
    ///     must call ``Connection/start(_:)`` within the call. The attempt has no timeout: the caller sets a timer and
    ///     cancels.
    public init(
        to endpoint: Endpoint, on loop: EventLoop, tls: TLSContext? = nil, completion: @escaping Completion
    ) throws(UVError) {
        self.tls = tls
        self.loop = loop
        self.endpoint = endpoint
        self.completion = completion
        switch endpoint {
        case .unix(let path): try connectUnix(path)
        case .tcp(let host, let port):
            if let address = SocketAddress(literal: host, port: port) {
                addresses = [address]
                try connectNext()
            } else {
                try resolve(host, port)
            }
        }
    }

    deinit {
        cancel()
    }

    /// Cancels the attempt: the completion is not called.
    public func cancel() {
        completion = nil
        current?.close()
        current = nil
    }

    private var attempt: String { "connect to \(endpoint)" }

    private func finish(_ result: Result<Connection, UVError>) {
        let completion = completion
        self.completion = nil
        current = nil
        if let completion {
            completion(result)
        } else if case .success(let connection) = result {
            connection.close()
        }
    }

    // MARK: Unix

    private func connectUnix(_ path: String) throws(UVError) {
        guard path.utf8.count <= Endpoint.pathLengthLimit, !path.utf8.contains(0) else {
            throw UVError(.nameTooLong, attempting: attempt)
        }
        let connection = try Connection(.unix, on: loop)
        current = connection
        guard let stream = unsafe connection.stream else { return }
        let request = unsafe ConnectRequest.make(self)
        unsafe uv_pipe_connect(
            request, UnsafeMutableRawPointer(stream).assumingMemoryBound(to: uv_pipe_t.self), path,
            { request, status in unsafe ConnectRequest.finish(request, status) })
    }

    // MARK: TCP

    private func connectNext() throws(UVError) {
        let address = addresses.removeFirst()
        let connection = try Connection(.tcp, on: loop)
        guard let stream = unsafe connection.stream else { return }
        let tcp = unsafe UnsafeMutableRawPointer(stream).assumingMemoryBound(to: uv_tcp_t.self)
        let request = unsafe ConnectRequest.make(self)
        let status = unsafe address.withSockaddr { address in
            unsafe uv_tcp_connect(request, tcp, address) { request, status in
                unsafe ConnectRequest.finish(request, status)
            }
        }
        guard status >= 0 else {
            unsafe ConnectRequest.free(request)
            connection.close()
            throw UVError(.init(rawValue: status), attempting: attempt)
        }
        current = connection
    }

    fileprivate func hasConnected(_ status: CInt) {
        guard let connection = current else { return }
        if status >= 0 {
            connection.tuneTCP()
            guard let tls, case .tcp(let host, _) = endpoint else { return finish(.success(connection)) }
            return beginHandshake(on: connection, tls, host)
        }
        connection.close()
        current = nil
        guard status != UV_ECANCELED.rawValue, !addresses.isEmpty else {
            return finish(.failure(UVError(.init(rawValue: status), attempting: attempt)))
        }
        do throws(UVError) {
            try connectNext()
        } catch {
            finish(.failure(error))
        }
    }

    // MARK: TLS

    private func beginHandshake(on connection: Connection, _ context: TLSContext, _ host: String) {
        connection.tls = context.session(expecting: host)
        connection.onHandshakeBytes = { [weak self] bytes in
            guard let self, current != nil else { return }
            guard let tls = connection.tls, !bytes.isEmpty, tls.feed(bytes) else {
                return giveUpHandshake("the server ended the handshake; does it speak TLS on this port?")
            }
            takeHandshakeStep(connection)
        }
        connection.resumeReading()
        takeHandshakeStep(connection)
    }

    private func takeHandshakeStep(_ connection: Connection) {
        guard let tls = connection.tls else { return giveUpHandshake("there is no memory for TLS") }
        let result = tls.handshake()
        connection.sendWaitingCiphertext()
        switch result {
        case .needsMore: break
        case .failed(let reason): giveUpHandshake(reason)
        case .finished:
            connection.onHandshakeBytes = nil
            finish(.success(connection))
            connection.deliverPlaintext()
        }
    }

    private func giveUpHandshake(_ reason: String) {
        current?.close()
        finish(.failure(UVError(.protocolError, attempting: "\(attempt) with TLS, because \(reason)")))
    }

    // MARK: Names

    private func resolve(_ host: String, _ port: UInt16) throws(UVError) {
        let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
        unsafe request.pointee.data = Unmanaged.passRetained(WeakAttempt(self)).toOpaque()
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        let status = unsafe uv_getaddrinfo(
            loop.raw, request,
            { request, status, answers in
                guard let request = unsafe request, let data = unsafe request.pointee.data else { return }
                let attempt = unsafe Unmanaged<WeakAttempt>.fromOpaque(data).takeRetainedValue().attempt
                unsafe request.deallocate()
                unsafe attempt?.hasLookedUp(status, answers)
                unsafe uv_freeaddrinfo(answers)
            }, host, String(port), &hints)
        guard status >= 0 else {
            unsafe Unmanaged<WeakAttempt>.fromOpaque(request.pointee.data).release()
            unsafe request.deallocate()
            throw UVError(.init(rawValue: status), attempting: attempt)
        }
    }

    private func hasLookedUp(_ status: CInt, _ answers: UnsafeMutablePointer<addrinfo>?) {
        guard completion != nil else { return }
        var next = unsafe answers
        while let answer = unsafe next {
            if let address = unsafe answer.pointee.ai_addr {
                unsafe addresses.append(SocketAddress(copying: address, length: Int(answer.pointee.ai_addrlen)))
            }
            unsafe next = answer.pointee.ai_next
        }
        do throws(UVError) {
            try UVError.check(status, attempting: attempt)
            guard !addresses.isEmpty else { throw UVError(.noSuchFile, attempting: attempt) }
            try connectNext()
        } catch {
            finish(.failure(error))
        }
    }
}

/// A weak reference, so that a cancelled attempt can be freed while libuv still processes its request.
private final class WeakAttempt {
    weak let attempt: ConnectAttempt?

    init(_ attempt: ConnectAttempt) {
        self.attempt = attempt
    }
}

private enum ConnectRequest {
    @unsafe static func make(_ attempt: ConnectAttempt) -> UnsafeMutablePointer<uv_connect_t> {
        let request = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
        unsafe request.pointee.data = Unmanaged.passRetained(WeakAttempt(attempt)).toOpaque()
        return unsafe request
    }

    /// Frees a request that libuv refused.
    @unsafe static func free(_ request: UnsafeMutablePointer<uv_connect_t>) {
        unsafe Unmanaged<WeakAttempt>.fromOpaque(request.pointee.data).release()
        unsafe request.deallocate()
    }

    @unsafe static func finish(_ request: UnsafeMutablePointer<uv_connect_t>?, _ status: CInt) {
        guard let request = unsafe request, let data = unsafe request.pointee.data else { return }
        let attempt = unsafe Unmanaged<WeakAttempt>.fromOpaque(data).takeRetainedValue().attempt
        unsafe request.deallocate()
        attempt?.hasConnected(status)
    }
}

extension Connection {
    /// Disables Nagle's algorithm for short lines and enables keep-alive to detect a dead peer. Has no effect on a Unix
    /// socket.
    func tuneTCP() {
        guard let stream = unsafe stream else { return }
        let base = unsafe UnsafeMutableRawPointer(stream).assumingMemoryBound(to: uv_handle_t.self)
        guard unsafe uv_handle_get_type(base) == UV_TCP else { return }
        let tcp = unsafe UnsafeMutableRawPointer(stream).assumingMemoryBound(to: uv_tcp_t.self)
        _ = unsafe uv_tcp_nodelay(tcp, 1)
        _ = unsafe uv_tcp_keepalive(tcp, 1, Self.keepAliveSeconds)
    }

    /// The idle time after which the system probes the peer, in seconds.
    private static let keepAliveSeconds: CUnsignedInt = 60
}
