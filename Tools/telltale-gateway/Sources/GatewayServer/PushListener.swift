internal import ApplePush
internal import ListenerLimits
internal import NIOCore
internal import NIOExtras
internal import NIOHPACK
internal import NIOHTTP2
internal import NIOPosix
internal import NIOSSL
internal import ServiceLifecycle
internal import Synchronization

/// The listener of Apple's push requests: HTTP/2 in TLS.
///
/// Senders start with HTTP/2 regardless of ALPN, and take each DATA frame for the whole body. The last frame of an
/// answer must therefore carry END_STREAM itself, which a general HTTP server does not do; so the frames are written
/// here.
struct PushListener: Service {
    let host: String
    let port: Int
    let certificates: CertificateReloader
    let endpoint: PushEndpoint
    let link: DaemonLink
    let connections: ListenerConnections
    let onServing: @Sendable (SocketAddress?) -> Void

    /// Requests at once on one connection.
    static let streamLimit = 1_000
    private static let idleSpan = TimeAmount.hours(1)
    private static let graceSpan = TimeAmount.seconds(8)

    func run() async throws {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.chain, privateKey: certificates.privateKey)
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        tls.sslContextCallback = certificates.callback
        let context = try NIOSSLContext(configuration: tls)
        let group = MultiThreadedEventLoopGroup.singleton
        let quiescing = ServerQuiescingHelper(group: group)
        let answering = PushDecider(endpoint: endpoint, link: link)
        let connections = connections
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1_024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(quiescing.makeServerChannelHandler(channel: channel))
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                guard connections.insert(channel) else { return channel.close() }
                return channel.eventLoop.makeCompletedFuture {
                    try Self.configure(channel, context, answering, connections)
                }
            }
            .bind(host: host, port: port).get()
        onServing(channel.localAddress)
        let stopped = channel.eventLoop.makePromise(of: Void.self)
        // Each connection gets GOAWAY, and ends with its last request.
        await withGracefulShutdownHandler {
            try? await stopped.futureResult.get()
        } onGracefulShutdown: {
            quiescing.initiateShutdown(promise: stopped)
        }
    }

    private static func configure(
        _ channel: any Channel, _ context: NIOSSLContext, _ answering: PushDecider, _ connections: ListenerConnections
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLServerHandler(context: context))
        try pipeline.addHandler(HandshakeDeadline())
        let manager = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(
                maxIdleTime: idleSpan, maxAge: nil, maxGraceTime: graceSpan, keepalive: nil))
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streamLimit),
            HTTP2Setting(parameter: .maxHeaderListSize, value: HPACKDecoder.defaultMaxHeaderListSize),
        ]
        let (sender, member) = (PushWriter(), connections.member(channel))
        _ = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: connection, streamConfiguration: .init(),
            streamDelegate: manager.http2StreamDelegate
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(PushStreamHandler(answering, sender, member))
            }
        }
        try pipeline.addHandler(manager)
    }
}

/// What the tokens of a connection show about its sender.
final class PushWriter: Sendable {
    let connection = Mutex(ProviderConnection())
}

/// One request of HTTP/2, and its answer.
final class PushStreamHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// The time limit for a request to arrive, and for its sender to take the answer.
    private static let patience = TimeAmount.seconds(30)
    /// One byte more than the largest payload.
    private static let bodyLimit = ChannelRequest.payloadLimit + 1

    private let answering: PushDecider
    private let sender: PushWriter
    private let member: ListenerConnections.Member?
    private var head: HPACKHeaders?
    private var body: [UInt8] = []
    private var deadline: Scheduled<Void>?
    private var isAsked = false

    init(_ answering: PushDecider, _ sender: PushWriter, _ member: ListenerConnections.Member?) {
        self.answering = answering
        self.sender = sender
        self.member = member
    }

    func handlerAdded(context: ChannelHandlerContext) {
        member?.asked()
        watch(context.channel)
    }

    private func watch(_ channel: any Channel) {
        deadline?.cancel()
        deadline = channel.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        member?.answered()
        deadline?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame):
            if head == nil { head = frame.headers }
            if frame.endStream { ask(context.channel) }
        case .data(let frame):
            if case .byteBuffer(let buffer) = frame.data {
                body += buffer.readableBytesView.prefix(Self.bodyLimit - body.count)
            }
            if frame.endStream { ask(context.channel) }
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func ask(_ channel: any Channel) {
        guard let head, !isAsked else { return }
        isAsked = true
        deadline?.cancel()
        let target = head.first(name: ":path") ?? ""
        let request = PushRequest(
            method: head.first(name: ":method") ?? "",
            path: String(target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""),
            headers: head.filter { !$0.name.hasPrefix(":") }.map { ($0.name, $0.value) }, body: body)
        let answer = channel.eventLoop.makePromise(of: PushAnswer.self)
        answer.completeWithTask { [answering, sender] in await answering.answer(request, on: sender) }
        answer.futureResult.assumeIsolated().whenSuccess { [self] answer in
            guard channel.isActive else { return }
            watch(channel)
            Self.write(answer, to: channel)
        }
    }

    private static func write(_ answer: PushAnswer, to channel: any Channel) {
        var headers = HPACKHeaders([(":status", String(answer.status))])
        for (name, value) in answer.headers { headers.add(name: name, value: value) }
        let head = HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: answer.body.isEmpty))
        guard !answer.body.isEmpty else { return channel.writeAndFlush(head, promise: nil) }
        channel.write(head, promise: nil)
        let body = ByteBuffer(bytes: answer.body)
        channel.writeAndFlush(
            HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(body), endStream: true)), promise: nil)
    }
}
