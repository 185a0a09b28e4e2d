internal import Gateway
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization
internal import TelltaleModel

/// Forwards requests about pushes to real devices to `telltale-push`, and returns its answers. Each uses its own
/// connection.
final class PushProxy: Sendable {
    struct Answer: Sendable {
        var status: Int
        var type: String
        var body: [UInt8]
        /// Its slot, which is free once nothing retains the answer.
        fileprivate(set) var place: Place?
    }

    fileprivate final class Places: Sendable {
        private let count = Mutex(0)

        func take() -> Place? {
            let hasRoom = count.withLock { count in
                guard count < PushProxy.limit else { return false }
                count += 1
                return true
            }
            return hasRoom ? Place(self) : nil
        }

        func leave() { count.withLock { $0 -= 1 } }
    }

    final class Place: Sendable {
        private let places: Places

        fileprivate init(_ places: Places) { self.places = places }

        deinit { places.leave() }
    }

    private let place: Settings.PushPlace
    private let group: any EventLoopGroup
    private let places = Places()

    /// As many callers as `telltale-push` checks at once.
    fileprivate static let limit = 64
    /// `telltale-push` waits 10 s for the daemon.
    private static let patience = TimeAmount.seconds(15)
    /// For channels it also waits 40 s for the push service.
    private static let channelPatience = TimeAmount.seconds(55)
    /// In bytes; 10,000 registrations are less than a third of it.
    fileprivate static let bodyLimit = 8 << 20

    init(_ place: Settings.PushPlace, group: any EventLoopGroup) {
        self.place = place
        self.group = group
    }

    /// - Parameters:
    ///   - path: With its query, percent-encoded.
    ///   - token: The caller's own.
    /// - Throws: `push_unreachable` without an answer in time, `busy`, and refusals of `telltale-push`.
    func ask(_ method: String, _ path: String, token: String?, body: [UInt8] = []) async throws(Problem) -> Answer {
        guard let place = places.take() else {
            throw Problem("busy", "\(Self.limit) requests to telltale-push are under way; ask again in a moment")
        }
        var headers = HTTPHeaders([("host", "localhost"), ("connection", "close")])
        if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
        if !body.isEmpty || method == "PUT" || method == "POST" {
            headers.add(name: "content-length", value: String(body.count))
        }
        let head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: method), uri: path, headers: headers)
        var answer: Answer
        do {
            let patience = path.hasPrefix("/v1/push/channels") ? Self.channelPatience : Self.patience
            answer = try await send(head, body, patience).get()
        } catch {
            throw Problem("push_unreachable", "telltale-push does not answer; ask again later")
        }
        answer.place = place
        guard answer.status >= 400 else { return answer }
        throw Self.problem(answer)
    }

    private func send(_ head: HTTPRequestHead, _ body: [UInt8], _ patience: TimeAmount) -> EventLoopFuture<Answer> {
        let loop = group.next()
        let promise = loop.makePromise(of: Answer.self)
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(.seconds(5))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(
                        ForwardedExchange(head, body, patience, promise))
                }
            }
        let connected =
            switch place {
            case .unix(let path): bootstrap.connect(unixDomainSocketPath: path)
            case .tcp(let host, let port): bootstrap.connect(host: host, port: port)
            }
        // Without a connection the exchange never started.
        connected.whenFailure { promise.fail($0) }
        return promise.futureResult
    }

    /// `telltale-push` uses the codes of the gateway's table.
    private static func problem(_ answer: Answer) -> Problem {
        guard case .object(var object)? = try? EventRequest.json(answer.body.span),
            let code = object["code"]?.string
        else { return Problem("internal", "telltale-push answers with status \(answer.status)") }
        let title = object["title"]?.string ?? code
        for name in ["type", "title", "status", "code", "retry"] { object[name] = nil }
        return Problem(code, title, details: object)
    }
}

/// One request on its connection, and its answer.
private final class ForwardedExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private struct NoAnswer: Error {}

    private let head: HTTPRequestHead
    private let body: [UInt8]
    private let patience: TimeAmount
    private var promise: EventLoopPromise<PushProxy.Answer>?
    private var deadline: Scheduled<Void>?
    private var answer = PushProxy.Answer(status: 0, type: "", body: [])

    init(
        _ head: HTTPRequestHead, _ body: [UInt8], _ patience: TimeAmount,
        _ promise: EventLoopPromise<PushProxy.Answer>
    ) {
        self.head = head
        self.body = body
        self.patience = patience
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !body.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenFailure { _ in
            channel.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            answer.status = Int(head.status.code)
            answer.type = head.headers.first(name: "content-type") ?? "application/json"
        case .body(let buffer):
            answer.body += buffer.readableBytesView
            if answer.body.count > PushProxy.bodyLimit { context.close(promise: nil) }
        case .end:
            guard answer.status >= 200 else { return }
            finish(.success(answer))
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(NoAnswer()))
        context.fireChannelInactive()
    }

    private func finish(_ result: Result<PushProxy.Answer, any Error>) {
        deadline?.cancel()
        let promise = promise
        self.promise = nil
        promise?.completeWith(result)
    }
}
