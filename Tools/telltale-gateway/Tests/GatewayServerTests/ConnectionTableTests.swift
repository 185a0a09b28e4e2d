import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayServer

/// The connections of a listener, up to their limit.
struct ConnectionTableTests {
    private static func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/nowhere")).wait()
        return channel
    }

    @Test func `a new connection takes the place of that which has asked nothing for longest`() throws {
        let table = ConnectionTable(limit: 2)
        let (first, second, third) = (try Self.connection(), try Self.connection(), try Self.connection())
        #expect(table.insert(first) && table.insert(second))
        let member = try #require(table.member(first))
        member.asked()
        member.answered()
        #expect(table.insert(third))
        #expect(first.isActive && !second.isActive && third.isActive)
        #expect(table.count == 2 && table.member(second) == nil)
    }

    @Test func `where every connection has a request under way, a new one finds no room`() throws {
        let table = ConnectionTable(limit: 2)
        let (first, second, third) = (try Self.connection(), try Self.connection(), try Self.connection())
        for channel in [first, second] {
            #expect(table.insert(channel))
            table.member(channel)?.asked()
        }
        #expect(!table.insert(third))
        #expect(first.isActive && second.isActive)
        try first.close().wait()
        first.embeddedEventLoop.run()
        #expect(table.count == 1 && table.insert(third))
    }
}
