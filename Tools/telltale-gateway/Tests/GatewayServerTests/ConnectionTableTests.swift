import NIOCore
import NIOEmbedded
import Testing

@testable import ListenerLimits

/// The connections of a listener, up to their limit.
struct ConnectionTableTests {
    private static func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/nowhere")).wait()
        return channel
    }

    @Test func `a new connection takes the place of the one that has been idle for longest`() throws {
        let table = ListenerConnections(limit: 2)
        let (first, second, third) = (try Self.connection(), try Self.connection(), try Self.connection())
        #expect(table.insert(first) && table.insert(second))
        let member = try #require(table.member(first))
        member.asked()
        member.answered()
        #expect(table.insert(third))
        second.embeddedEventLoop.run()
        #expect(first.isActive && !second.isActive && third.isActive)
        #expect(table.count == 2 && table.member(second) == nil)
    }

    @Test func `where every connection has a request under way, a new one finds no room`() throws {
        let table = ListenerConnections(limit: 2)
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

    @Test func `a connection that is asked something as it gives way is answered`() throws {
        let table = ListenerConnections(limit: 1)
        let (first, second) = (try Self.connection(), try Self.connection())
        #expect(table.insert(first))
        let member = try #require(table.member(first))
        #expect(table.insert(second))
        member.asked()
        first.embeddedEventLoop.run()
        #expect(first.isActive && table.count == 2)
        try first.close().wait()
        first.embeddedEventLoop.run()
        #expect(table.count == 1 && table.member(first) == nil && table.member(second) != nil)
    }

    @Test func `an idle connection among many is found, in a few looks`() throws {
        let table = ListenerConnections(limit: 200)
        let channels = try (0..<200).map { _ in try Self.connection() }
        for channel in channels {
            #expect(table.insert(channel))
            table.member(channel)?.asked()
        }
        table.member(channels[150])?.answered()
        let new = try (0..<4).map { _ in try Self.connection() }
        for channel in new where table.insert(channel) { table.member(channel)?.asked() }
        #expect(new.count { table.member($0) != nil } == 1)
        channels[150].embeddedEventLoop.run()
        #expect(channels.count { !$0.isActive } == 1 && !channels[150].isActive && table.count == 200)
    }
}
