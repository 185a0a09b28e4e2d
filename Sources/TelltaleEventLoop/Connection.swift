internal import CTelltaleLibuv
internal import Glibc

/// The callbacks of a connection, on the loop's thread. One object may serve many connections.
///
/// Each closure is given the connection, so that it need not capture it.
public final class ConnectionHandlers {
    public typealias OnData = (Connection, Span<UInt8>) -> Void

    let onData: OnData
    let onEnd: (Connection) -> Void
    let onWritable: (Connection) -> Void
    let onClosed: (Connection, Connection.CloseReason) -> Void

    /// - Parameters:
    ///   - onData: Called with received bytes, at least 1 and at most ``EventLoop/readBufferByteCount``, which are
    ///     valid only during the call.
    ///   - onEnd: Called when the peer will send no more (a half-close). The peer may still read, and the connection
    ///     stays open.
    ///   - onWritable: Called when the outstanding write is complete.
    ///   - onClosed: Called last, once, whatever the reason, in a later turn than its cause.
    public init(
        onData: @escaping OnData,
        onEnd: @escaping (Connection) -> Void,
        onWritable: @escaping (Connection) -> Void,
        onClosed: @escaping (Connection, Connection.CloseReason) -> Void
    ) {
        self.onData = onData
        self.onEnd = onEnd
        self.onWritable = onWritable
        self.onClosed = onClosed
    }
}

/// One end of a TCP or Unix-socket connection.
///
/// It keeps itself alive while it is open and reports its end once, through `onClosed`. At most one write is
/// outstanding: libuv's own queue is unbounded, so the owner keeps the bytes that do not fit.
@safe public final class Connection {
    public enum CloseReason: Hashable, Sendable {
        /// This side called ``Connection/close()``.
        case closed
        /// Reading or writing failed.
        case failed(UVError)
    }

    public enum WriteOutcome: Hashable, Sendable {
        /// The system has accepted all bytes.
        case written
        /// The system has accepted a part. The rest is written in the background, and then `onWritable` is called.
        case pending
        /// Nothing can be written any more: the connection is closed, or its writing side is shut.
        case closed
    }

    public let loop: EventLoop
    /// The number of bytes received.
    public private(set) var receivedByteCount: UInt64 = 0
    /// The number of bytes that the system has accepted for sending.
    public internal(set) var sentByteCount: UInt64 = 0

    /// `nil` once closed.
    private var handle: OwnedHandle?
    /// The stream of `handle`, unowned: access through a `~Copyable` optional would be verbose.
    var stream: UnsafeMutablePointer<uv_stream_t>?
    private var handlers: ConnectionHandlers?
    /// The outstanding write; `nil` while writable.
    var pendingWrite: PendingWrite?
    private var extras: Extras?
    /// A reference to itself that keeps an open connection alive.
    private var selfReference: Connection?
    // Ten thousand connections may be idle, so the object fits into 128 bytes: small members stand together.
    /// Whether the peer has shut its writing side.
    public private(set) var hasEnded = false
    private var isReading = false
    /// Whether one read takes at most ``smallReadByteCount``, so that few bytes wait for an owner that stops reading.
    public var readsLittle = false
    var isWriteShut = false
    private var knownDescriptor: CInt = -1
    /// The size that the system's send buffer was set to, in bytes; 0 = the system's default.
    var sendBuffer: CInt = 0
    private var shortTag: Int32 = 0

    /// The most bytes of one read if ``readsLittle``.
    public static let smallReadByteCount = 2_048

    enum Family { case tcp, unix }

    init(_ family: Family, on loop: EventLoop) throws(UVError) {
        self.loop = loop
        let handle =
            switch family {
            case .tcp: try unsafe OwnedHandle(on: loop, attempting: "make a TCP socket", uv_tcp_init)
            case .unix:
                try OwnedHandle(on: loop, attempting: "make a Unix socket") { unsafe uv_pipe_init($0, $1, 0) }
            }
        unsafe stream = handle.pointer(as: uv_stream_t.self)
        self.handle = consume handle
        unsafe uv_handle_set_data(rawHandle, Unmanaged.passUnretained(self).toOpaque())
        selfReference = self
    }

