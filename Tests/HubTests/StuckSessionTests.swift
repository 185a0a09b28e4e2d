import TelltaleModel
import Testing

@testable import Hub

/// P7, in turns: over real sockets and with a clock it is the black-box tests' and `telltale-bench`'s.
struct StuckSessionTests {
    @Test func `a reader gets the same in the same turn, with and without a stuck one beside it`() throws {
        #expect(try turns(withStuckReader: true) == turns(withStuckReader: false))
    }

    @Test func `of milestones that wait, the newest are named, and their memory is bounded and reported`()
        throws
    {
        let harness = try HubHarness(kinds: [
            """
            {"kind":"taxi","type":"activity","version":1,"app":"com.example.taxi","title":"Taxi",
             "machine":{"initial":"waiting","states":{"waiting":{"on":{"go":"driving"}},
                        "driving":{"milestone":true,"on":{"go":"there"}},"there":{"milestone":true,"on":{"go":"driving"}}}},
             "views":{"small":{"title":"{{state.title}}"}}}
            """
        ])
        let (shop, reader) = (harness.connect(), harness.connect())
        harness.send("EVT taxi/1 type=start", from: shop)
        harness.send("SUB taxi/*", from: reader)
        harness.hub.becameBlocked(reader.id, at: harness.now)
        var bytes: [Int64] = []
        for _ in 0..<6 {
            bytes.append(
                try #require(try HubHarness.tail(harness.send("STATS", from: shop).last)["sessionBytes"]?.integer))
            for _ in 0..<100 { harness.send("EVT taxi/1 type=go", from: shop) }
        }
        #expect(bytes[2] - bytes[0] > 128 * 16)
        #expect(bytes[5] - bytes[2] < 1_000)

        harness.hub.becameWritable(reader.id)
        harness.turn()
        let lines = harness.lines(of: reader)
        #expect(lines.count == 65 && lines.dropLast().allSatisfy { $0.hasPrefix("MILE ") })
        #expect(lines.last.flatMap { HubHarness.attribute("skip", of: $0) } == "599")
        let missed = try #require(try HubHarness.tail(lines.last)["missed"]?.array)
        #expect(missed == (0..<32).flatMap { _ in ["driving", "there"] as [JSON] })
    }

    @Test func `of alerts that wait, the newest are kept, and their memory is bounded and reported`() throws {
        let harness = try HubHarness()
        let (shop, reader) = (harness.connect(), harness.connect())
        for number in 0..<10 { harness.send("EVT coffee-order/\(number) type=start", from: shop) }
        harness.send("SUB coffee-order/* view=phone", from: reader)
        harness.hub.becameBlocked(reader.id, at: harness.now)
        let text = String(repeating: "x", count: 3_000)
        var bytes: [Int64] = []
        for round in 0..<4 {
            bytes.append(
                try #require(try HubHarness.tail(harness.send("STATS", from: shop).last)["sessionBytes"]?.integer))
            for number in 0..<70 {
                let tail = #"{"alert":{"title":"\#(round * 70 + number)","body":"\#(text)","sound":"\#(text)"}}"#
                harness.send("EVT coffee-order/\(number % 10) type=update \(tail)", from: shop)
            }
        }
        #expect((64 * 4_096..<64 * 4_300).contains(bytes[1] - bytes[0]))
        #expect(abs(bytes[3] - bytes[1]) < 1_000)

        harness.hub.becameWritable(reader.id)
        harness.turn()
        let lines = harness.lines(of: reader)
        let titles = try lines.filter { $0.hasPrefix("ALERT ") }.map { try HubHarness.tail($0)["title"]?.string }
        #expect(Set(titles) == Set((216..<280).map { "\($0)" }))
        #expect(lines.count == 64 + 10)
    }

    @Test func `a reader that takes no byte for thirty seconds is cut, and one that takes a byte is not`() throws {
        let harness = try HubHarness()
        let reader = harness.connect()
        // Its heartbeats would not have it looked at in time.
        harness.send("HELLO hb=3600000", from: reader)
        harness.advance(by: .seconds(20))
        harness.hub.becameBlocked(reader.id, at: harness.now)
        #expect(harness.hub.nextSessionDeadline == harness.now.monotonic + Milliseconds.seconds(30))
        harness.time = harness.time + Milliseconds(29_999)
        harness.hub.progressed(reader.id, at: harness.now)
        harness.advance(by: Milliseconds(29_999))
        #expect(!reader.isFinished)
        #expect(harness.hub.nextSessionDeadline == harness.now.monotonic + Milliseconds(1))
        harness.advance(by: Milliseconds(1))
        #expect(reader.isFinished)
        #expect(harness.hub.sessions.stuckReaderCount == 1)
    }

    @Test func `a client that asks for heartbeats and is silent for two of them is cut, and one that speaks is not`()
        throws
    {
        let harness = try HubHarness()
        let (silent, talking, modest) = (harness.connect(), harness.connect(), harness.connect())
        for client in [silent, talking] { harness.send("HELLO hb=1000", from: client) }
        harness.advance(by: Milliseconds(1_999))
        harness.send("PING", from: talking)
        #expect(!silent.isFinished)
        harness.advance(by: Milliseconds(1))
        #expect(silent.isFinished && !talking.isFinished)
        #expect(harness.lines(of: silent).last == "BYE code=silent")
        harness.advance(by: Milliseconds(1_999))
        #expect(talking.isFinished)
        harness.advance(by: .hours(1))
        #expect(!modest.isFinished)
    }

    @Test func `a client that is silent and takes nothing is cut without a word`() throws {
        let harness = try HubHarness()
        let silent = harness.connect()
        harness.send("HELLO hb=1000", from: silent)
        harness.hub.becameBlocked(silent.id, at: harness.now)
        harness.advance(by: Milliseconds(2_000))
        #expect(silent.isFinished)
        #expect(!harness.lines(of: silent).contains { $0.hasPrefix("BYE") })
    }

    @Test func `a connection has so many subscriptions and no more, until it gives one up`() throws {
        var configuration = HubConfiguration()
        configuration.limits.subscriptionsPerConnection = 3
        let harness = try HubHarness(configuration: configuration)
        let client = harness.connect()
        for _ in 1...3 { #expect(harness.send("SUB *", from: client).first?.hasPrefix("OK sub=") == true) }
        #expect(harness.send("SUB *", from: client).first?.contains("code=limit_subs retry=no") == true)
        harness.send("UNSUB sub=2", from: client)
        // Its number is not used again.
        #expect(harness.send("SUB *", from: client).first?.hasPrefix("OK sub=4 ") == true)
    }

    @Test("A session with too much unanswered is not read from", arguments: ["requests", "events", "bytes"])
    func unread(of what: String) throws {
        var configuration = HubConfiguration()
        if what != "bytes" { configuration.limits.requestsInFlight = 3 }
        if what == "bytes" { configuration.limits.requestBytesInFlight = 4_400 }
        let harness = try HubHarness(configuration: configuration)
        let reader = harness.connect()
        harness.hub.becameBlocked(reader.id, at: harness.now)
        // Requests that are answered in one piece count separately.
        let request = what == "events" ? "EVT coffee-order/1 type=start" : "HELP"
        harness.send("\(request)\n\(request)", from: reader)
        func wantsInput() -> Bool { harness.hub.wantsInput(reader.id) }
        #expect(wantsInput())
        harness.send(request, from: reader)
        #expect(!wantsInput())
        harness.hub.becameWritable(reader.id)
        harness.turn()
        #expect(wantsInput())
        #expect(harness.lines(of: reader).count { $0.hasPrefix("OK") } == 3)
    }

    /// The lines of a screen, of a slow one and of the shop, in each turn with an event.
    private func turns(withStuckReader isThere: Bool) throws -> [[String]] {
        let harness = try HubHarness()
        let (shop, screen, slow) = (harness.connect(), harness.connect(), harness.connect())
        harness.send("SUB * view=carplay", from: screen)
        harness.send("SUB coffee-order/*", from: slow)
        var stuck: HubHarness.Client?
        if isThere {
            let reader = harness.connect()
            harness.send("SUB *", from: reader)
            harness.hub.becameBlocked(reader.id, at: harness.now)
            stuck = reader
        }
        var turns: [[String]] = []
        let road = ["start", "confirm", "brew", "ready", "collect"]
        for number in 0..<300 {
            if number % 7 == 0 { harness.hub.becameBlocked(slow.id, at: harness.now) }
            if number % 7 == 5 { harness.hub.becameWritable(slow.id) }
            let answer = harness.send("EVT coffee-order/\(number / 5) type=\(road[number % 5])", from: shop)
            turns.append(answer + ["screen"] + harness.lines(of: screen) + ["slow"] + harness.lines(of: slow))
            harness.advance(by: Milliseconds(150))
            turns.append(harness.lines(of: screen) + ["slow"] + harness.lines(of: slow))
        }
        // It was cut after 30 s of the 45.
        if let stuck { #expect(stuck.isFinished) }
        return turns
    }
}
