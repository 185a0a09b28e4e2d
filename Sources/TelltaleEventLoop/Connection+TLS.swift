internal import CTelltaleLibuv
internal import Glibc

// A connection with TLS: received bytes are decrypted, sent bytes are encrypted.
extension Connection {
    /// Delivers what the ciphertext holds that has arrived.
    func deliverPlaintext() {
        guard let tls else { return }
        // Its ciphertext was copied, so the loop's buffer is free.
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

    /// Sends what TLS has to say by itself: handshakes, tickets, alerts. While a write is outstanding it waits for that.
    func sendWaitingCiphertext() {
        guard let tls, isOpen, pendingWrite == nil, !isWriteShut, tls.hasOutput else { return }
        _ = send(tls.takeOutput().span)
    }

    /// Encrypts and sends.
    func writeEncrypted(_ bytes: Span<UInt8>, _ tls: TLSSession) -> WriteOutcome {
        // The bytes leave from one buffer, which stays in the processor's caches from one connection to the next.
        let room = unsafe loop.cipherBuffer
        guard let count = unsafe tls.encrypt(bytes, into: room) else {
            fail(UV_EPROTO.rawValue, attempting: "encrypt for a connection")
            return .closed
        }
        guard count > 0 else { return send(tls.takeOutput().span) }
        let ciphertext = unsafe UnsafeBufferPointer(rebasing: room[..<count])
        return unsafe send(ciphertext.span)
    }

    /// Says the end of this side behind the outstanding write.
    func sendEndOfTLS(_ tls: TLSSession) {
        guard let stream = unsafe stream else { return }
        tls.shutdown()
        let bytes = tls.takeOutput()
        guard !bytes.isEmpty else { return }
        if pendingWrite == nil {
            _ = send(bytes.span)
        } else {
            // libuv writes in order, and what fails here fails for the outstanding write too.
            _ = unsafe PendingWrite(bytes.span).submit(to: stream) { _ in }
        }
    }
}

/// An eighth of the loop's time, for work of which each turn does one piece at least.
///
/// Turns that are long for another reason would otherwise leave a crowd of new connections outside.
struct TurnShare {
    private static let part: Int64 = 8
    private var turnStart: Int64 = 0
    private var end: Int64 = 0

    /// - Parameter now: Nanoseconds of a monotonic clock. There was no work before it.
    mutating func beginWork(at now: Int64) {
        turnStart = now
    }

    mutating func beginTurn(at now: Int64) {
        end = now + (now - turnStart) / Self.part
        turnStart = now
    }

    /// Whether this turn may do another piece.
    func hasTime(at now: Int64) -> Bool { now < end }
}

/// The handshakes of a listener, one step in a turn, or an eighth of the time of long turns: a storm of them does not
/// hold up the connections that are there.
///
/// A connection costs no memory of TLS before its first record is whole: a peer that stops within it holds its own bytes only.
@safe final class TLSHandshakes {
    private let loop: EventLoop
    private let context: () -> TLSContext
    private let onFinished: (Connection) -> Void
    private var waiting: [ObjectIdentifier: Waiting] = [:]
    private var queue: [Connection] = []
    private var queueStart = 0
    private var share = TurnShare()
    private var idle: IdleHandle?
    private var timer: TimerHandle?

    private struct Waiting {
        let connection: Connection
        let deadline: Int64
        var receivedByteCount = 0
        /// The part of the first record that has come.
        var opening: [UInt8] = []
    }

    private static let patienceMilliseconds: Int64 = 10_000
    /// A handshake of a client without a certificate takes some hundred bytes, or 2 KB with large key shares.
    private static let byteLimit = 16_384

    /// - Parameter context: That of new connections.
    init(
        on loop: EventLoop, context: @escaping () -> TLSContext, onFinished: @escaping (Connection) -> Void
    ) throws(UVError) {
        self.loop = loop
        self.context = context
        self.onFinished = onFinished
        idle = try IdleHandle(on: loop) { [weak self] _ in self?.takeSteps() }
        timer = try TimerHandle(on: loop) { [weak self] _ in self?.closeLate() }
        timer?.scheduleRepeating(everyMilliseconds: 1_000)
    }

    /// A connection was accepted.
    func begin(_ connection: Connection) {
        waiting[ObjectIdentifier(connection)] = Waiting(
            connection: connection, deadline: loop.monotonicMilliseconds + Self.patienceMilliseconds)
        connection.handshakes = self
        connection.readsLittle = true
        connection.resumeReading()
    }

    /// - Parameter bytes: Empty = the peer has ended its side.
    func received(_ bytes: Span<UInt8>, on connection: Connection) {
        let id = ObjectIdentifier(connection)
        guard let received = waiting[id]?.receivedByteCount else { return }
        waiting[id]?.receivedByteCount = received + bytes.count
        guard !bytes.isEmpty, received + bytes.count <= Self.byteLimit else { return end(connection) }
        if let tls = connection.tls {
            guard tls.feed(bytes) else { return end(connection) }
        } else {
            for index in bytes.indices { waiting[id]?.opening.append(bytes[index]) }
            guard let opening = waiting[id]?.opening, Self.isWhole(opening) else { return }
        }
        // A client may send its first lines behind the handshake. They do not count to its bytes: they wait in the socket.
        connection.pauseReading()
        if queue.isEmpty { share.beginWork(at: EventLoop.monotonicNanoseconds()) }
        queue.append(connection)
        idle?.start()
    }

    /// Whether a connection's first bytes hold its first record, or can be none, which OpenSSL then says.
    private static func isWhole(_ opening: [UInt8]) -> Bool {
        let handshake: UInt8 = 22
        guard opening.first == handshake else { return true }
        guard opening.count >= 5 else { return false }
        let length = Int(opening[3]) << 8 | Int(opening[4])
        return length > 16_384 || opening.count >= 5 + length
    }

    private func takeSteps() {
        share.beginTurn(at: EventLoop.monotonicNanoseconds())
        repeat {
            guard queueStart < queue.count else { break }
            let connection = queue[queueStart]
            queueStart += 1
            step(connection)
        } while share.hasTime(at: EventLoop.monotonicNanoseconds())
        guard queueStart == queue.count else { return }
        queue = []
        queueStart = 0
        idle?.stop()
    }

    private func step(_ connection: Connection) {
        let id = ObjectIdentifier(connection)
        guard let opening = waiting[id]?.opening, connection.isOpen else { return end(connection) }
        if connection.tls == nil {
            waiting[id]?.opening = []
            connection.tls = context().session(expecting: nil)
            guard connection.tls?.feed(opening.span) == true else { return end(connection) }
        }
        guard let tls = connection.tls else { return end(connection) }
        let result = tls.handshake()
        connection.sendWaitingCiphertext()
        switch result {
        case .needsMore: connection.resumeReading()
        case .failed: end(connection)
        case .finished:
            waiting[id] = nil
            connection.handshakes = nil
            connection.readsLittle = false
            onFinished(connection)
            connection.deliverPlaintext()
        }
    }

    private func end(_ connection: Connection) {
        waiting[ObjectIdentifier(connection)] = nil
        connection.handshakes = nil
        connection.close()
    }

    private func closeLate() {
        let now = loop.monotonicMilliseconds
        for entry in waiting.values where entry.deadline <= now || !entry.connection.isOpen { end(entry.connection) }
    }

    /// Ends those that are not finished: nothing is listening any more.
    func endAll() {
        for entry in waiting.values { end(entry.connection) }
        idle?.stop()
        idle = nil
        timer = nil
    }
}
