internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// One request on its stream, and its answer.
final class AppleExchange: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    enum Outcome: Sendable {
        case response(HPACKHeaders, [UInt8])
        /// Not all of it was sent, or the service reported that it did not process it.
        case unsent
        /// It was sent, but not answered.
        case lost
    }

    private let patience: TimeAmount
    private let bodyLimit: Int
    private var completion: ((Outcome) -> Void)?
    private var head: HPACKHeaders?
    private var body: [UInt8] = []
    private var hasLeft = false
    private var deadline: Scheduled<Void>?

    init(patience: TimeAmount, bodyLimit: Int, _ completion: @escaping (Outcome) -> Void) {
        self.patience = patience
        self.bodyLimit = bodyLimit
        self.completion = completion
    }

    func send(_ headers: HPACKHeaders, _ body: [UInt8], on stream: any Channel) {
        deadline = stream.eventLoop.assumeIsolated().scheduleTask(in: patience) { [self] in
            // A connection on which nothing is received or sent is useless for other requests too.
            let useless = head == nil ? stream.parent : nil
            conclude()
            (useless ?? stream).close(promise: nil)
        }
        let first = HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: body.isEmpty))
        var last = first
        if !body.isEmpty {
            stream.write(first, promise: nil)
            last = .data(.init(data: .byteBuffer(ByteBuffer(bytes: body)), endStream: true))
        }
        stream.writeAndFlush(last).assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success: hasLeft = true
            // Without its last frame the request was not made.
            case .failure: fail(.unsent)
            }
        }
    }

    func fail(_ outcome: Outcome) { finish(outcome) }

    private func finish(_ outcome: Outcome) {
        deadline?.cancel()
        deadline = nil
        let completion = completion
        self.completion = nil
        completion?(outcome)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame):
            // 1xx responses precede the answer.
            if frame.headers.first(name: ":status")?.hasPrefix("1") != true { head = head ?? frame.headers }
            if frame.endStream { conclude() }
        case .data(let frame):
            if case .byteBuffer(let buffer) = frame.data {
                body += buffer.readableBytesView.prefix(bodyLimit - body.count)
            }
            if frame.endStream { conclude() }
        default: break
        }
    }

    /// Nothing more will arrive. A status with an incomplete body is enough; a request that was not sent completely was
    /// not accepted.
    private func conclude() {
        if let head { finish(.response(head, body)) } else { finish(hasLeft ? .lost : .unsent) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let closed = error as? NIOHTTP2Errors.StreamClosed, closed.errorCode == .refusedStream {
            finish(.unsent)
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        conclude()
        context.fireChannelInactive()
    }
}
