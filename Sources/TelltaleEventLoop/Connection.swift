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
    public private(set) var sentByteCount: UInt64 = 0

    /// `nil` once closed.
    private var handle: OwnedHandle?
    /// The stream of `handle`, unowned: access through a `~Copyable` optional would be verbose.
    var stream: UnsafeMutablePointer<uv_stream_t>?
    private var handlers: ConnectionHandlers?
    /// The outstanding write; `nil` while writable.
    private var pendingWrite: PendingWrite?
    private var extras: Extras?
    /// A reference to itself that keeps an open connection alive.
    private var selfReference: Connection?
    // Ten thousand connections may be idle, so the object fits into 128 bytes: small members stand together.
    /// Whether the peer has shut its writing side.
    public private(set) var hasEnded = false
    private var isReading = false
    /// Whether one read takes at most ``smallReadByteCount``, so that few bytes wait for an owner that stops reading.
    public var readsLittle = false
    private var isWriteShut = false
    private var knownDescriptor: CInt = -1
    /// The size that the system's send buffer was set to, in bytes; 0 = the system's default.
    private var sendBuffer: CInt = 0
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

    /// Writes without blocking. The part that the system does not accept now is written in the background.
    ///
    /// - Precondition: No write is outstanding. A second one would be a bug of the caller and would grow without bound.
    public func write(_ bytes: Span<UInt8>) -> WriteOutcome {
        guard isOpen, !isWriteShut else { return .closed }
        precondition(pendingWrite == nil, "one outstanding write a connection")
        guard !bytes.isEmpty else { return .written }
        if let tls { return writeEncrypted(bytes, tls) }
        return send(bytes)
    }

    /// Sends bytes as they are.
    func send(_ bytes: Span<UInt8>) -> WriteOutcome {
        guard let stream = unsafe stream else { return .closed }
        let written = sendAtOnce(bytes)
        guard written >= 0 || written == UV_EAGAIN.rawValue else {
            fail(CInt(clamping: written), attempting: "write to a connection")
            return .closed
        }
        let taken = max(0, written)
        sentByteCount += UInt64(taken)
        guard taken < bytes.count else { return .written }
        return unsafe writeLater(bytes.extracting(taken..<bytes.count), to: stream)
    }

    public func write(_ bytes: [UInt8]) -> WriteOutcome {
        write(bytes.span)
    }

    /// Does what `uv_try_write` does on an idle stream, but with `send(2)` instead of `write(2)`, whose path through
    /// the kernel is longer. Most of the cost of a delivery is in this call.
    ///
    /// - Returns: The number of bytes that the system accepted, or libuv's error number.
    private func sendAtOnce(_ bytes: Span<UInt8>) -> Int {
        while true {
            let taken = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
            }
            if taken >= 0 { return taken }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS: return Int(UV_EAGAIN.rawValue)
            // libuv's error numbers are the system's, negated.
            default: return -Int(errno)
            }
        }
    }

    /// Shuts the writing side after the outstanding write: the peer reads the end of the stream and may still send.
    public func shutdownWrite() {
        guard let stream = unsafe stream, !isWriteShut else { return }
        if let tls { sendEndOfTLS(tls) }
        isWriteShut = true
        let request = UnsafeMutablePointer<uv_shutdown_t>.allocate(capacity: 1)
        let status = unsafe uv_shutdown(request, stream) { request, _ in unsafe request?.deallocate() }
        // This fails only on a broken connection, which the reading side reports.
        if status < 0 { unsafe request.deallocate() }
    }

    /// The number of bytes of the outstanding write that the system has not accepted.
    public var pendingByteCount: Int {
        guard let stream = unsafe stream else { return 0 }
        return unsafe uv_stream_get_write_queue_size(stream)
    }

    /// The time in milliseconds for which the peer has not acknowledged a single one of the waiting bytes; 0 if no
    /// write is outstanding.
    ///
    /// Progress is measured when this is called, so the caller does so every few seconds. It counts the bytes that the
    /// peer's system acknowledged, not those in the local socket buffer: libuv reports a slow reader only after a third
    /// of a large buffer is free.
    public func stalledMilliseconds() -> Int64 {
        guard let pendingWrite, unsafe stream != nil else { return 0 }
        let now = loop.monotonicMilliseconds
        let untaken = untakenByteCount
        if untaken < pendingWrite.untakenByteCount {
            pendingWrite.untakenByteCount = untaken
            pendingWrite.progressMilliseconds = now
        }
        return now - pendingWrite.progressMilliseconds
    }

    private func writeLater(_ bytes: Span<UInt8>, to stream: UnsafeMutablePointer<uv_stream_t>) -> WriteOutcome {
        let write = PendingWrite(bytes)
        let status = unsafe write.submit(to: stream) { [self] status in
            pendingWrite = nil
            guard status >= 0 else {
                // A write is cancelled by a close, after which `fail` does nothing.
                return fail(status, attempting: "write to a connection")
            }
            sentByteCount += UInt64(write.byteCount)
            guard isOpen else { return }
            fitSendBuffer()
            sendWaitingCiphertext()
            if isOpen, pendingWrite == nil { isWritableAgain() }
        }
        guard status >= 0 else {
            fail(status, attempting: "write to a connection")
            return .closed
        }
        pendingWrite = write
        write.untakenByteCount = untakenByteCount
        write.progressMilliseconds = loop.monotonicMilliseconds
        return .pending
    }

    /// The bytes that the peer has not acknowledged: the outstanding write and the system's buffer.
    private var untakenByteCount: Int {
        guard isOpen else { return 0 }
        var buffered: CInt = 0
        _ = unsafe ioctl(descriptor, UInt(TIOCOUTQ), &buffered)
        return pendingByteCount + Int(max(0, buffered))
    }

    // MARK: Sending ahead
    //
    // The limit of the bytes that the system accepts ahead of the peer's reading.
    //
    // A row in the system's send buffer cannot be replaced by a newer row. By itself the buffer grows to megabytes, which are
    // seconds of old rows for a reader on a slow link. The buffer is therefore limited to the amount that the path carries in
    // one round trip, and the connection counts as writable only while few of its bytes are unsent.

    /// The number of unsent bytes above which the system accepts no more (`TCP_NOTSENT_LOWAT`).
    private static let unsentByteLimit: CInt = 16_384
    /// The smallest send buffer, in bytes of content; the system doubles it for its overhead. 0.3 s on 1 Mbit/s.
    private static let smallestSendBuffer: CInt = 32_768
    /// A receiver acknowledges every second segment immediately, and a single one after 40 ms. On loopback a segment
    /// has up to 64 KiB, so a buffer of less than some of them would make a connection wait for that.
    private static let smallestSegmentCount: CInt = 4
    /// The send buffer of a Unix socket. It holds all unread bytes, and each write counts with the system's overhead.
    private static let unixSendBuffer: CInt = 65_536
    /// The largest. The system may allow less (`net.core.wmem_max`).
    private static let largestSendBuffer: CInt = 4_194_304

    /// Starts to limit it, for a connection that was just accepted.
    func boundSendAhead() {
        // A Unix socket has no such option.
        guard set(TCP_NOTSENT_LOWAT, Self.unsentByteLimit) else { return setSendBuffer(Self.unixSendBuffer) }
        setSendBuffer(smallestSendBuffer)
        _ = set(TCP_KEEPINTVL, Self.keepAliveIntervalSeconds)
        _ = set(TCP_KEEPCNT, Self.keepAliveProbeCount)
    }

    /// Fits the send buffer to the path after a write has waited: to the amount that the path delivers in a round trip
    /// without queues.
    ///
    /// A path that the buffer holds up delivers a full one each round trip, so the buffer doubles until the path itself is
    /// the limit. A queue on the way lengthens the round trips, but not the shortest, so it gives no room.
    func fitSendBuffer() {
        guard sendBuffer > 0, let path = PathMeasure(of: descriptor) else { return }
        let fitting = min(
            max(path.byteCountPerRoundTrip, UInt64(smallestSendBuffer)), UInt64(Self.largestSendBuffer))
        // Small changes are not worth a system call.
        guard fitting > UInt64(sendBuffer) / 4 * 5 || fitting < UInt64(sendBuffer) / 2 else { return }
        setSendBuffer(CInt(fitting))
    }

    private var smallestSendBuffer: CInt {
        var segment: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        _ = unsafe getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_MAXSEG, &segment, &size)
        return min(max(Self.smallestSendBuffer, segment &* Self.smallestSegmentCount), Self.largestSendBuffer)
    }

    private func setSendBuffer(_ byteCount: CInt) {
        var byteCount = byteCount
        let size = socklen_t(MemoryLayout<CInt>.size)
        guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &byteCount, size) == 0 else { return }
        sendBuffer = byteCount
    }

    private func set(_ option: CInt, _ value: CInt) -> Bool {
        var value = value
        let size = socklen_t(MemoryLayout<CInt>.size)
        return unsafe setsockopt(descriptor, CInt(IPPROTO_TCP), option, &value, size) == 0
    }

    /// The interval between unanswered probes: after ``keepAliveSeconds`` and five of these, a dead peer is detected.
    private static let keepAliveIntervalSeconds: CInt = 15
    private static let keepAliveProbeCount: CInt = 5

    // MARK: A connection with TLS: received bytes are decrypted, sent bytes are encrypted

    /// Decrypts and delivers the ciphertext that has arrived.
    func deliverPlaintext() {
        guard let tls else { return }
        // The ciphertext was copied, so the loop's buffer is free.
        let buffer = unsafe UnsafeMutableRawBufferPointer(loop.readBuffer).bindMemory(to: UInt8.self)
        while isOpen, !hasEnded, !isLingering {
            switch unsafe tls.read(into: buffer) {
            case .bytes(let count):
                let bytes = unsafe UnsafeBufferPointer(rebasing: buffer[..<count])
                unsafe deliver(bytes.span)
            case .none: return sendWaitingCiphertext()
            case .ended: endReading()
            case .failed: fail(UV_EPROTO.rawValue, attempting: "decrypt what a connection received")
            }
        }
    }

    /// Sends what TLS produces by itself: handshakes, tickets, alerts. During an outstanding write, it is sent after
    /// that.
    func sendWaitingCiphertext() {
        guard let tls, isOpen, pendingWrite == nil, !isWriteShut, tls.hasOutput else { return }
        _ = send(tls.takeOutput().span)
    }

    /// Encrypts and sends.
    func writeEncrypted(_ bytes: Span<UInt8>, _ tls: TLSSession) -> WriteOutcome {
        // All connections share one buffer, which stays in the processor's caches.
        let room = unsafe loop.cipherBuffer
        guard let count = unsafe tls.encrypt(bytes, into: room) else {
            fail(UV_EPROTO.rawValue, attempting: "encrypt for a connection")
            return .closed
        }
        guard count > 0 else { return send(tls.takeOutput().span) }
        let ciphertext = unsafe UnsafeBufferPointer(rebasing: room[..<count])
        return unsafe send(ciphertext.span)
    }

    /// Ends this side's TLS stream after the outstanding write.
    func sendEndOfTLS(_ tls: TLSSession) {
        guard let stream = unsafe stream else { return }
        tls.shutdown()
        let bytes = tls.takeOutput()
        guard !bytes.isEmpty else { return }
        if pendingWrite == nil {
            _ = send(bytes.span)
        } else {
            // libuv writes in order, and a failure here also fails the outstanding write.
            _ = unsafe PendingWrite(bytes.span).submit(to: stream) { _ in }
        }
    }
}

