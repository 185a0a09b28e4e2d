import TelltaleModel
import Testing

@testable import Hub

/// P7, in turns: over real sockets and with a clock it is the black-box tests' and `telltale-bench`'s.
struct StuckReaderTests {
    @Test func `a reader gets the same in the same turn, with and without a stuck one beside it`() throws {
        #expect(try turns(withStuckReader: true) == turns(withStuckReader: false))
    }

    @Test func `of milestones that wait, the newest are named, and their memory is bounded and reported`()
        throws
    {
        let house = try HubHarness(kinds: [
            """
            {"kind":"taxi","type":"activity","version":1,"app":"com.example.taxi","title":"Taxi",
             "machine":{"initial":"waiting","states":{"waiting":{"on":{"go":"driving"}},
                        "driving":{"milestone":true,"on":{"go":"there"}},"there":{"milestone":true,"on":{"go":"driving"}}}},
             "views":{"small":{"title":"{{state.title}}"}}}
            """
        ])
        let (shop, reader) = (house.connect(), house.connect())
        house.send("EVT taxi/1 type=start", from: shop)
        house.send("SUB taxi/*", from: reader)
        house.hub.becameBlocked(reader.id, at: house.now)
        var bytes: [Int64] = []
        for _ in 0..<6 {
            bytes.append(
                try #require(try HubHarness.tail(house.send("STATS", from: shop).last)["sessionBytes"]?.integer))
            for _ in 0..<100 { house.send("EVT taxi/1 type=go", from: shop) }
        }
        #expect(bytes[2] - bytes[0] > 128 * 16)
        #expect(bytes[5] - bytes[2] < 1_000)

        house.hub.becameWritable(reader.id)
        house.turn()
        let lines = house.lines(of: reader)
        #expect(lines.count == 65 && lines.dropLast().allSatisfy { $0.hasPrefix("MILE ") })
        #expect(lines.last.flatMap { HubHarness.attribute("skip", of: $0) } == "599")
        let missed = try #require(try HubHarness.tail(lines.last)["missed"]?.array)
        #expect(missed == (0..<32).flatMap { _ in ["driving", "there"] as [JSON] })
    }

    @Test func `of alerts that wait, the newest are kept, and their memory is bounded and reported`() throws {
        let house = try HubHarness()
        let (shop, reader) = (house.connect(), house.connect())
        for number in 0..<10 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        house.send("SUB coffee-order/* view=phone", from: reader)
        house.hub.becameBlocked(reader.id, at: house.now)
        let text = String(repeating: "x", count: 3_000)
        var bytes: [Int64] = []
        for round in 0..<4 {
            bytes.append(
                try #require(try HubHarness.tail(house.send("STATS", from: shop).last)["sessionBytes"]?.integer))
            for number in 0..<70 {
                let tail = #"{"alert":{"title":"\#(round * 70 + number)","body":"\#(text)","sound":"\#(text)"}}"#
                house.send("EVT coffee-order/\(number % 10) type=update \(tail)", from: shop)
            }
        }
        #expect((64 * 4_096..<64 * 4_300).contains(bytes[1] - bytes[0]))
        #expect(abs(bytes[3] - bytes[1]) < 1_000)

        house.hub.becameWritable(reader.id)
        house.turn()
        let lines = house.lines(of: reader)
        let titles = try lines.filter { $0.hasPrefix("ALERT ") }.map { try HubHarness.tail($0)["title"]?.string }
        #expect(Set(titles) == Set((216..<280).map { "\($0)" }))
        #expect(lines.count == 64 + 10)
    }

    @Test func `a reader that takes no byte for thirty seconds is cut, and one that takes a byte is not`() throws {
        let house = try HubHarness()
        let reader = house.connect()
        // Its heartbeats would not have it looked at in time.
        house.send("HELLO hb=3600000", from: reader)
        house.advance(by: .seconds(20))
        house.hub.becameBlocked(reader.id, at: house.now)
        #expect(house.hub.nextSessionDeadline == house.now.monotonic + Milliseconds.seconds(30))
        house.time = house.time + Milliseconds(29_999)
        house.hub.progressed(reader.id, at: house.now)
        house.advance(by: Milliseconds(29_999))
        #expect(!reader.isFinished)
        #expect(house.hub.nextSessionDeadline == house.now.monotonic + Milliseconds(1))
        house.advance(by: Milliseconds(1))
        #expect(reader.isFinished)
        #expect(house.hub.sessions.stuckReaderCount == 1)
    }

    @Test func `a client that asks for heartbeats and is silent for two of them is cut, and one that speaks is not`()
        throws
    {
        let house = try HubHarness()
        let (silent, talking, modest) = (house.connect(), house.connect(), house.connect())
        for client in [silent, talking] { house.send("HELLO hb=1000", from: client) }
        house.advance(by: Milliseconds(1_999))
        house.send("PING", from: talking)
        #expect(!silent.isFinished)
        house.advance(by: Milliseconds(1))
        #expect(silent.isFinished && !talking.isFinished)
        #expect(house.lines(of: silent).last == "BYE code=silent")
        house.advance(by: Milliseconds(1_999))
        #expect(talking.isFinished)
        house.advance(by: .hours(1))
        #expect(!modest.isFinished)
    }

    @Test func `a client that is silent and takes nothing is cut without a word`() throws {
        let house = try HubHarness()
        let silent = house.connect()
        house.send("HELLO hb=1000", from: silent)
        house.hub.becameBlocked(silent.id, at: house.now)
        house.advance(by: Milliseconds(2_000))
        #expect(silent.isFinished)
        #expect(!house.lines(of: silent).contains { $0.hasPrefix("BYE") })
    }

    @Test func `a connection has so many subscriptions and no more, until it gives one up`() throws {
        var configuration = HubConfiguration()
        configuration.limits.subscriptionsPerConnection = 3
        let house = try HubHarness(configuration: configuration)
        let client = house.connect()
        for _ in 1...3 { #expect(house.send("SUB *", from: client).first?.hasPrefix("OK sub=") == true) }
        #expect(house.send("SUB *", from: client).first?.contains("code=limit_subs retry=no") == true)
        house.send("UNSUB sub=2", from: client)
        // Its number is not used again.
        #expect(house.send("SUB *", from: client).first?.hasPrefix("OK sub=4 ") == true)
    }

    @Test("A session with too much unanswered is not read from", arguments: ["requests", "events", "bytes"])
    func unread(of what: String) throws {
        var configuration = HubConfiguration()
        if what != "bytes" { configuration.limits.requestsInFlight = 3 }
        if what == "bytes" { configuration.limits.requestBytesInFlight = 4_000 }
        let house = try HubHarness(configuration: configuration)
        let reader = house.connect()
        house.hub.becameBlocked(reader.id, at: house.now)
        // Requests that are answered in one piece count separately.
        let request = what == "events" ? "EVT coffee-order/1 type=start" : "HELP"
        house.send("\(request)\n\(request)", from: reader)
        func wantsInput() -> Bool { house.hub.wantsInput(reader.id) }
        #expect(wantsInput())
        house.send(request, from: reader)
        #expect(!wantsInput())
        house.hub.becameWritable(reader.id)
        house.turn()
        #expect(wantsInput())
        #expect(house.lines(of: reader).count { $0.hasPrefix("OK") } == 3)
    }

    /// The lines of a screen, of a slow one and of the shop, in each turn with an event.
    private func turns(withStuckReader isThere: Bool) throws -> [[String]] {
        let house = try HubHarness()
        let (shop, screen, slow) = (house.connect(), house.connect(), house.connect())
        house.send("SUB * view=carplay", from: screen)
        house.send("SUB coffee-order/*", from: slow)
        var stuck: HubHarness.Client?
        if isThere {
            let reader = house.connect()
            house.send("SUB *", from: reader)
            house.hub.becameBlocked(reader.id, at: house.now)
            stuck = reader
        }
        var turns: [[String]] = []
        let road = ["start", "confirm", "brew", "ready", "collect"]
        for number in 0..<300 {
            if number % 7 == 0 { house.hub.becameBlocked(slow.id, at: house.now) }
            if number % 7 == 5 { house.hub.becameWritable(slow.id) }
            let answer = house.send("EVT coffee-order/\(number / 5) type=\(road[number % 5])", from: shop)
            turns.append(answer + ["screen"] + house.lines(of: screen) + ["slow"] + house.lines(of: slow))
            house.advance(by: Milliseconds(150))
            turns.append(house.lines(of: screen) + ["slow"] + house.lines(of: slow))
        }
        // It was cut after 30 s of the 45.
        if let stuck { #expect(stuck.isFinished) }
        return turns
    }
}
