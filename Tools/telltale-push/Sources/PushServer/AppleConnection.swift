internal import ApplePush
internal import FoundationEssentials
internal import Gateway
internal import Logging
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import NIOPosix
internal import NIOSSL
internal import TelltaleModel

/// The answer to one push.
struct AppleAnswer: Sendable {
    var kind: PushAnswerClass
    /// 0 = none.
    var status = 0
    var reason: String?
}

/// One request to the service, without the provider token.
struct ServiceRequest: Sendable {
    var method: String
    var path: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// The longest body of an answer that is read, in bytes.
    var answerLimit = 4_096
}

/// The answer to a request.
struct ServiceReply: Sendable {
    /// 0 = none.
    var status: Int
    /// The header field `apns-channel-id`.
    var channel: String?
    /// In seconds.
    var retryAfter: Int64?
    /// `nil` = there is none, or it is not JSON.
    var body: JSON?

    init(_ headers: HPACKHeaders, _ body: [UInt8], at now: Timestamp) {
        status = headers.first(name: ":status").flatMap { Int($0) } ?? 0
        channel = headers.first(name: "apns-channel-id")
        retryAfter = headers.first(name: "retry-after").flatMap { RetryAfter.seconds($0, at: now) }
        self.body = body.isEmpty ? nil : try? EventRequest.json(body.span)
    }

    /// At most 64 characters.
    var reason: String? { body?["reason"]?.string.map { String($0.prefix(64)) } }
}

/// The connection to the push service: one long-lived connection of HTTP/2 in TLS, to a single host.
///
/// Everything but ``send(_:_:)`` happens on its event loop, which makes it sendable.
final class AppleConnection: @unchecked Sendable {
    typealias Completion = @Sendable (AppleAnswer) -> Void
    private typealias OutcomeCompletion = @Sendable (AppleExchange.Outcome) -> Void

    private let place: PushSettings.Place
    private let context: NIOSSLContext
    private let log: Logger
    private let eventLoop: any EventLoop
    private let signer: ProviderSigner
    private var channel: (any Channel)?
    private var multiplexer: NIOHTTP2Handler.StreamMultiplexer?
    private var isConnecting = false
    /// A connection that has not negotiated TLS and HTTP/2 yet.
    private var candidate: (any Channel)?
    private var isClosed = false
    private var failureCount = 0
    /// No attempt is made before this time.
    private var nextAttempt = NIODeadline.uptimeNanoseconds(0)
    private var waiting: [(request: ServiceRequest, completion: OutcomeCompletion)] = []

    /// How long to wait for an answer.
    private static let patience = TimeAmount.seconds(30)
    /// For TCP, TLS and HTTP/2 together.
    private static let connectPatience = TimeAmount.seconds(10)

    init(
        to place: PushSettings.Place, trustRoots: String?, _ signer: ProviderSigner, log: Logger,
        on eventLoop: any EventLoop
    ) throws {
        self.place = place
        self.signer = signer
        self.log = log
        self.eventLoop = eventLoop
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        if let trustRoots { tls.trustRoots = .file(trustRoots) }
        context = try NIOSSLContext(configuration: tls)
    }

    // MARK: Sending

    func send(_ push: OutgoingPush, _ completion: @escaping Completion) {
        ask(ServiceRequest(method: "POST", path: push.path, headers: push.headers, body: push.body)) { [self] outcome in
            completion(answer(outcome))
        }
    }

    /// - Returns: `nil` without an answer within 40 s.
    func reply(to request: ServiceRequest) async -> ServiceReply? {
        await withCheckedContinuation { continuation in
            ask(request) { [self] outcome in
                continuation.resume(returning: reply(outcome))
            }
        }
    }

    private func ask(_ request: ServiceRequest, _ completion: @escaping OutcomeCompletion) {
        eventLoop.execute { [self] in
            if let multiplexer { return open(request, on: multiplexer, completion) }
            guard !isClosed, isConnecting || nextAttempt <= .now() else { return completion(.unsent) }
            waiting.append((request, completion))
            if !isConnecting { connect() }
        }
    }

    func close() {
        eventLoop.execute { [self] in
            isClosed = true
            channel?.close(promise: nil)
        }
    }