/// The part of a write that the system did not accept at once: the bytes and libuv's request, until its callback.
@safe final class PendingWrite {
    let byteCount: Int
    var untakenByteCount = 0
    var progressMilliseconds: Int64 = 0
    private let request = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private var isDone: ((CInt) -> Void)?

    init(_ bytes: Span<UInt8>) {
        byteCount = bytes.count
        unsafe self.bytes = .allocate(capacity: bytes.count)
        for index in bytes.indices { unsafe self.bytes.initializeElement(at: index, to: bytes[index]) }
    }

    deinit {
        unsafe bytes.deallocate()
        unsafe request.deallocate()
    }

    /// After a success, libuv holds the request and the request holds this object until `isDone` is called.
    func submit(to stream: UnsafeMutablePointer<uv_stream_t>, isDone: @escaping (CInt) -> Void) -> CInt {
        var buffer = unsafe Self.buffer(of: bytes)
        unsafe request.pointee.data = Unmanaged.passRetained(self).toOpaque()
        self.isDone = isDone
        let status = unsafe uv_write(request, stream, &buffer, 1) { request, status in
            guard let data = unsafe request?.pointee.data else { return }
            unsafe Unmanaged<PendingWrite>.fromOpaque(data).takeRetainedValue().finish(status)
        }
        if status < 0 {
            self.isDone = nil
            unsafe Unmanaged.passUnretained(self).release()
        }
        return status
    }

