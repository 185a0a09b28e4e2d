internal import ApplePush
internal import FoundationEssentials
internal import Gateway
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization
internal import TelltaleModel

/// Sends Web Pushes: HTTP/1.1 in TLS, one connection each, only to the configured hosts.
final class WebPushSender: Sendable {
    let cipher: WebPushCipher
    /// Host names, and `*.` patterns.
    let hosts: [String]
    private let context: NIOSSLContext
    private let group: any EventLoopGroup
    /// A token is valid for half a day, and is replaced every hour.
    private let tokens = Mutex<[String: (text: String, at: Timestamp)]>([:])

    private static let patience = TimeAmount.seconds(30)
    private static let tokenAge = Milliseconds.hours(1)
    private static let originLimit = 1_000

    init(_ cipher: WebPushCipher, hosts: [String], trustRoots: String?, on group: any EventLoopGroup) throws {
        self.cipher = cipher
        self.hosts = hosts
        self.group = group
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustRoots { tls.trustRoots = .file(trustRoots) }
        context = try NIOSSLContext(configuration: tls)
    }

    func send(
        _ push: OutgoingPush, to subscription: WebSubscription, _ completion: @escaping @Sendable (AppleAnswer) -> Void
    ) {
        guard subscription.isOf(hosts: hosts) else {
            return completion(AppleAnswer(kind: .refused, reason: "host not allowed"))
        }
        let body: [UInt8]
        var headers = HTTPHeaders()
        do {
            body = try cipher.encrypted(push.body, for: subscription)
            headers.add(name: "host", value: String(subscription.origin.dropFirst("https://".count)))
            headers.add(name: "authorization", value: try token(for: subscription.origin))
        } catch {
            return completion(AppleAnswer(kind: .badToken, reason: "the subscription's key is no key"))
        }
        for (name, value) in push.headers { headers.add(name: name, value: value) }
        headers.add(name: "content-encoding", value: "aes128gcm")
        headers.add(name: "content-type", value: "application/octet-stream")
        headers.add(name: "content-length", value: String(body.count))
        headers.add(name: "connection", value: "close")
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: subscription.path, headers: headers)
        let (context, host) = (context, subscription.host)
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        ClientBootstrap(group: group)
            .connectTimeout(.seconds(10))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
                    try channel.pipeline.syncOperations.addHandler(tls)
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(
                        WebPushExchange(head, body, Self.patience, completion))
                }
            }
            .connect(host: host, port: subscription.port)
            .whenFailure { _ in completion(AppleAnswer(kind: .unsent, reason: "no connection")) }
    }

    private func token(for origin: String) throws -> String {
        let now = SystemClock.now
        if let known = tokens.withLock({ $0[origin] }), now - known.at < Self.tokenAge, known.at <= now {
            return known.text
        }
        let text = try cipher.authorization(for: origin, at: now)
        tokens.withLock { tokens in
            if tokens.count >= Self.originLimit { tokens = [:] }
            tokens[origin] = (text, now)
        }
        return text
    }
}

extension AppleAnswer {
    /// The answer of a browser's service.
    init(web head: HTTPResponseHead, at now: Timestamp) {
        let status = Int(head.status.code)
        let retryAfter = head.headers.first(name: "retry-after").flatMap { RetryAfter.seconds($0, at: now) }
        self.init(
            kind: PushAnswerClass(webStatus: status, retryAfter: retryAfter), status: status,
            reason: status < 300 ? nil : head.status.reasonPhrase)
    }
}

/// One request on its connection, and its answer.
private final class WebPushExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let head: HTTPRequestHead
    private let body: [UInt8]
    private let patience: TimeAmount
    private var completion: (@Sendable (AppleAnswer) -> Void)?
    private var deadline: Scheduled<Void>?
    private var hasLeft = false

    init(
        _ head: HTTPRequestHead, _ body: [UInt8], _ patience: TimeAmount,
        _ completion: @escaping @Sendable (AppleAnswer) -> Void
    ) {
        self.head = head
        self.body = body
        self.patience = patience
        self.completion = completion
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenSuccess { [self] in hasLeft = true }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data), head.status.code >= 200 else { return }
        finish(AppleAnswer(web: head, at: SystemClock.now))
        // The body has no meaning for a program.
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) {
        let kind = hasLeft ? PushAnswerClass.unknown : .unsent
        finish(AppleAnswer(kind: kind, reason: hasLeft ? "no answer" : "no connection"))
        context.fireChannelInactive()
    }

    private func finish(_ answer: AppleAnswer) {
        deadline?.cancel()
        let completion = completion
        self.completion = nil
        completion?(answer)
    }
}
