internal import Gateway
internal import Glibc
internal import ListenerLimits
internal import Metrics
internal import NIOCore
internal import NIOHTTPTypes
internal import TelltaleNIOClient

/// One stream, or one read that is answered once: its own connection to the daemon on one side, the reader's channel on
/// the other, on one event loop.
///
/// The daemon's connection is read only while the reader's channel can take more, so a reader that stops makes the
/// daemon fold. A lost connection is made again and resumed, unnoticed by the reader.
final class StreamBridge: @unchecked Sendable {
    private let reader: any Channel
    private let link: DaemonLink
    private let token: String?
    private let format: StreamEncoder.Format
    private let onEnd: @Sendable (StreamBridge) -> Void
    private var session: StreamSession
    private var daemon: (any Channel)?
    /// Whether the daemon's channel reads by itself, while there is room: requesting each read costs two system calls.
    private var isReading = false
    /// Whether the head of the answer is written, so that the body may follow.
    private var isAttached = false
    private var isOver = false
    private var hasOpened = false
    private var deadline = NIODeadline.now() + DaemonLink.patience
    private var attempts = 0
    private var lastSent = NIODeadline.now()
    private var lastRefusal: Problem?
    private var readerHandler: ReaderHandler?
    private var pinging: RepeatedTask?
    /// Takes what would be written, for a read that is answered once.
    private var collector: RowsCollector?
    private var deadlineOfRead = NIODeadline.now()
    /// Whether a long answer may be collected. Without room for it nothing is read.
    private var hasRoom = false
    /// The address of the connection, or of the last attempt.
    private var address: DaemonSocket?
    private let opening: EventLoopPromise<Problem?>
    private let ending: EventLoopPromise<Void>
    /// Whether the read needs room; `false` once it has ended without.
    private let filling: EventLoopPromise<Bool>

    private static let readByteLimit = 65_536
    /// As long as the daemon waits for a reader that takes nothing.
    private static let patience = TimeAmount.seconds(30)

    init(
        _ request: StreamRequest, token: String?, format: StreamEncoder.Format, to reader: any Channel,
        _ link: DaemonLink,
        onEnd: @escaping @Sendable (StreamBridge) -> Void
    ) {
        self.reader = reader
        self.link = link
        self.token = token
        self.format = format
        self.onEnd = onEnd
        session = StreamSession(request, token: token, format: format)
        opening = reader.eventLoop.makePromise()
        ending = reader.eventLoop.makePromise()
        filling = reader.eventLoop.makePromise()
    }

    // MARK: For the answer

    /// Connects and subscribes.
    ///
    /// - Throws: The refusal, when the daemon does not take the stream.
    func open() async throws(Problem) {
        reader.eventLoop.execute { [self] in
            reader.closeFuture.assumeIsolated().whenComplete { [self] _ in finish() }
            connect()
        }
        let problem: Problem?
        do {
            problem = try await opening.futureResult.get()
        } catch {
            problem = Problem("internal", "the stream could not be opened")
        }
        if let problem { throw problem }
    }

