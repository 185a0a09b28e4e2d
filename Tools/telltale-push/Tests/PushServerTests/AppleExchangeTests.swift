import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import PushServer

/// What is known of a request when nothing more comes, by a clock that the test turns.
struct AppleExchangeTests {
    /// Keeps the frames of a body back, as a window without room does.
    private final class Window: ChannelOutboundHandler {
        typealias OutboundIn = HTTP2Frame.FramePayload

        private let isOpen: Bool
        private var kept: [EventLoopPromise<Void>] = []

        init(isOpen: Bool) { self.isOpen = isOpen }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard case .data = unwrapOutboundIn(data), !isOpen else { return context.write(data, promise: promise) }
            if let promise { kept.append(promise) }
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            for promise in kept { promise.fail(ChannelError.ioOnClosedChannel) }
        }
    }

    enum End: CaseIterable {
        case time, connection, refusal
    }

    private static func name(_ outcome: AppleExchange.Outcome?) -> String {
        switch outcome {
        case .response(let headers, _): headers.first(name: ":status") ?? "-"
        case .unsent: "unsent"
        case .lost: "lost"
        case nil: "none"
        }
    }

    /// - Parameters:
    ///   - hasRoom: Whether the body leaves.
    ///   - status: Of an answer whose body does not end.
    private static func outcome(hasRoom: Bool, status: String? = nil, _ end: End) throws -> [String] {
        let channel = EmbeddedChannel()
        var outcomes: [String] = []
        let exchange = AppleExchange(patience: .seconds(30), bodyLimit: 100) { outcomes.append(name($0)) }
        try channel.pipeline.syncOperations.addHandlers([Window(isOpen: hasRoom), exchange])
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/nowhere")).wait()
        exchange.send(HPACKHeaders([(":method", "POST")]), [1, 2, 3], on: channel)
        channel.embeddedEventLoop.run()
        if let status {
            try channel.writeInbound(
                HTTP2Frame.FramePayload.headers(.init(headers: HPACKHeaders([(":status", status)]), endStream: false)))
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(outcomes.isEmpty && channel.isActive)
        switch end {
        case .time: channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        case .connection: channel.close(promise: nil)
        case .refusal:
            channel.pipeline.fireErrorCaught(NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .refusedStream))
        }
        channel.embeddedEventLoop.run()
        #expect(!channel.isActive)
        return outcomes
    }

    @Test(arguments: End.allCases)
    func `a request of which a part is still here was not taken, however it ends`(_ end: End) throws {
        #expect(try Self.outcome(hasRoom: false, end) == ["unsent"])
    }

    @Test(arguments: zip(End.allCases, ["lost", "lost", "unsent"]))
    func `one that left may have been taken, unless the service says that it did not look at it`(
        _ end: End, _ outcome: String
    ) throws {
        #expect(try Self.outcome(hasRoom: true, end) == [outcome])
    }

    @Test(arguments: [End.time, .connection], [true, false])
    func `a status counts although its body does not end`(_ end: End, _ hasRoom: Bool) throws {
        #expect(try Self.outcome(hasRoom: hasRoom, status: "200", end) == ["200"])
        #expect(try Self.outcome(hasRoom: hasRoom, status: "410", end) == ["410"])
    }
}