    private func finish(_ status: CInt) {
        let isDone = isDone
        self.isDone = nil
        isDone?(status)
    }

    /// libuv takes `char *` for bytes that it only reads.
    static func buffer(of bytes: UnsafeMutableBufferPointer<UInt8>) -> uv_buf_t {
        let start = unsafe UnsafeMutableRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
        return unsafe uv_buf_init(start, CUnsignedInt(clamping: bytes.count))
    }
}

/// The system's measurements of a TCP connection's path.
private struct PathMeasure {
    /// The rate of delivery over the shortest round trip.
    let byteCountPerRoundTrip: UInt64

    /// `nil` if nothing was measured yet, or this is not TCP.
    init?(of descriptor: CInt) {
        var info = [UInt8](repeating: 0, count: Self.byteCount)
        var length = socklen_t(Self.byteCount)
        let status = unsafe info.withUnsafeMutableBytes {
            unsafe getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, $0.baseAddress, &length)
        }
        guard status == 0, length >= Self.byteCount else { return nil }
        let (microseconds, rate) = unsafe info.withUnsafeBytes {
            unsafe (
                $0.load(fromByteOffset: Self.shortestRoundTripOffset, as: UInt32.self),
                $0.load(fromByteOffset: Self.deliveryRateOffset, as: UInt64.self)
            )
        }
        guard microseconds > 0, microseconds < .max, rate > 0 else { return nil }
        byteCountPerRoundTrip =
            rate.multipliedFullWidth(by: UInt64(microseconds)).high == 0
            ? rate * UInt64(microseconds) / 1_000_000 : .max
    }

    // Offsets in `struct tcp_info` of <linux/tcp.h>, which only grows at its end. The C library's version lacks some
    // members.
    private static let shortestRoundTripOffset = 148
    private static let deliveryRateOffset = 160
    private static let byteCount = 168
}
