import TelltaleClient
import TelltaleModel
import Testing

struct ServerClockTests {
    private static func clock(_ attributes: String) throws -> ServerClock {
        var script = Script()
        script.introduce(greeting: "TELLTALE 1 epoch=00000000000000aa \(attributes)")
        return ServerClock(
            try script.client.greeting.unwrapped, at: Timestamp(milliseconds: 1000),
            wallClock: Timestamp(milliseconds: 777_000))
    }

    @Test(
        "It goes on from what the greeting says, as fast as that says",
        arguments: [
            ("now=500000", 3000, 502_000), ("now=500000 speed=60", 3000, 620_000),
            ("now=500000 speed=0.5", 3000, 501_000),
            ("now=500000", 0, 499_000), ("", 3000, 779_000), ("now=500000 speed=1e300", 3000, .max),
        ] as [(String, Int64, Int64)])
    func time(_ example: (greeting: String, now: Int64, time: Int64)) throws {
        let clock = try Self.clock(example.greeting)
        #expect(clock.time(at: Timestamp(milliseconds: example.now)).milliseconds == example.time)
    }

    @Test(
        "A deadline is in real time: on the server's clock, or on this machine's where that of the server runs faster",
        arguments: [
            ("now=500000", 510_000, 8000), ("now=500000", 502_000, 0), ("now=500000", 1, 0),
            ("now=500000 speed=60", 787_000, 8000), ("now=500000 speed=0.5", 779_001, 1),
            ("now=500000 speed=60", 740_000, 0), ("", 787_000, 8000),
        ] as [(String, Int64, Int64)])
    func wait(_ example: (greeting: String, deadline: Int64, wait: Int64)) throws {
        let clock = try Self.clock(example.greeting)
        let wait = clock.wait(
            until: Timestamp(milliseconds: example.deadline), at: Timestamp(milliseconds: 3000))
        #expect(wait.count == example.wait)
    }
}
