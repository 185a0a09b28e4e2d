internal import CTelltaleLibuv
internal import Glibc

// A connection with TLS: received bytes are decrypted, sent bytes are encrypted.
extension Connection {
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
