internal import HTTPTypes
package import NIOCore
internal import NIOHTTP2
package import NIOHTTPTypes
internal import NIOHTTPTypesHTTP2

/// Bounds the time that a caller takes to send a request's body, and that it takes nothing of an answer. It stands on each
/// connection of HTTP/1.1, and on each stream of HTTP/2.
///
/// A body that is late makes the handler's reading throw ``Late``, so that it is answered with 408. Nothing more is read of the
/// connection, which is closed a little later: closed at once, it could lose its answer.
///
/// A reader's time begins anew whenever a piece of the answer has left for the kernel. The kernel reports room in its buffer only
/// when a third of it is free, and a piece leaves as a whole: so a reader that takes 8 KiB a second always keeps its connection, one
/// that takes nothing never does, and between the two the sizes of buffers decide.
package final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// The rest of a body did not come in time.
    package struct Late: Error {}

    package struct Limits: Sendable {
        /// For the first bytes of a body.
        package var body = TimeAmount.seconds(20)
        /// More for each KiB of it.
        package var bodyPerKiB = TimeAmount.seconds(1)
        /// For all of it.
        package var wholeBody = TimeAmount.seconds(120)
        /// For the answer to a body that is late, until the connection is closed.
        package var answer = TimeAmount.seconds(5)
        /// For a reader until a piece of the answer has left. The daemon waits for 30 s until it closes a connection that is not read.
        package var reader = TimeAmount.seconds(20)

        package init() {}
    }

    /// An answer of more bytes is written in pieces of so many.
    package static let pieceByteCount = 32_768
    /// For the kernel's buffer of a connection, of an answer in pieces; the kernel doubles it for its own bookkeeping. Without a bound
    /// it grows to some MB: that is memory for each reader that stops, and a slow one would seem to take nothing while it drains.
    private static let sendByteCount = 65_536

    private let limits: Limits
    private let connections: ConnectionTable?
    private var member: ConnectionTable.Member?
    private var begin = NIODeadline.now()
    private var byteCount = 0
    /// A request's head has come, and its end has not.
    private var isReading = false
    /// A timer runs for that.
    private var isWatched = false
    private var bodyTimer: Scheduled<Void>?
    private var readerTimer: Scheduled<Void>?
    private var isLate = false
    /// Requests whose answer has not come.
    private var openCount = 0
    /// Requests of which the connection's member knows: their answers have not left.
    private var unsentCount = 0
    /// Parts of the body of the answer that is being written.
    private var partCount = 0
    private var isBufferBounded = false
    /// When a part of an answer left, or the channel had no more room.
    private var lastTaken = NIODeadline.now()
    /// The answer is a stream of events: its reader may take what it likes, and its writer bounds it.
    package var isStream = false { didSet { if isStream { readerTimer?.cancel() } } }

    package init(_ limits: Limits = Limits(), connections: ConnectionTable? = nil) {
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

    /// The answer to a request has left.
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
        // Most requests are whole in one read, and need no timer.
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
                // An answer before this one is being written, so that the body is not read yet.
                begin = context.eventLoop.now
                watchBody(context)
            } else {
                late(context)
            }
        }
    }

    private func late(_ context: ChannelHandlerContext) {
        // An answer that came before the end of the body is written: nothing more is to be said, as long as it goes on.
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
            // The body of the next request may have come before this end, and is read only now.
            if isReading { begin = context.eventLoop.now }
            let channel = context.channel
            write(data, context, promise) { deadline in
                deadline.sent()
                if deadline.isReading { Self.stopStream(channel) }
            }
        }
    }

    /// Ends a stream of HTTP/2 that was answered before the end of its body (RFC 9113 §8.1): a stream takes memory as long as it is
    /// open, and its connection may have a hundred. A connection of HTTP/1.1 has this one request, and goes on.
    private static func stopStream(_ channel: any Channel) {
        guard channel.parent != nil, !(channel is any SocketOptionProvider) else { return }
        channel.triggerUserOutboundEvent(NIOHTTP2FramePayloadToHTTPEvent.reset(code: .noError), promise: nil)
    }

    /// Tells a caller who waits for it to send the body (RFC 9110 §10.1.1).
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

    /// Closes a connection, or a stream of HTTP/2. The end of a stream waits for its connection to take something; where that does
    /// not, it is closed too.
    package static func close(_ channel: any Channel, within patience: TimeAmount) {
        channel.close(promise: nil)
        guard !(channel is any SocketOptionProvider), let connection = channel.parent else { return }
        let deadline = channel.eventLoop.scheduleTask(in: patience) { connection.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
    }
}
