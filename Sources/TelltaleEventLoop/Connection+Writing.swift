internal import CTelltaleLibuv
internal import Glibc

extension Connection {
    /// Writes without waiting; what the system does not take now follows by itself.
    ///
    /// - Precondition: No write is outstanding. Asking for a second one is our own bug, and would grow without bound.
    public func write(_ bytes: Span<UInt8>) -> WriteOutcome {
        guard let stream = unsafe stream, !isWriteShut else { return .closed }
        precondition(pendingWrite == nil, "one outstanding write a connection")
        guard !bytes.isEmpty else { return .written }
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

    /// What `uv_try_write` does on a stream to which nothing is being written, by `send(2)` instead of `write(2)`: the
    /// kernel's way through it is shorter, and it is most of what a delivery costs.
    ///
    /// - Returns: How many bytes the system took, or libuv's number of the error.
    private func sendAtOnce(_ bytes: Span<UInt8>) -> Int {
        while true {
            let taken = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
            }
            if taken >= 0 { return taken }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS: return Int(UV_EAGAIN.rawValue)
            // libuv's numbers of errors are the system's, below zero.
            default: return -Int(errno)
            }
        }
    }

    /// Shuts the writing side once the outstanding write is done: the peer sees the end, and may still send.
    public func shutdownWrite() {
        guard let stream = unsafe stream, !isWriteShut else { return }
        isWriteShut = true
        let request = UnsafeMutablePointer<uv_shutdown_t>.allocate(capacity: 1)
        let status = unsafe uv_shutdown(request, stream) { request, _ in unsafe request?.deallocate() }
        // It fails only where the connection is broken already, which reading tells.
        if status < 0 { unsafe request.deallocate() }
    }

    /// Bytes of the outstanding write that the system has not taken yet.
    public var pendingByteCount: Int {
        guard let stream = unsafe stream else { return 0 }
        return unsafe uv_stream_get_write_queue_size(stream)
    }

    /// For how long the peer has taken not one byte while some wait for it; 0 while nothing is outstanding.
    ///
    /// Progress is noticed when this is asked, so ask every few seconds. It counts what the peer's system acknowledged,
    /// not what ours buffered: libuv hears of a slow reader only when a third of a large buffer is free.
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
                // After a close it is cancelled, and fail() has nothing left to do.
                return fail(status, attempting: "write to a connection")
            }
            sentByteCount += UInt64(write.byteCount)
            if isOpen { isWritableAgain() }
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

    /// What the peer has not acknowledged: our rest, and the system's buffer.
    private var untakenByteCount: Int {
        guard isOpen else { return 0 }
        var buffered: CInt = 0
        _ = unsafe ioctl(descriptor, UInt(TIOCOUTQ), &buffered)
        return pendingByteCount + Int(max(0, buffered))
    }
}

/// The rest of a write that the system did not take at once: the bytes and libuv's request, until its callback.
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

    /// libuv holds the request, and the request this object, from a success until `isDone` was called.
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

    /// libuv wants `char *` for bytes that it only reads.
    static func buffer(of bytes: UnsafeMutableBufferPointer<UInt8>) -> uv_buf_t {
        let start = unsafe UnsafeMutableRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
        return unsafe uv_buf_init(start, CUnsignedInt(clamping: bytes.count))
    }
}