    /// Bounds what a reader that stops costs.
    private func boundReader() {
        // The kernel's buffer for a stopped reader costs memory, and holds rows that are old when they are read. A
        // stream of HTTP/2 is not a socket, and has its own window.
        if reader is any SocketOptionProvider {
            _ = reader.setOption(.socketOption(.so_sndbuf), value: SocketOptionValue(Self.readByteLimit))
        }
        // Ends the connection of a reader that has vanished, or that takes no byte for this long.
        if let socket = [reader, reader.parent].lazy.compactMap({ $0 }).first(where: {
            $0 is any SocketOptionProvider
        }) {
            _ = socket.setOption(
                ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_USER_TIMEOUT)),
                value: SocketOptionValue(Self.patience.nanoseconds / 1_000_000))
        }
    }

    /// Writes the body, until the stream ends. The head has been written.
    func run() async {
        reader.eventLoop.execute { [self] in
            guard !isOver else { return }
            boundReader()
            isAttached = true
            let handler = ReaderHandler { [self] in readMore() }
            readerHandler = handler
            try? reader.pipeline.syncOperations.addHandler(handler, position: .first)
            // A stream's reader may take as little as it likes, as long as it takes something.
            (try? reader.pipeline.syncOperations.handler(type: RequestDeadline.self))?.isStream = true
            pinging = reader.eventLoop.scheduleRepeatedTask(
                initialDelay: .seconds(5), delay: .seconds(5)
            ) { [weak self] _ in
                // MARKs are answered with pings, but while rows flow or wait for the reader there are none.
                guard let self, NIODeadline.now() - lastSent > .seconds(19) else { return }
                session.ping()
                passOn()
            }
            passOn()
            readMore()
        }
        try? await ending.futureResult.get()
    }

    /// Collects what the stream brings in place of writing it, until there is an answer.
    ///
    /// - Parameter enter: Waits for the slot of a long answer. The daemon waits meanwhile.
    /// - Returns: The answer, and its slot, which is to be held until the answer is written; `nil` for a short one.
    /// - Throws: What `enter` throws.
    func collect(
        _ collector: RowsCollector, enter: () async throws(Problem) -> AnswerSlots.Slot
    ) async throws(Problem) -> (RowsCollector, AnswerSlots.Slot?) {
        reader.eventLoop.execute { [self] in
            guard !isOver else { return }
            self.collector = collector
            deadlineOfRead = NIODeadline.now() + .seconds(collector.request.from == nil ? 0 : collector.request.wait)
            isAttached = true
            passOn()
            readMore()
            scheduleTick()
        }
        var slot: AnswerSlots.Slot?
        if (try? await filling.futureResult.get()) ?? false {
            do {
                slot = try await enter()
            } catch {
                discard()
                throw error
            }
            reader.eventLoop.execute { [self] in
                hasRoom = true
                readMore()
                answerIfDone()
            }
        }
        try? await ending.futureResult.get()
        return (self.collector ?? collector, slot)
    }

    /// Whether a read waits until it may be long.
    private var needsRoom: Bool { !hasRoom && collector?.isLong ?? false }

    private func answerIfDone() {
        if needsRoom {
            readMore()
            filling.succeed(true)
        } else if collector?.isAnswered ?? false {
            finish()
        }
    }

    /// Answers at whole seconds, as ``RowsCollector/isAnswered(isLate:)`` says.
    private func scheduleTick() {
        guard !isOver else { return }
        reader.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(SystemClock.millisecondsToWholeSecond)) {
            [self] in
            guard !isOver, let collector else { return }
            let late = NIODeadline.now() - deadlineOfRead
            let isDone = !needsRoom && collector.isAnswered(isLate: late >= .zero)
            if isDone || late > DaemonLink.patience { return finish() }
            scheduleTick()
        }
    }

    /// Notifies the reader of the end, and ends the stream.
    func end(code: String, wait: Int) {
        reader.eventLoop.execute { [self] in
            session.end(code: code, wait: wait)
            passOn()
            finish()
        }
    }

    /// Ends a stream that was never opened.
    func discard() {
        reader.eventLoop.execute { [self] in finish() }
    }

    // MARK: The daemon's side

    private func connect() {
        guard !isOver else { return }
        attempts += 1
        address = link.connector.choice.address
        guard let address else { return failedToConnect("the named daemon's address is none") }
        let connected = link.connector.connect(
            to: address, on: reader.eventLoop, receiveBufferSize: Int32(Self.readByteLimit)
        ) { [self] channel in
            try channel.pipeline.syncOperations.addHandler(DaemonHandler(bridge: self))
        }
        connected.assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let channel):
                guard !isOver, channel.isActive else {
                    channel.close(promise: nil)
                    return isOver ? () : again("the daemon closed the connection")
                }
                daemon = channel
                isReading = false
                readMore()
            case .failure(let error): failedToConnect("\(error)")
            }
        }
    }

    private func failedToConnect(_ reason: String) {
        link.connector.choice.failed(address)
        again(reason)
    }

    private func again(_ reason: String) {
        let isInVain = !link.isKnown && !hasOpened
        guard !isInVain, NIODeadline.now() < deadline else {
            if hasOpened {
                session.end(code: "daemon_unreachable", wait: 5_000)
                passOn()
            } else {
                opening.succeed(
                    lastRefusal
                        ?? Problem("daemon_unreachable", "the daemon cannot be reached (\(reason)); ask again later"))
            }
            return finish()
        }
        let wait = min(500, 25 << min(attempts, 5)) + Int.random(in: 0...25)
        reader.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(wait))) { [self] in connect() }
    }

    fileprivate func received(_ buffer: ByteBuffer) {
        buffer.withUnsafeReadableBytes { bytes in
            session.receive(unsafe Span<UInt8>(_unsafeBytes: bytes))
        }
        passOn(flushes: false)
    }

    fileprivate func readCompleted() {
        if isAttached { reader.flush() }
        readMore()
    }

    fileprivate func becameInactive(_ channel: any Channel) {
        guard daemon === channel else { return }
        daemon = nil
        guard !isOver else { return }
        if hasOpened {
            // A stream that was not accepted is a failed attempt: if no daemon leads, the reader is notified in the
            // end.
            if session.hasOpened {
                DaemonLink.reconnects.increment()
                deadline = NIODeadline.now() + DaemonLink.patience
                attempts = 0
            }
            session = StreamSession(
                session.request, token: token, format: format, continuing: session.encoder, unsent: session.unsent)
        } else {
            session = StreamSession(session.request, token: token, format: format)
        }
        again("the daemon closed the connection")
    }

    /// Continues or stops reading: before the answer begins, and while the reader's channel is full, nothing is read.
    private func readMore() {
        guard let daemon, !isOver else { return }
        let hasSpace = collector == nil ? reader.isWritable : !needsRoom
        let isWanted = !hasOpened || (isAttached && hasSpace)
        guard isWanted != isReading else { return }
        isReading = isWanted
        try? daemon.syncOptions?.setOption(.autoRead, value: isWanted)
    }

    // MARK: Both

    private func passOn(flushes: Bool = true) {
        let output = session.takeOutput()
        if !output.isEmpty {
            lastSent = .now()
            daemon?.writeAndFlush(ByteBuffer(bytes: output), promise: nil)
        }
        for outcome in session.takeOutcomes() {
            switch outcome {
            case .opened:
                hasOpened = true
                link.learned(session.status, token: token)
                opening.succeed(nil)
            case .refused(let problem):
                // Treats a temporary lack of room like a missing daemon, because a browser would not reconnect after a
                // 503.
                if problem.retry == "later", NIODeadline.now() < deadline {
                    lastRefusal = problem
                    daemon?.close(promise: nil)
                } else {
                    opening.succeed(problem)
                    finish()
                }
            case .ended:
                writeEvents(flushes: true)
                finish()
            case .elsewhere(let target):
                link.connector.choice.redirected(from: address, to: target)
                daemon?.close(promise: nil)
            }
        }
        writeEvents(flushes: flushes)
    }

    private func writeEvents(flushes: Bool) {
        guard isAttached, !isOver else { return }
        let events = session.takeEvents()
        if collector != nil {
            collector?.collect(events)
            return answerIfDone()
        }
        for (index, count) in session.takeCounts() { StreamFigures.counters[index].increment(by: count) }
        guard !events.isEmpty else { return }
        reader.write(HTTPResponsePart.body(ByteBuffer(bytes: events)), promise: nil)
        if flushes { reader.flush() }
    }

    private func finish() {
        guard !isOver else { return }
        isOver = true
        pinging?.cancel()
        daemon?.close(promise: nil)
        if let readerHandler, reader.isActive {
            reader.pipeline.syncOperations.removeHandler(readerHandler, promise: nil)
        }
        readerHandler = nil
        opening.succeed(Problem("shutting_down", "the reader has gone"))
        filling.succeed(false)
        ending.succeed()
        onEnd(self)
    }
}

/// Counters of the streams, made once.
enum StreamFigures {
    static let counters = StreamEncoder.eventNames.map {
        Counter(label: "telltale_gateway_stream_events_total", dimensions: [("event", $0)])
    }
}

private final class DaemonHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let bridge: StreamBridge

    init(bridge: StreamBridge) { self.bridge = bridge }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { bridge.received(unwrapInboundIn(data)) }
    func channelReadComplete(context: ChannelHandlerContext) { bridge.readCompleted() }
    func channelInactive(context: ChannelHandlerContext) { bridge.becameInactive(context.channel) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Reports when the reader's channel can take more.
private final class ReaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    private let onWritable: () -> Void

    init(_ onWritable: @escaping () -> Void) { self.onWritable = onWritable }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { onWritable() }
        context.fireChannelWritabilityChanged()
    }
}
