import Gateway
import Testing

@testable import ListenerLimits

/// The bytes of bodies that have not come whole.
struct BodyRoomTests {
    private static let own = BodyRoom.ownByteCount

    /// With a common half of `common` bytes beside the parts of so many connections.
    private static func room(common: Int) -> BodyRoom { BodyRoom(byteLimit: 2 * common, connections: common / own) }

    @Test func `bodies have so many bytes together, and what is given back is there for others`() throws {
        let room = Self.room(common: 4 * Self.own)
        var first = BodyRoom.Hold(in: BodyRoom.Connection(in: room))
        var second = BodyRoom.Hold(in: BodyRoom.Connection(in: room))
        try first.grow(to: 4 * Self.own)
        #expect(throws: Problem.self) { try second.grow(to: 2 * Self.own + 1) }
        try second.grow(to: 2 * Self.own)
        first.end()
        try second.grow(to: 5 * Self.own)
        #expect(throws: Problem.self) { try second.grow(to: 5 * Self.own + 1) }
    }

    @Test func `a small body of another connection has room whatever the others hold`() throws {
        let room = Self.room(common: 4 * Self.own)
        var large = BodyRoom.Hold(in: BodyRoom.Connection(in: room))
        var small = BodyRoom.Hold(in: BodyRoom.Connection(in: room))
        try large.grow(to: 5 * Self.own)
        try small.grow(to: 0)
        try small.grow(to: Self.own)
        #expect(throws: Problem.self) { try small.grow(to: Self.own + 1) }
    }

    @Test func `every further body of a connection counts whole, and so do its buffers`() throws {
        let room = Self.room(common: 10 * (Self.own + BodyRoom.streamByteCount))
        let connection = BodyRoom.Connection(in: room)
        var holds = (0..<11).map { _ in BodyRoom.Hold(in: connection) }
        for index in holds.indices { try holds[index].grow(to: Self.own) }
        var late = BodyRoom.Hold(in: connection)
        #expect(throws: Problem.self) { try late.grow(to: 0) }
        for index in holds.indices { holds[index].end() }
        late.end()
        #expect(room.heldByteCount == 0)
        try late.grow(to: Self.own)
        #expect(room.heldByteCount == Self.own + BodyRoom.streamByteCount)
    }

    @Test(arguments: [1, 100, 8_192, 8_193, 100_000])
    func `the parts of all connections are within the bound`(connections: Int) throws {
        let room = BodyRoom(connections: connections)
        var holds = (0..<min(connections, 20)).map { _ in BodyRoom.Hold(in: BodyRoom.Connection(in: room)) }
        var common = 0
        // As much of the common half as there is, and then a part for everybody.
        for step in [65_536, 256] {
            while (try? holds[0].grow(to: common + step)) != nil { common += step }
        }
        var own = 0
        guard holds.count > 1 else { return #expect(common <= BodyRoom.byteLimit) }
        while (try? holds[1].grow(to: own + 256)) != nil { own += 256 }
        #expect(common + own * connections <= BodyRoom.byteLimit + 256 * connections + 65_536)
        #expect(own >= 1_024)
    }
}
