internal import CTelltaleLibuv
internal import Glibc

extension Connection {
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
