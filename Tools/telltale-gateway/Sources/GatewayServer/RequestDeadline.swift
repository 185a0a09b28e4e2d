internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Bounds the time that a caller takes to send a request's body, and that it takes nothing of an answer. It stands on each
/// connection of HTTP/1.1, and on each stream of HTTP/2.
///
/// A body that is late makes the handler's reading throw ``Late``, so that it is answered with 408. Nothing more is read of the
/// connection, which is closed a little later: closed at once, it could lose its answer.
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The rest of a body did not come in time.
    struct Late: Error {}

    struct Limits: Sendable {
        /// For the first bytes of a body.
        var body = TimeAmount.seconds(20)
        /// More for each KiB of it.
        var bodyPerKiB = TimeAmount.seconds(1)
        /// For all of it.
        var wholeBody = TimeAmount.seconds(120)
        /// For the answer to a body that is late, until the connection is closed.
        var answer = TimeAmount.seconds(5)
        /// For a reader to take 32 KiB. The daemon waits for 30 s until it closes a connection that is not read.
        var reader = TimeAmount.seconds(20)
    }

    static let readerPatience = Limits().reader

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
    /// Requests whose answer is not written.
    private var openCount = 0
    /// The answer is a stream of events: its reader may take what it likes, and ``StreamBridge`` bounds it.
    var isStream = false { didSet { readerTimer?.cancel() } }

    init(_ limits: Limits = Limits(), connections: ConnectionTable? = nil) {
        self.limits = limits
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) { member = connections?.member(context.channel) }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    private func stop() {
        bodyTimer?.cancel()
        readerTimer?.cancel()
        while openCount > 0 { answered() }
    }

    private func answered() {
        openCount -= 1
        member?.answered()
    }

    // MARK: The request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            openCount += 1
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

    func channelReadComplete(context: ChannelHandlerContext) {
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
        // An answer that came before the end of the body is written: nothing more is to be said.
        guard !isStream else { return }
        guard openCount > 0 else { return context.close(promise: nil) }
        isLate = true
        let channel = context.channel
        bodyTimer = context.eventLoop.scheduleTask(in: limits.answer) { [limits] in
            Self.close(channel, within: limits.answer)
        }
        context.fireErrorCaught(Late())
    }

    // MARK: The answer

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        if openCount > 0 { answered() }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        readerTimer?.cancel()
        if !context.channel.isWritable, !isStream {
            let channel = context.channel
            readerTimer = context.eventLoop.scheduleTask(in: limits.reader) { [limits] in
                Self.close(channel, within: limits.answer)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    /// Closes a connection, or a stream of HTTP/2. The end of a stream waits for its connection to take something; where that does
    /// not, it is closed too.
    private static func close(_ channel: any Channel, within patience: TimeAmount) {
        channel.close(promise: nil)
        guard !(channel is any SocketOptionProvider), let connection = channel.parent else { return }
        let deadline = channel.eventLoop.scheduleTask(in: patience) { connection.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
    }
}
