internal import NIOCore
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleWire

/// The state of an ``AsyncClient``. Everything but `follow` happens on its event loop, which makes it sendable.
final class AsyncClientCore: @unchecked Sendable {
    typealias Completion = (Result<Answer, RequestFailure>) -> Void

    struct Waiting {
        var items: [ServerLine] = []
        var eid: String?
        var timeout: Scheduled<Void>?
        var completion: Completion
    }

    struct Follower {
        var source: FollowedSequence.Producer.Source
        var subscription: SubscriptionID
        var isPaused = false
    }

    let eventLoop: any EventLoop
    private let connector: DaemonConnector
    private let failsFast: Bool
    private let onGreeting: @Sendable (ServerGreeting, ServerLine?) -> Void
    var proto: ClientProtocol
    private var channel: (any Channel)?
    private var isConnecting = false
    private var timer: Scheduled<Void>?
    private var isPumping = false
    private var hasServed = false
    private var isClosed = false
    /// Whether the channel reads by itself, while every consumer has room.
    private var isReading = false
    private var refusal: RequestFailure?
    private var waiting: [RequestID: Waiting] = [:]
    private var followers: [Int: Follower] = [:]
    private var followerNumbers: [SubscriptionID: Int] = [:]
    private let nextNumber = Counter()

    private static let outputByteCount = 262_144

    init(
        _ connector: DaemonConnector, _ proto: ClientProtocol, failsFast: Bool, _ eventLoop: any EventLoop,
        _ onGreeting: @escaping @Sendable (ServerGreeting, ServerLine?) -> Void
    ) {
        self.onGreeting = onGreeting
        self.connector = connector
        self.proto = proto
        self.failsFast = failsFast
        self.eventLoop = eventLoop
    }

