import Gateway
import Testing

@testable import GatewayServer

/// The bytes of bodies that have not come whole.
struct BodyRoomTests {
    @Test func `bodies have so many bytes together, and what is given back is there for others`() throws {
        let room = BodyRoom(limit: 10)
        try room.take(7)
        #expect(throws: Problem.self) { try room.take(4) }
        try room.take(3)
        room.giveBack(7)
        try room.take(7)
    }

    @Test func `a small body has room whatever the others hold`() throws {
        let room = BodyRoom(limit: 10)
        var (large, small) = (BodyRoom.Hold(in: room), BodyRoom.Hold(in: room))
        try large.grow(to: BodyRoom.freeByteCount)
        try large.grow(to: BodyRoom.freeByteCount + 10)
        try small.grow(to: 100)
        try small.grow(to: BodyRoom.freeByteCount)
        #expect(throws: Problem.self) { try small.grow(to: BodyRoom.freeByteCount + 1) }
        large.end()
        try small.grow(to: BodyRoom.freeByteCount + 10)
        small.end()
        try room.take(10)
    }
}
