internal import Gateway
internal import ListenerLimits
internal import NIOCore
internal import TelltaleNIOClient

/// One long answer on its own connection to the daemon, piece by piece as its reader takes it.
///
/// The connection is read only while a piece is awaited: this holds one piece, and the reader's channel holds the one
/// before it. So the daemon makes no row without a reader. Before the first piece, a lost connection is made again, as
/// for every request.
final class DaemonListing: @unchecked Sendable {
    struct Piece: Sendable {
        var bytes: [UInt8]
        var isLast: Bool
    }

    private typealias Asked = EventLoopPromise<Result<Piece, Problem>>

    private let link: DaemonLink
    private let token: String?
    private let loop: any EventLoop
    private var session: ListingSession
    private var daemon: (any Channel)?
    private var isReading = false
    /// The address of the connection, or of the last attempt.
    private var address: DaemonSocket?
    private var asked: Asked?
    private var silence: Scheduled<Void>?
    private var failure: Problem?
    private var hasBegun = false
    private var hasLearned = false
    private var attemptLimit = 0
    private var isClosed = false
    private var attempts = 0
    private let deadline = NIODeadline.now() + DaemonLink.patience

    /// The size of the first piece, of one read, and of the kernel's receive buffer, in bytes.
    static let windowByteCount = 65_536

    init(_ request: ListingRequest, token: String?, _ link: DaemonLink, on loop: any EventLoop) {
        self.link = link
        self.token = token
        self.loop = loop
        session = ListingSession(request, token: token)
    }

    /// The next piece of the body. The first one is the whole answer, or has ``windowByteCount`` bytes or slightly
    /// more. Call it from one task, until the last piece.
    ///
    /// - Throws: The daemon's refusal, or the lack of an answer. After the first piece the body then stays incomplete.
    func next() async throws(Problem) -> Piece {
        let asked = loop.makePromise(of: Result<Piece, Problem>.self)
        loop.execute { [self] in ask(asked) }
        do {
            return try await asked.futureResult.get().get()
        } catch {
            throw error as? Problem ?? Problem("internal", "the answer ended: \(error)")
        }
    }

    /// Closes the connection, however far the answer is.
    func close() {
        loop.execute { [self] in finish(Problem("shutting_down", "the reader has gone")) }
    }

    /// Ends it when the gateway stops: before the first piece with a refusal, after it by closing the reader's
    /// connection, which may take nothing any more.
    func end(reader: any Channel) {
        loop.execute { [self] in
            finish(Problem("shutting_down", "the gateway goes down; ask again in a moment"))
            if hasBegun { RequestDeadline.close(reader, within: .seconds(1)) }
        }
    }

    // MARK: The reader's side

    private func ask(_ asked: Asked) {
        self.asked = asked
        silence = loop.assumeIsolated().scheduleTask(in: DaemonLink.patience) { [self] in
            finish(Problem("daemon_unreachable", "the daemon does not answer; ask again later"))
        }
        if daemon == nil, session.outcome == nil { connect() }
        publish()
    }

    /// Passes the available bytes to the reader if they are enough.
    private func publish() {
        defer { readMore() }
        guard let asked else { return }
        let result: Result<Piece, Problem>
        let isWhole = if case .whole? = session.outcome { true } else { false }
        if let failure {
            result = .failure(failure)
        } else if isWhole || session.bodyByteCount >= (hasBegun ? 1 : Self.windowByteCount) {
            hasBegun = true
            result = .success(Piece(bytes: session.takeBody(), isLast: isWhole))
        } else {
            return
        }
        self.asked = nil
        silence?.cancel()
        asked.succeed(result)
    }

    // MARK: The daemon's side

    private func connect() {
        guard !isClosed else { return }
        attempts += 1
        address = link.connector.choice.address
        guard let address else { return again("the named daemon's address is none") }
        let connected = link.connector.connect(
            to: address, on: loop, receiveBufferSize: Int32(Self.windowByteCount)
        ) { [self] channel in
            try channel.pipeline.syncOperations.addHandler(ListingHandler(listing: self))
        }
        connected.assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let channel):
                guard !isClosed, channel.isActive else {
                    channel.close(promise: nil)
                    return again("the daemon closed the connection")
                }
                daemon = channel
                isReading = false
                readMore()
            case .failure(let error):
                link.connector.choice.failed(address)
                again("\(error)")
            }
        }
    }

    private func again(_ reason: String) {
        guard !isClosed else { return }
        guard link.isKnown, !hasBegun, NIODeadline.now() < deadline else {
            return finish(Problem("daemon_unreachable", "the daemon cannot be reached (\(reason)); ask again later"))
        }
        session = ListingSession(session.request, token: token)
        let wait = min(500, 25 << min(attempts, 5)) + Int.random(in: 0...25)
        loop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(wait))) { [self] in connect() }
    }

    private func readMore() {
        guard let daemon, isReading != (asked != nil) else { return }
        isReading.toggle()
        try? daemon.syncOptions?.setOption(.autoRead, value: isReading)
    }

    fileprivate func received(_ buffer: ByteBuffer) {
        // Bytes after the end do not belong to this answer.
        guard daemon != nil else { return }
        buffer.withUnsafeReadableBytes { bytes in
            session.receive(unsafe Span<UInt8>(_unsafeBytes: bytes))
        }
        let output = session.takeOutput()
        if !output.isEmpty { daemon?.writeAndFlush(ByteBuffer(bytes: output), promise: nil) }
        if !hasLearned, let status = session.status {
            hasLearned = true
            link.learned(status, token: token)
        }
        switch session.outcome {
        case .whole?:
            leave()
            publish()
        case .refused(let problem)?: refused(problem)
        case .elsewhere(let target)?:
            link.connector.choice.redirected(from: address, to: target)
            leave()
            again("another daemon is to answer")
        case nil: break
        }
    }

    private func refused(_ problem: Problem) {
        guard !hasBegun, NIODeadline.now() < deadline, isPassing(problem) else { return finish(problem) }
        leave()
        again(problem.title)
    }

    /// Whether another attempt may soon succeed. If the principal has too many connections, its idle one in the pool is
    /// closed, which the daemon notices after a moment.
    private func isPassing(_ problem: Problem) -> Bool {
        guard problem.code == "limit_conns" else { return problem.code == "shutting_down" }
        if link.releaseIdle(token) { attemptLimit = attempts + 5 }
        return attempts < attemptLimit
    }

    fileprivate func readCompleted() { publish() }

    fileprivate func becameInactive(_ channel: any Channel) {
        guard daemon === channel else { return }
        daemon = nil
        again("the daemon closed the connection")
    }

    private func leave() {
        let channel = daemon
        daemon = nil
        channel?.close(promise: nil)
    }

    private func finish(_ problem: Problem) {
        guard !isClosed else { return }
        isClosed = true
        failure = problem
        leave()
        publish()
    }
}

private final class ListingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let listing: DaemonListing

    init(listing: DaemonListing) { self.listing = listing }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { listing.received(unwrapInboundIn(data)) }
    func channelReadComplete(context: ChannelHandlerContext) { listing.readCompleted() }
    func channelInactive(context: ChannelHandlerContext) { listing.becameInactive(context.channel) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