    private var now: Timestamp { Timestamp(milliseconds: Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)) }

    // MARK: Asking

    func start() {
        proto.start()
        pump()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        proto.leave()
        if let channel { channel.close(promise: nil) } else if !isConnecting { lost("closed") }
        pump()
    }

    func ask(_ command: Command, timeout: TimeAmount?, _ completion: @escaping Completion) {
        if isClosed { return completion(.failure(.closed)) }
        if let refusal { return completion(.failure(refusal)) }
        let id = proto.request(command)
        var waiting = Waiting(eid: Self.eid(of: command), completion: completion)
        if let timeout {
            waiting.timeout = eventLoop.assumeIsolated().scheduleTask(in: timeout) { [weak self] in self?.giveUp(id) }
        }
        self.waiting[id] = waiting
        pump()
    }

    private static func eid(of command: Command) -> String? {
        switch command {
        case .event(let event): event.eid
        case .tap(let tap): tap.eid
        case .tile(let tile): tile.eid
        case .hello, .ping, .bye, .help, .subscribe, .unsubscribe, .get, .list, .kinds, .kind, .gallery, .history,
            .stats, .traits, .dismiss, .seen, .open, .serve, .done, .supply, .fail, .report, .reload, .handover, .drain,
            .node,
            .refused:
            nil
        }
    }

    private func giveUp(_ id: RequestID) {
        guard let waiting = waiting.removeValue(forKey: id) else { return }
        let wasSent = proto.withdraw(id)
        waiting.completion(
            .failure(wasSent ? .outcomeUnknown(eid: waiting.eid) : .unreachable(lastReason ?? "it did not answer")))
    }

    private var lastReason: String?

    private func settle(_ id: RequestID, _ result: (Waiting) -> Result<Answer, RequestFailure>) {
        guard let waiting = waiting.removeValue(forKey: id) else { return }
        waiting.timeout?.cancel()
        waiting.completion(result(waiting))
    }

    private func failAll(_ failure: RequestFailure) {
        for id in waiting.keys.sorted() {
            proto.withdraw(id)
            settle(id) { _ in .failure(failure) }
        }
    }

    // MARK: Following

    /// May be called from any thread, because it only uses new or atomic state.
    func follow(_ command: SubscribeCommand) -> FollowedSequence {
        let number = nextNumber.next()
        let made = FollowedSequence.Producer.makeSequence(
            elementType: Followed.self,
            backPressureStrategy: NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark(
                lowWatermark: 16, highWatermark: 64),
            finishOnDeinit: true, delegate: FollowerDelegate(core: self, number: number))
        eventLoop.execute { [self] in
            guard !isClosed, refusal == nil else { return made.source.finish() }
            let subscription = proto.subscribe(command)
            followers[number] = Follower(source: made.source, subscription: subscription)
            followerNumbers[subscription] = number
            pump()
        }
        return FollowedSequence(producer: made.sequence)
    }

    func resume(_ number: Int) {
        guard followers[number]?.isPaused == true else { return }
        followers[number]?.isPaused = false
        readMore()
    }

    func endFollowing(_ number: Int) {
        guard let follower = followers.removeValue(forKey: number) else { return }
        followerNumbers[follower.subscription] = nil
        proto.unsubscribe(follower.subscription)
        readMore()
        pump()
    }

    private func deliverEvent(_ id: SubscriptionID, _ event: SubscriptionEvent) {
        guard let number = followerNumbers[id], let follower = followers[number] else { return }
        let followed = Followed(event: event, cursor: proto.cursor(of: id))
        if case .stopProducing = follower.source.yield(followed) { followers[number]?.isPaused = true }
        if case .refused = event {
            followers[number] = nil
            followerNumbers[id] = nil
            follower.source.finish()
        }
    }

    // MARK: The channel

    private var isPaused: Bool { followers.values.contains { $0.isPaused } }

    private func readMore() {
        guard let channel, isReading == isPaused else { return }
        isReading.toggle()
        try? channel.syncOptions?.setOption(.autoRead, value: isReading)
        schedule()
    }

    func received(_ buffer: NIOCore.ByteBuffer) {
        buffer.withUnsafeReadableBytes { bytes in
            let span = unsafe Span<UInt8>(_unsafeBytes: bytes)
            proto.received(span, at: now)
        }
        pump()
    }

    func readCompleted() { readMore() }

    func becameWritable() { pump() }

    func becameInactive(_ channel: any Channel) {
        guard self.channel === channel else { return }
        self.channel = nil
        lost(proto.closeReason ?? "the daemon closed the connection")
    }

    private func connect() {
        isConnecting = true
        proto.connecting(at: now)
        guard let address = proto.address.flatMap({ DaemonSocket($0) }) else {
            isConnecting = false
            return lost("\(proto.address ?? "") is no address of a daemon")
        }
        let connected = connector.connect(to: address, on: eventLoop) { [self] channel in
            try channel.pipeline.syncOperations.addHandler(AsyncClientHandler(core: self))
        }
        connected.assumeIsolated().whenComplete { [self] result in
            isConnecting = false
            switch result {
            case .success(let channel):
                guard !isClosed, !proto.wantsClose, channel.isActive else {
                    channel.close(promise: nil)
                    return lost("given up")
                }
                self.channel = channel
                proto.connected(at: now)
                isReading = false
                readMore()
                pump()
            case .failure(let error): lost(Self.describe(error))
            }
        }
    }

    private static func describe(_ error: any Error) -> String {
        if let error = error as? IOError { return error.description }
        return "\(error)"
    }

    private func lost(_ reason: String) {
        lastReason = reason
        proto.disconnected(reason: reason, at: now, random: UInt64.random(in: .min ... .max))
        pump()
    }

    /// Performs the protocol's outputs until there are none.
    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        repeat {
            for event in proto.takeEvents() { handle(event) }
            if proto.wantsConnection, channel == nil, !isConnecting, !isClosed { connect() }
            flush()
            if proto.wantsClose, let channel { channel.close(promise: nil) }
        } while proto.hasEvents
        schedule()
    }

    private func flush() {
        guard let channel else { return }
        while channel.isWritable, !proto.wantsClose {
            let bytes = proto.takeOutput(limit: Self.outputByteCount, at: now)
            guard !bytes.isEmpty else { return }
            channel.writeAndFlush(NIOCore.ByteBuffer(bytes: bytes), promise: nil)
        }
    }

    private func schedule() {
        timer?.cancel()
        timer = nil
        guard var deadline = proto.deadline else { return }
        // While this client does not read, the silence is not the daemon's fault.
        if isPaused, proto.isReady { deadline = max(deadline, now + .seconds(10)) }
        let wait = max(0, (deadline - now).count)
        timer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(min(wait, 3_600_000))) { [weak self] in
            guard let self else { return }
            if !isPaused || !proto.isReady { proto.deadlineReached(at: now) }
            pump()
        }
    }

    private func handle(_ event: ClientEvent) {
        switch event {
        case .ready(let greeting, let hello):
            hasServed = true
            if let address = proto.address { connector.choice.isServed(at: address) }
            onGreeting(greeting, hello)
        case .item(let id, let line): waiting[id]?.items.append(line)
        case .restarted(let id): waiting[id]?.items = []
        case .reply(let id, let reply): settle(id) { .success(Answer(items: $0.items, reply: reply)) }
        case .lost(let id): settle(id) { .failure(isClosed ? .closed : .outcomeUnknown(eid: $0.eid)) }
        case .refused(let reason, let line):
            let failure = RequestFailure.refused(reason, line)
            refusal = failure
            if let greeting = proto.greeting { onGreeting(greeting, nil) }
            failAll(failure)
        case .disconnected(let reason, let retry):
            if isClosed {
                failAll(.closed)
                endAll()
            } else if retry == nil {
                failAll(refusal ?? .unreachable(reason))
                endAll()
            } else if failsFast, !hasServed, proto.hasAskedAll {
                failAll(.unreachable(reason))
            }
        case .subscription(let id, let event): deliverEvent(id, event)
        case .farewell(let line): lastReason = line.message ?? line["code"]
        case .violation(let text): lastReason = text
        case .traitsRefused, .serviceRefused, .action: break
        }
    }

    private func endAll() {
        for follower in followers.values { follower.source.finish() }
        followers = [:]
        followerNumbers = [:]
    }
}

/// Between the channel and the core.
private final class AsyncClientHandler: ChannelInboundHandler {
    typealias InboundIn = NIOCore.ByteBuffer
    let core: AsyncClientCore

    init(core: AsyncClientCore) { self.core = core }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { core.received(unwrapInboundIn(data)) }
    func channelReadComplete(context: ChannelHandlerContext) { core.readCompleted() }
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { core.becameWritable() }
    }
    func channelInactive(context: ChannelHandlerContext) { core.becameInactive(context.channel) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
