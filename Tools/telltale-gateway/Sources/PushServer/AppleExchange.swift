internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// One request on its stream, and its answer.
final class AppleExchange: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    enum Outcome: Sendable {
        case response(HPACKHeaders, [UInt8])
        /// Not all of it left this machine, or the service said that it did not look at it.
        case unsent
        /// It left, and no answer came.
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
            // A connection on which nothing comes back, or nothing leaves, is of no use to others either.
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
            // Without the last frame there is no request.
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
            // 1xx come before the answer.
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

    /// Nothing more comes. A status whose body has no end says enough; a request of which a part is still here was not taken.
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