    /// Starts reading. The receiver of a new connection calls this once, within that call.
    public func start(_ handlers: ConnectionHandlers) {
        self.handlers = handlers
        resumeReading()
    }

    /// A number for the owner's use: the index of its session. At most `Int32.max`.
    public var tag: Int {
        get { Int(shortTag) }
        set { shortTag = Int32(clamping: newValue) }
    }

    public var isOpen: Bool { unsafe stream != nil }

    /// Whether ``write(_:)`` may be called: the connection is open and no write is outstanding.
    public var isWritable: Bool { unsafe stream != nil && pendingWrite == nil && !isWriteShut }

    /// Stops reading from the socket, so that TCP's flow control stops the peer.
    public func pauseReading() {
        guard let stream = unsafe stream, isReading else { return }
        isReading = false
        unsafe uv_read_stop(stream)
    }

    /// Starts reading again. Does nothing if the connection is reading, has ended or is closed.
    public func resumeReading() {
        guard let stream = unsafe stream, !isReading, !hasEnded else { return }
        isReading = true
        let status = unsafe uv_read_start(
            stream,
            { raw, _, buffer in
                guard let connection = unsafe owner(of: raw, as: Connection.self) else { return }
                unsafe buffer?.pointee = connection.freshReadBuffer
            },
            { raw, count, _ in
                guard let connection = unsafe owner(of: raw, as: Connection.self) else { return }
                connection.hasRead(count)
            })
        if status < 0 { fail(status, attempting: "read from a connection") }
    }

    /// Closes both sides at once and discards bytes that are not written. Does nothing if already closed.
    public func close() {
        close(.closed)
    }

    /// Shuts the writing side after the outstanding write, and closes when the peer has closed too, or after
    /// `milliseconds`. Bytes that arrive in the meantime are read and discarded.
    ///
    /// If the connection closed at once, arriving bytes would make the system send a reset, which can overtake the last
    /// line sent.
    public func finish(lingerMilliseconds milliseconds: Int64) {
        guard isOpen, linger == nil else { return }
        shutdownWrite()
        guard !hasEnded || pendingWrite != nil else { return close() }
        do throws(UVError) {
            let timer = try TimerHandle(on: loop) { [weak self] _ in self?.close() }
            timer.schedule(afterMilliseconds: milliseconds)
            needExtras().linger = timer
            resumeReading()
        } catch {
            close()
        }
    }

    func close(_ reason: CloseReason) {
        guard let handle = handle.take() else { return }
        unsafe stream = nil
        extras?.end()
        // The handlers are released with the handle, together with everything that they hold.
        handle.close { [self] in
            let handlers = handlers
            self.handlers = nil
            selfReference = nil
            handlers?.onClosed(self, reason)
        }
    }

    func fail(_ status: CInt, attempting attempt: String) {
        close(.failed(UVError(.init(rawValue: status), attempting: attempt)))
    }

    func isWritableAgain() {
        if linger != nil {
            if hasEnded { close() }
        } else {
            handlers?.onWritable(self)
        }
    }

    /// The socket's descriptor after it is accepted or connected; `CInt.max` before. libuv closes it with the handle.
    var descriptor: CInt {
        if knownDescriptor < 0 {
            guard isOpen, unsafe uv_fileno(rawHandle, &knownDescriptor) == 0 else { return .max }
        }
        return knownDescriptor
    }

    private var rawHandle: UnsafeMutablePointer<uv_handle_t>? {
        unsafe UnsafeMutableRawPointer(stream)?.assumingMemoryBound(to: uv_handle_t.self)
    }

    private var freshReadBuffer: uv_buf_t {
        let count = unsafe readsLittle ? Self.smallReadByteCount : loop.readBuffer.count
        return unsafe uv_buf_init(loop.readBuffer.baseAddress, CUnsignedInt(count))
    }

