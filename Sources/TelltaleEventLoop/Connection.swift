internal import CTelltaleLibuv
internal import Glibc

/// What a connection tells its owner, on the loop's thread. One object may serve many connections.
///
/// Each closure is given the connection, so that it need not capture it.
public final class ConnectionHandlers {
    public typealias OnData = (Connection, Span<UInt8>) -> Void

    let onData: OnData
    let onEnd: (Connection) -> Void
    let onWritable: (Connection) -> Void
    let onClosed: (Connection, Connection.CloseReason) -> Void

    /// - Parameters:
    ///   - onData: Bytes arrived, at least 1 and at most ``EventLoop/readBufferByteCount``. They are gone afterwards.
    ///   - onEnd: The peer will send no more (a half-close). It may still read: nothing is closed here.
    ///   - onWritable: The outstanding write is done.
    ///   - onClosed: The last call, once, for whatever reason, in a later turn than what caused it.
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
/// It keeps itself alive while it is open, and tells its end once, through `onClosed`. At most one write is outstanding:
/// libuv's own queue is unbounded, so what does not fit is the owner's state, not the connection's.
@safe public final class Connection {
    public enum CloseReason: Hashable, Sendable {
        /// This side called ``Connection/close()``.
        case closed
        /// Reading or writing failed.
        case failed(UVError)
    }

    public enum WriteOutcome: Hashable, Sendable {
        /// The system has taken all bytes.
        case written
        /// The system has taken a part; the rest follows by itself, and then `onWritable` is called.
        case pending
        /// Nothing can be written any more: the connection is closed, or its writing side shut.
        case closed
    }

    public let loop: EventLoop
    /// For the owner: which of its sessions this is.
    public var tag = 0
    /// Bytes that the peer has sent.
    public private(set) var receivedByteCount: UInt64 = 0
    /// Bytes that the system has taken from us.
    public internal(set) var sentByteCount: UInt64 = 0

    /// `nil` once closed.
    private var handle: OwnedHandle?
    /// The same, without its owner: looking into a `~Copyable` optional costs more words than it is worth.
    var stream: UnsafeMutablePointer<uv_stream_t>?
    private var handlers: ConnectionHandlers?
    /// What is being written; `nil` while writable.
    var pendingWrite: PendingWrite?
    private var linger: TimerHandle?
    /// What keeps an open connection alive when nobody else does.
    private var itself: Connection?
    // There may be thousands of it, so what takes a byte stands together.
    /// Whether the peer has shut its writing side.
    public private(set) var hasEnded = false
    private var isReading = false
    var isWriteShut = false
    private var knownDescriptor: CInt = -1

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
        itself = self
    }

    /// Begins to read. Whoever is given a connection calls this once, from within that call.
    public func start(_ handlers: ConnectionHandlers) {
        self.handlers = handlers
        resumeReading()
    }

    public var isOpen: Bool { unsafe stream != nil }

    /// Whether ``write(_:)`` may be called: nothing is outstanding, and the connection is open.
    public var isWritable: Bool { unsafe stream != nil && pendingWrite == nil && !isWriteShut }

    /// Stops reading from the socket, so that the peer is held up by TCP's own flow control.
    public func pauseReading() {
        guard let stream = unsafe stream, isReading else { return }
        isReading = false
        unsafe uv_read_stop(stream)
    }

    /// Reads (again). Harmless when the connection reads already, has ended or is closed.
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

    /// Closes both sides now. What is not yet written is lost. Harmless when closed already.
    public func close() {
        close(.closed)
    }

    /// Shuts the writing side once the outstanding write is done, and closes when the peer has closed too, or after
    /// `milliseconds`. What arrives meanwhile is read and dropped.
    ///
    /// Closing at once while bytes arrive makes the system send a reset, which can overtake the last line we wrote.
    public func finish(lingerMilliseconds milliseconds: Int64) {
        guard isOpen, linger == nil else { return }
        shutdownWrite()
        guard !hasEnded || pendingWrite != nil else { return close() }
        do throws(UVError) {
            let timer = try TimerHandle(on: loop) { [weak self] _ in self?.close() }
            timer.schedule(afterMilliseconds: milliseconds)
            linger = timer
            resumeReading()
        } catch {
            close()
        }
    }

    func close(_ reason: CloseReason) {
        guard let handle = handle.take() else { return }
        unsafe stream = nil
        linger = nil
        // The handlers go with the handle, and with them what they hold.
        handle.close { [self] in
            let handlers = handlers
            self.handlers = nil
            itself = nil
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

    /// The socket, once it is accepted or connected; `CInt.max` where there is none. libuv closes it with the handle.
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
        unsafe uv_buf_init(loop.readBuffer.baseAddress, CUnsignedInt(loop.readBuffer.count))
    }

    private func hasRead(_ count: Int) {
        if count > 0 {
            receivedByteCount += UInt64(count)
            guard linger == nil, let handlers else { return }
            // A local copy of the pointer: a span of a property reached through a class crashes the optimiser.
            let buffer = unsafe UnsafeBufferPointer(rebasing: loop.readBuffer[..<count])
            unsafe buffer.withMemoryRebound(to: UInt8.self) { bytes in
                unsafe handlers.onData(self, bytes.span)
            }
        } else if count == Int(UV_EOF.rawValue) {
            isReading = false
            hasEnded = true
            if linger == nil {
                handlers?.onEnd(self)
            } else if pendingWrite == nil {
                close()
            }
        } else if count < 0 {
            fail(CInt(truncatingIfNeeded: count), attempting: "read from a connection")
        }
        // Zero is libuv's EAGAIN: nothing happened.
    }
}

/// The connection behind a handle of the loop, if it is one.
@unsafe func connection(of handle: UnsafeMutablePointer<uv_handle_t>?) -> Connection? {
    // A closing handle's data belongs to its close callback. Whatever an open one holds is an object of ours.
    guard let handle = unsafe handle, unsafe uv_is_closing(handle) == 0 else { return nil }
    guard let data = unsafe uv_handle_get_data(handle) else { return nil }
    return unsafe Unmanaged<AnyObject>.fromOpaque(data).takeUnretainedValue() as? Connection
}