    private func connect() {
        isConnecting = true
        let deadline = NIODeadline.now() + Self.connectPatience
        let (context, place) = (context, place)
        let isAddress = (try? SocketAddress(ipAddress: place.host, port: 0)) != nil
        ClientBootstrap(group: eventLoop)
            .connectTimeout(Self.connectPatience)
            .channelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(
                        context: context, serverHostname: isAddress ? nil : place.host)
                    try channel.pipeline.syncOperations.addHandler(handler)
                    let multiplexer = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                        mode: .client, connectionConfiguration: .init(), streamConfiguration: .init()
                    ) { stream in
                        // The service opens no streams.
                        stream.close()
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionWatch { [weak self] in self?.becameReady(channel, multiplexer) })
                }
            }
            .connect(host: place.host, port: place.port)
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let channel):
                    candidate = channel
                    eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
                        if candidate === channel { channel.close(promise: nil) }
                    }
                    channel.closeFuture.assumeIsolated().whenComplete { [self] _ in ended(channel) }
                case .failure(let error): failed("\(error)")
                }
            }
    }

    /// TLS and HTTP/2 are negotiated.
    private func becameReady(_ channel: any Channel, _ multiplexer: NIOHTTP2Handler.StreamMultiplexer) {
        guard !isClosed else { return channel.close(promise: nil) }
        isConnecting = false
        candidate = nil
        failureCount = 0
        self.channel = channel
        self.multiplexer = multiplexer
        log.info("connected to the push service", metadata: ["host": "\(place.host):\(place.port)"])
        let due = waiting
        waiting = []
        for (request, completion) in due { open(request, on: multiplexer, completion) }
    }

    private func ended(_ channel: any Channel) {
        if candidate === channel { candidate = nil }
        if self.channel === channel {
            self.channel = nil
            multiplexer = nil
        } else if isConnecting {
            failed("the service closed the connection before it served")
        }
    }

    /// The pause between attempts doubles from one second to half a minute. Meanwhile each push fails immediately, and
    /// is retried by its own schedule.
    private func failed(_ reason: String) {
        isConnecting = false
        let span = TimeAmount.seconds(1 << Int64(min(failureCount, 5)))
        failureCount += 1
        nextAttempt = .now() + min(span, .seconds(30))
        log.warning(
            "cannot reach the push service", metadata: ["host": "\(place.host):\(place.port)", "why": "\(reason)"])
        let due = waiting
        waiting = []
        for (_, completion) in due { completion(.unsent) }
    }

    // MARK: One request

    private func open(
        _ request: ServiceRequest, on multiplexer: NIOHTTP2Handler.StreamMultiplexer,
        _ completion: @escaping OutcomeCompletion
    ) {
        let headers = headers(of: request)
        let exchange = AppleExchange(patience: Self.patience, bodyLimit: request.answerLimit, completion)
        multiplexer.createStreamChannel { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(exchange)
            }
        }
        .assumeIsolated()
        .whenComplete { result in
            switch result {
            case .success(let stream): exchange.send(headers, request.body, on: stream)
            case .failure: exchange.fail(.unsent)
            }
        }
    }

    /// Apple requires the path and the provider token to stay out of the connection's header table; fields that vary
    /// are not worth a place in it either.
    private func headers(of request: ServiceRequest) -> HPACKHeaders {
        var headers = HPACKHeaders()
        headers.add(name: ":method", value: request.method)
        headers.add(name: ":scheme", value: "https")
        headers.add(name: ":authority", value: place.port == 443 ? place.host : "\(place.host):\(place.port)")
        headers.add(name: ":path", value: request.path, indexing: .nonIndexable)
        for (name, value) in request.headers {
            let varies = name == "apns-id" || name == "apns-request-id" || name == "apns-expiration"
            headers.add(name: name, value: value, indexing: varies ? .nonIndexable : .indexable)
        }
        headers.add(
            name: "authorization", value: "bearer \(signer.token(at: SystemClock.now))", indexing: .nonIndexable)
        return headers
    }

    private func answer(_ outcome: AppleExchange.Outcome) -> AppleAnswer {
        if let reply = reply(outcome) {
            let kind = PushAnswerClass(
                status: reply.status, reason: reply.reason, timestamp: reply.body?["timestamp"]?.integer,
                retryAfter: reply.retryAfter)
            return AppleAnswer(kind: kind, status: reply.status, reason: reply.reason)
        }
        if case .unsent = outcome { return AppleAnswer(kind: .unsent, reason: "no connection") }
        return AppleAnswer(kind: .unknown, reason: "no answer")
    }

    /// - Returns: `nil` if there is none.
    private func reply(_ outcome: AppleExchange.Outcome) -> ServiceReply? {
        switch outcome {
        case .unsent, .lost: return nil
        case .response(let headers, let body):
            let reply = ServiceReply(headers, body, at: SystemClock.now)
            if reply.reason == "ExpiredProviderToken" { signer.refused() }
            if reply.reason == "UnrelatedKeyIdInToken" { channel?.close(promise: nil) }
            return reply
        }
    }
}

/// Reports once that a connection is usable, when the service has sent its settings.
private final class ConnectionWatch: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let onReady: () -> Void
    private var isReady = false
    private var ping: RepeatedTask?

    private static let pingSpan = TimeAmount.minutes(55)

    init(_ onReady: @escaping () -> Void) {
        self.onReady = onReady
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        if case .settings = frame.payload, !isReady {
            isReady = true
            onReady()
            // Keeps a connection open that is idle for an hour.
            let channel = context.channel
            ping = context.eventLoop.scheduleRepeatedTask(
                initialDelay: Self.pingSpan, delay: Self.pingSpan
            ) { _ in
                let frame = HTTP2Frame(streamID: .rootStream, payload: .ping(HTTP2PingData(), ack: false))
                channel.writeAndFlush(frame, promise: nil)
            }
        }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        ping?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