    private func hasRead(_ count: Int) {
        if let extras, extras.isEncrypted, count > 0 || count == Int(UV_EOF.rawValue) {
            hasReadCiphertext(count)
        } else if count > 0 {
            receivedByteCount += UInt64(count)
            guard linger == nil, let handlers else { return }
            // A local copy of the pointer, because the optimiser crashes on a span of a property that is reached
            // through a class.
            let buffer = unsafe UnsafeBufferPointer(rebasing: loop.readBuffer[..<count])
            unsafe buffer.withMemoryRebound(to: UInt8.self) { bytes in
                unsafe handlers.onData(self, bytes.span)
            }
        } else if count == Int(UV_EOF.rawValue) {
            endReading()
        } else if count < 0 {
            fail(CInt(truncatingIfNeeded: count), attempting: "read from a connection")
        }
        // Zero is libuv's EAGAIN: no bytes were available.
    }

    /// The peer sends no more.
    func endReading() {
        guard !hasEnded else { return }
        pauseReading()
        hasEnded = true
        if linger == nil {
            handlers?.onEnd(self)
        } else if pendingWrite == nil {
            close()
        }
    }

    var isLingering: Bool { linger != nil }
    private var linger: TimerHandle? { extras?.linger }

    func deliver(_ bytes: Span<UInt8>) { handlers?.onData(self, bytes) }

    private func hasReadCiphertext(_ count: Int) {
        receivedByteCount += UInt64(max(0, count))
        let buffer = unsafe UnsafeBufferPointer(rebasing: loop.readBuffer[..<max(0, count)])
        unsafe buffer.withMemoryRebound(to: UInt8.self) { bytes in
            if let handshake {
                unsafe handshake.receiveCiphertext(bytes.span)
            } else if let onHandshakeBytes {
                unsafe onHandshakeBytes(bytes.span)
            } else if count <= 0 || linger != nil {
                // An end without a word: whole lines have been delivered, and a cut line is dropped.
                if count <= 0 { endReading() }
            } else if let tls, unsafe tls.feed(bytes.span) {
                deliverPlaintext()
            } else {
                close()
            }
        }
    }
}

/// The connection of a loop's handle; `nil` for another kind of handle.
@unsafe func connection(of handle: UnsafeMutablePointer<uv_handle_t>?) -> Connection? {
    // The data of a closing handle belongs to its close callback. The data of an open one is an object of this module.
    guard let handle = unsafe handle, unsafe uv_is_closing(handle) == 0 else { return nil }
    guard let data = unsafe uv_handle_get_data(handle) else { return nil }
    return unsafe Unmanaged<AnyObject>.fromOpaque(data).takeUnretainedValue() as? Connection
}

extension Connection {
    /// The parts that a plain connection has at its end only, in an object of their own.
    fileprivate final class Extras {
        var linger: TimerHandle?
        var tls: TLSSession?
        var handshake: TLSHandshake?
        var onHandshakeBytes: ((Span<UInt8>) -> Void)?

        var isEncrypted: Bool { tls != nil || handshake != nil }

        /// Lets go of everything: who holds a closed connection holds no session of TLS. An outstanding write has its own bytes.
        func end() {
            let handshake = handshake
            (linger, tls, self.handshake, onHandshakeBytes) = (nil, nil, nil, nil)
            handshake?.connectionClosed()
        }
    }

    private func needExtras() -> Extras {
        if let extras { return extras }
        let new = Extras()
        extras = new
        return new
    }

    /// Encryption; `nil` on a plain connection.
    var tls: TLSSession? {
        get { extras?.tls }
        set { if newValue != nil || extras != nil { needExtras().tls = newValue } }
    }

    /// The handshake of an accepted connection until it is finished.
    var handshake: TLSHandshake? {
        get { extras?.handshake }
        set { if newValue != nil || extras != nil { needExtras().handshake = newValue } }
    }

    /// The owner of a client's connection until its handshake is finished: takes ciphertext, or its end.
    var onHandshakeBytes: ((Span<UInt8>) -> Void)? {
        get { extras?.onHandshakeBytes }
        set { if newValue != nil || extras != nil { needExtras().onHandshakeBytes = newValue } }
    }
}
