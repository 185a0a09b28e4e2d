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
}
