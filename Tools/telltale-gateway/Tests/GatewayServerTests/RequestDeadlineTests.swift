import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import ListenerLimits

/// The time that a body and a reader have, by a clock that the test turns.
struct RequestDeadlineTests {
    /// Takes the errors of the channel, as the handlers of requests do.
    private final class Errors: ChannelInboundHandler {
        typealias InboundIn = HTTPRequestPart
        var count = 0

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            count += error is RequestDeadline.Late ? 1 : 100
        }
    }

    private let channel = EmbeddedChannel()
    private let deadline = RequestDeadline()
    private let errors = Errors()

    init() throws {
        try channel.pipeline.syncOperations.addHandlers([deadline, errors])
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/nowhere")).wait()
    }

    private func ask() throws {
        try channel.writeInbound(
            HTTPRequestPart.head(HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/")))
    }

    private func send(_ count: Int) throws {
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0x20, count: count)))
    }

    private func answer() throws {
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    private func pass(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    @Test func `a body that drips is late, is answered, and its connection ends`() throws {
        try ask()
        for _ in 0..<19 {
            try send(1)
            pass(1)
        }
        #expect(errors.count == 0)
        pass(1)
        #expect(errors.count == 1 && channel.isActive)
        try answer()
        try channel.writeInbound(HTTPRequestPart.end(nil))
        pass(4)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive)
    }

    @Test func `a late body that is not answered ends too`() throws {
        try ask()
        pass(20)
        #expect(channel.isActive)
        pass(5)
        #expect(!channel.isActive)
    }

    @Test func `a body at a pace of its own has time for each KiB of it, but not for ever`() throws {
        try ask()
        for _ in 0..<119 {
            try send(1_024)
            pass(1)
        }
        #expect(errors.count == 0)
        pass(1)
        #expect(errors.count == 1)
    }

    @Test func `a body that is there in time, and the time between two requests, are not measured`() throws {
        for _ in 0..<2 {
            try ask()
            try send(10)
            try channel.writeInbound(HTTPRequestPart.end(nil))
            pass(600)
            try answer()
            pass(600)
        }
        #expect(errors.count == 0 && channel.isActive)
    }

    @Test func `a body behind its answer is not taken for ever`() throws {
        try ask()
        try answer()
        for _ in 0..<19 {
            try send(1)
            pass(1)
        }
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive && errors.count == 0)
    }

    @Test func `a request behind one that is being answered has its time afterwards`() throws {
        try ask()
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try ask()
        pass(60)
        #expect(errors.count == 0)
        try answer()
        pass(19)
        #expect(errors.count == 0)
        pass(20)
        #expect(errors.count == 1)
    }

    @Test func `a caller that waits for a word is asked to send its body, once`() throws {
        try ask()
        RequestDeadline.askForBody(channel)
        channel.embeddedEventLoop.run()
        guard case .head(let head)? = try channel.readOutbound(as: HTTPResponsePart.self) else {
            Issue.record("nothing was said")
            return
        }
        #expect(head.status == .continue)
        try send(1)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try answer()
        guard case .head(let last)? = try channel.readOutbound(as: HTTPResponsePart.self) else {
            Issue.record("no answer")
            return
        }
        #expect(last.status == .ok)
    }

    @Test func `a reader that takes nothing is closed, and one that goes on is not`() throws {
        for _ in 0..<3 {
            channel.isWritable = false
            channel.pipeline.fireChannelWritabilityChanged()
            pass(19)
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
            pass(60)
        }
        #expect(channel.isActive)
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        pass(20)
        #expect(!channel.isActive)
    }

    @Test func `a reader of whose answer something leaves is not closed`() throws {
        try ask()
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        for _ in 0..<9 {
            pass(19)
            try channel.writeOutbound(HTTPResponsePart.body(ByteBuffer(repeating: 0x20, count: 10)))
        }
        pass(19)
        #expect(channel.isActive)
        // Without a flush it stays.
        channel.write(HTTPResponsePart.body(ByteBuffer(repeating: 0x20, count: 10)), promise: nil)
        pass(1)
        #expect(!channel.isActive)
    }

    @Test func `a connection is idle once the end of its answer has left`() throws {
        let (table, other, third) = (ListenerConnections(limit: 1), EmbeddedChannel(), EmbeddedChannel())
        try other.connect(to: SocketAddress(unixDomainSocketPath: "/nowhere")).wait()
        #expect(table.insert(other))
        try other.pipeline.syncOperations.addHandler(RequestDeadline(connections: table))
        try other.writeInbound(
            HTTPRequestPart.head(HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")))
        try other.writeInbound(HTTPRequestPart.end(nil))
        other.write(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
        other.write(HTTPResponsePart.end(nil), promise: nil)
        #expect(!table.insert(third))
        other.flush()
        #expect(table.insert(third))
    }

    @Test func `a reader that takes nothing is closed behind the end of its answer too`() throws {
        try ask()
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.write(HTTPResponsePart.end(nil), promise: nil)
        pass(20)
        #expect(!channel.isActive)
    }

    @Test func `a stream's reader takes what it likes`() throws {
        try ask()
        deadline.isStream = true
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        pass(600)
        #expect(errors.count == 0 && channel.isActive)
    }

    @Test func `behind a stream that ended, bodies and readers have their time again`() throws {
        try ask()
        try channel.writeInbound(HTTPRequestPart.end(nil))
        deadline.isStream = true
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        pass(600)
        try answer()
        pass(19)
        #expect(channel.isActive)
        pass(1)
        #expect(!channel.isActive)

        let late = try RequestDeadlineTests()
        try late.ask()
        late.deadline.isStream = true
        late.pass(600)
        try late.answer()
        late.pass(19)
        #expect(late.channel.isActive)
        late.pass(1)
        #expect(!late.channel.isActive && late.errors.count == 0)
    }

    @Test func `a body has its time from the end of the answer before it`() throws {
        try ask()
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try ask()
        pass(19)
        try answer()
        pass(19)
        #expect(errors.count == 0)
        pass(1)
        #expect(errors.count == 1)
    }
}
