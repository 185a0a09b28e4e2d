internal import DequeModule

/// Limits some work to an eighth of the loop's time, but each turn does at least one piece of it.
///
/// With one piece a turn alone, turns that are long for another reason would let new connections starve.
struct TurnShare {
    private static let part: Int64 = 8
    private var turnStart: Int64 = 0
    private var end: Int64 = 0

    /// - Parameter now: Nanoseconds of a monotonic clock, when the first work arrives.
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

/// The first bytes of a peer, until its first TLS record is complete.
struct TLSOpening {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ part: Span<UInt8>) {
        unsafe part.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    }

    /// Whether they contain the first record, or cannot be one, which OpenSSL then reports.
    var isWhole: Bool {
        let handshake: UInt8 = 22
        guard let first = bytes.first else { return false }
        guard first == handshake else { return true }
        guard bytes.count >= 5 else { return false }
        let length = Int(bytes[3]) << 8 | Int(bytes[4])
        return length > 16_384 || bytes.count >= 5 + length
    }
}

/// The handshake of one accepted connection, from its first byte until it is finished or the connection closes.
///
/// The connection retains it meanwhile. At its end it releases the connection, so that its entry in the queue of steps
/// keeps neither a closed connection nor its session alive.
final class TLSHandshake {
    fileprivate let deadline: Int64
    private let owner: TLSHandshakes
    /// `nil` after the end.
    private var connection: Connection?
    private var receivedByteCount = 0
    private var opening = TLSOpening()

    /// A handshake of a client without a certificate takes some hundred bytes, or 2 KB with large key shares.
    private static let byteLimit = 16_384

    fileprivate init(of connection: Connection, _ owner: TLSHandshakes, deadline: Int64) {
        self.connection = connection
        self.owner = owner
        self.deadline = deadline
    }

    fileprivate var hasEnded: Bool { connection == nil }

    /// Takes what the connection has read. This only copies the bytes; everything else is a step.
    ///
    /// - Parameter bytes: Empty = the peer has ended its side.
    func receiveCiphertext(_ bytes: Span<UInt8>) {
        guard let connection else { return }
        receivedByteCount += bytes.count
        guard !bytes.isEmpty, receivedByteCount <= Self.byteLimit else { return connection.close() }
        if let tls = connection.tls {
            guard tls.feed(bytes) else { return connection.close() }
        } else {
            opening.append(bytes)
            guard opening.isWhole else { return }
        }
        // A client may send its first lines right after the handshake. They wait in the socket, and do not count
        // against the limit.
        connection.pauseReading()
        owner.enqueue(self)
    }

    /// - Parameter context: The context of a new session.
    fileprivate func step(with context: () -> TLSContext) {
        guard let connection else { return }
        if connection.tls == nil {
            connection.tls = context().session(expecting: nil)
            guard connection.tls?.feed(opening.bytes.span) == true else { return connection.close() }
            opening = TLSOpening()
        }
        guard let tls = connection.tls else { return connection.close() }
        let result = tls.handshake()
        connection.sendWaitingCiphertext()
        switch result {
        case .needsMore: connection.resumeReading()
        case .failed: connection.close()
        case .finished:
            connection.handshake = nil
            end()
            owner.finished(connection)
        }
    }

    /// The connection is closed, so it is released.
    func connectionClosed() { end() }

    fileprivate func close() { connection?.close() }

    private func end() {
        connection = nil
        opening = TLSOpening()
        owner.ended(self)
    }
}

/// The handshakes of a listener, one step in a turn, or an eighth of the time of long turns: many of them do not delay
/// established connections.
///
/// A connection uses no TLS memory before its first record is complete: a peer that stops within it costs only its
/// bytes. After its end nothing of it is retained, however long others wait for their steps.
@safe final class TLSHandshakes {
    private let loop: EventLoop
    private let context: () -> TLSContext
    private let onFinished: (Connection) -> Void
    private var unfinished: [ObjectIdentifier: TLSHandshake] = [:]
    private var queue: Deque<TLSHandshake> = []
    private var share = TurnShare()
    private var idle: IdleHandle?
    private var timer: TimerHandle?

    private static let patienceMilliseconds: Int64 = 10_000

    /// - Parameter context: The context of new connections.
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
        let handshake = TLSHandshake(
            of: connection, self, deadline: loop.monotonicMilliseconds + Self.patienceMilliseconds)
        unfinished[ObjectIdentifier(handshake)] = handshake
        connection.handshake = handshake
        connection.readsLittle = true
        connection.resumeReading()
    }

    /// Lets a handshake take a step when its turn comes.
    fileprivate func enqueue(_ handshake: TLSHandshake) {
        if queue.isEmpty { share.beginWork(at: EventLoop.monotonicNanoseconds()) }
        queue.append(handshake)
        idle?.start()
    }

    private func takeSteps() {
        share.beginTurn(at: EventLoop.monotonicNanoseconds())
        repeat {
            while let first = queue.first, first.hasEnded { queue.removeFirst() }
            guard let next = queue.popFirst() else { break }
            next.step(with: context)
        } while share.hasTime(at: EventLoop.monotonicNanoseconds())
        guard queue.isEmpty else { return }
        queue = []
        idle?.stop()
    }

    fileprivate func finished(_ connection: Connection) {
        connection.readsLittle = false
        onFinished(connection)
        connection.deliverPlaintext()
    }

    fileprivate func ended(_ handshake: TLSHandshake) { unfinished[ObjectIdentifier(handshake)] = nil }

    private func closeLate() {
        let now = loop.monotonicMilliseconds
        for handshake in unfinished.values where handshake.deadline <= now { handshake.close() }
    }

    /// Ends the unfinished handshakes, when the listener is closed.
    func endAll() {
        for handshake in unfinished.values { handshake.close() }
        idle?.stop()
        idle = nil
        timer = nil
    }
}
