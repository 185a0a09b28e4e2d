internal import HTTPTypes
package import NIOCore
internal import NIOHTTP2
package import NIOHTTPTypes
internal import NIOHTTPTypesHTTP2

/// Limits the time for sending a request's body, and the time that a reader takes nothing of an answer. Each HTTP/1.1
/// connection and each HTTP/2 stream has one.
///
/// For a late body the handler's read throws ``Late``, which is answered with 408. Nothing more is read from the
/// connection. It is closed a little later, because an immediate close could lose the answer.
///
/// A reader's time restarts whenever the kernel has taken a piece of the answer. The kernel reports room only when a
/// third of its buffer is free, and takes a piece as a whole. So a reader that takes 8 KiB a second always keeps its
/// connection, and one that takes nothing never does; in between, buffer sizes decide.
package final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// The rest of a body did not come in time.
    package struct Late: Error {}

    package struct Limits: Sendable {
        /// For the first bytes of a body.
        package var body = TimeAmount.seconds(20)
        /// Additional time for each KiB of a body.
        package var bodyPerKiB = TimeAmount.seconds(1)
        /// For a whole body.
        package var wholeBody = TimeAmount.seconds(120)
        /// For the answer to a late body, before the connection is closed.
        package var answer = TimeAmount.seconds(5)
        /// For a reader to take a piece of the answer. It is shorter than the 30 s after which the daemon closes a
        /// connection that is not read.
        package var reader = TimeAmount.seconds(20)

        package init() {}
    }

    /// A larger answer is written in pieces of this size.
    package static let pieceByteCount = 32_768
    /// The kernel's send buffer for an answer in pieces; the kernel doubles it for its overhead. Unlimited it grows to
    /// some MB, which is memory for each stopped reader, and a slow reader would seem to take nothing while the buffer
    /// drains.
    private static let sendByteCount = 65_536

    private let limits: Limits
    private let connections: ListenerConnections?
    private var member: ListenerConnections.Member?
    private var begin = NIODeadline.now()
    private var byteCount = 0
    /// Whether a request's head has arrived, but not its end.
    private var isReading = false
    /// Whether a timer runs for it.
    private var isWatched = false
    private var bodyTimer: Scheduled<Void>?
    private var readerTimer: Scheduled<Void>?
    private var isLate = false
    /// Requests not answered yet.
    private var openCount = 0
    /// Requests counted by the connection's member, whose answers have not been sent.
    private var unsentCount = 0
    /// Body parts of the answer being written.
    private var partCount = 0
    private var isBufferBounded = false
    /// When the kernel last took a part of an answer, or when the channel became full.
    private var lastTaken = NIODeadline.now()
    /// Whether the answer is an event stream. Its writer limits the reader then, not this handler.
    package var isStream = false { didSet { if isStream { readerTimer?.cancel() } } }

    package init(_ limits: Limits = Limits(), connections: ListenerConnections? = nil) {
        self.limits = limits
        self.connections = connections
    }

    package func handlerAdded(context: ChannelHandlerContext) { member = connections?.member(context.channel) }

    package func handlerRemoved(context: ChannelHandlerContext) { stop() }

    package func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    private func stop() {
        bodyTimer?.cancel()
        readerTimer?.cancel()
        while unsentCount > 0 { sent() }
    }

    /// The answer to a request was sent.
    private func sent() {
        guard unsentCount > 0 else { return }
        unsentCount -= 1
        member?.answered()
    }

    // MARK: The request

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            openCount += 1
            unsentCount += 1
            member?.asked()
            begin = context.eventLoop.now
            byteCount = 0
            isReading = true
        case .body(let buffer): byteCount += buffer.readableBytes
        case .end:
            isReading = false
            if !isLate { bodyTimer?.cancel() }
            isWatched = false
        }
        context.fireChannelRead(data)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        // Most requests arrive in one read and need no timer.
        if isReading, !isWatched { watchBody(context) }
        context.fireChannelReadComplete()
    }

    private var deadline: NIODeadline {
        min(begin + limits.body + limits.bodyPerKiB * (byteCount / 1_024), begin + limits.wholeBody)
    }

    private func watchBody(_ context: ChannelHandlerContext) {
        isWatched = true
        bodyTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            if context.eventLoop.now < deadline {
                watchBody(context)
            } else if openCount > 1 {
                // An earlier answer is being written, so the body is not read yet.
                begin = context.eventLoop.now
                watchBody(context)
            } else {
                late(context)
            }
        }
    }

    private func late(_ context: ChannelHandlerContext) {
        // An early answer is being written already, so there is nothing more to send, as long as it makes progress.
        guard !isStream else {
            begin = context.eventLoop.now
            return watchBody(context)
        }
        guard openCount > 0 else { return context.close(promise: nil) }
        isLate = true
        let channel = context.channel
        bodyTimer = context.eventLoop.scheduleTask(in: limits.answer) { [limits] in
            Self.close(channel, within: limits.answer)
        }
        context.fireErrorCaught(Late())
    }

    // MARK: The answer

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head:
            partCount = 0
            context.write(data, promise: promise)
        case .body:
            if isStream { return context.write(data, promise: promise) }
            partCount += 1
            if partCount == 2 { boundBuffer(context) }
            let loop = context.eventLoop
            write(data, context, promise) { $0.lastTaken = loop.now }
        case .end:
            openCount -= openCount > 0 ? 1 : 0
            if isStream {
                isStream = false
                lastTaken = context.eventLoop.now
                if !context.channel.isWritable { watchReader(context) }
            }
            // The next request's body may have arrived earlier, but is read only now.
            if isReading { begin = context.eventLoop.now }
            let channel = context.channel
            write(data, context, promise) { deadline in
                deadline.sent()
                if deadline.isReading { Self.stopStream(channel) }
            }
        }
    }

    /// Ends an HTTP/2 stream that was answered before the end of its body (RFC 9113 §8.1), because open streams cost
    /// memory and a connection may have a hundred. An HTTP/1.1 connection has only this request, and continues.
    private static func stopStream(_ channel: any Channel) {
        guard channel.parent != nil, !(channel is any SocketOptionProvider) else { return }
        channel.triggerUserOutboundEvent(NIOHTTP2FramePayloadToHTTPEvent.reset(code: .noError), promise: nil)
    }

    /// Asks a waiting caller to send the body (RFC 9110 §10.1.1).
    package static func askForBody(_ channel: any Channel) {
        channel.eventLoop.execute {
            guard let context = try? channel.pipeline.syncOperations.context(handlerType: RequestDeadline.self) else {
                return
            }
            context.writeAndFlush(NIOAny(HTTPResponsePart.head(HTTPResponse(status: .continue))), promise: nil)
        }
    }

    private func write(
        _ data: NIOAny, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?,
        then done: @escaping (RequestDeadline) -> Void
    ) {
        let promise = promise ?? context.eventLoop.makePromise()
        promise.futureResult.assumeIsolated().whenSuccess { [self] in done(self) }
        context.write(data, promise: promise)
    }

    private func boundBuffer(_ context: ChannelHandlerContext) {
        guard !isBufferBounded else { return }
        isBufferBounded = true
        let socket = [context.channel, context.channel.parent].lazy.compactMap { $0 }.first {
            $0 is any SocketOptionProvider
        }
        _ = socket?.setOption(.socketOption(.so_sndbuf), value: SocketOptionValue(Self.sendByteCount))
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        readerTimer?.cancel()
        if !context.channel.isWritable, !isStream {
            lastTaken = context.eventLoop.now
            watchReader(context)
        }
        context.fireChannelWritabilityChanged()
    }

    private func watchReader(_ context: ChannelHandlerContext) {
        readerTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: lastTaken + limits.reader) { [self] in
            if context.eventLoop.now < lastTaken + limits.reader {
                watchReader(context)
            } else {
                Self.close(context.channel, within: limits.answer)
            }
        }
    }

    /// Closes a connection, or an HTTP/2 stream. The end of a stream has to wait until its connection takes bytes; if
    /// it takes none in time, the connection is closed too.
    package static func close(_ channel: any Channel, within patience: TimeAmount) {
        channel.close(promise: nil)
        guard !(channel is any SocketOptionProvider), let connection = channel.parent else { return }
        let deadline = channel.eventLoop.scheduleTask(in: patience) { connection.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
    }
}
