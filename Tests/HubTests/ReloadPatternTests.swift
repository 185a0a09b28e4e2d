import Journal
import Testing

@testable import Hub

/// `RELOAD` of all widgets of a kind, or of all that there are.
struct ReloadPatternTests {
    private static let towns = ["Brno", "Cheb", "Olomouc", "Prague", "Tabor"]
    private static let weather = """
        {"kind":"weather","type":"widget","version":1,"app":"com.example.weather","title":"Weather","source":{"provider":true},
         "parameters":{"town":{"title":"Town"}},"recommended":[\(towns.map { #"{"town":"\#($0)"}"# }.joined(separator: ","))],
         "families":["systemSmall"],"views":{"systemSmall":{"title":"{{content.n}} in {{config.town}}"}}}
        """

    /// A house whose widgets were all answered once: a batch looks at `share` keys.
    private func house(share: Int = 2) throws -> (house: HubHarness, provider: HubHarness.Client) {
        var configuration = HubConfiguration()
        configuration.limits.keysPerWalk = share
        let house = try HubHarness(
            kinds: [HubHarness.coffee, Self.weather, WidgetTests.sales], configuration: configuration)
        let provider = house.connect()
        for line in house.send("SERVE weather", from: provider) {
            guard let operation = HubHarness.attribute("op", of: line) else { continue }
            let entry = #"{"date":1763719200,"content-state":{"n":1}}"#
            house.send(#"DONE op=\#(operation) {"entries":[\#(entry)],"policy":"never"}"#, from: provider)
        }
        return (house, provider)
    }

    @Test("W13: asked widgets of a kind are deferred within the floor, or asked at once by their provider")
    func kindOfWidgets() throws {
        let (house, provider) = try house()
        let stranger = house.connect()
        #expect(house.send("RELOAD weather/*", from: stranger) == ["OK count=5 applied=0 deferred=5 noop=0"])
        #expect(house.lines(of: provider).isEmpty)
        let lines = house.send("RELOAD weather/*", from: provider)
        // The first of them ask before the last ones are decided.
        #expect(lines.contains("OK count=5 applied=5 deferred=0 noop=0"))
        #expect(lines.count { $0.hasPrefix("DO ") && $0.contains("reason=asked") } == 5)
        #expect(
            Set(lines.compactMap { HubHarness.attribute("key", of: $0) }) == Set(Self.towns.map { "weather/\($0)" }))
    }

    @Test func `each key has its own record`() throws {
        let (house, _) = try house()
        let client = house.connect()
        house.send("RELOAD weather/*", from: client)
        for town in Self.towns {
            let history = house.send("HISTORY weather/\(town)", from: client)
            #expect(history.count { $0.contains("type=reload verdict=deferred") } == 1)
        }
    }

    @Test("W13: what is posted is a noop, and has no record; what is no widget does not count")
    func others() throws {
        let (house, _) = try house()
        let client = house.connect()
        house.send("EVT coffee-order/1 type=start {}", from: client)
        let count = house.records.count
        #expect(house.send("RELOAD sales/*", from: client) == ["OK count=1 applied=0 deferred=0 noop=1"])
        #expect(house.records.count == count)
        #expect(house.send("RELOAD * id=7", from: client) == ["OK id=7 count=6 applied=0 deferred=5 noop=1"])
        #expect(house.send("RELOAD coffee-order/*", from: client)[0].contains("code=bad_action"))
        #expect(house.send("RELOAD nothing/*", from: client)[0].contains("code=unknown_kind"))
        #expect(house.send("RELOAD weather", from: client)[0].contains("code=bad_pattern"))
    }

    @Test func `widgets that the account does not see are left out`() throws {
        let (house, provider) = try house()
        house.send(
            #"EVT weather/Zlin type=timeline for=alice {"entries":[{"date":1763719200,"content-state":{"n":1}}]}"#,
            from: provider)
        #expect(house.send("RELOAD weather/*", from: house.connect(as: "bob"))[0].contains("count=5"))
        #expect(house.send("RELOAD weather/*", from: house.connect(as: "alice"))[0].contains("count=6"))
    }

    @Test("It goes on over several commits, others are served between them, and its sender's next request waits")
    func slices() throws {
        let (house, _) = try house(share: 3)
        let (client, other, third) = (house.connect(), house.connect(), house.connect())
        let begin = house.records.count
        house.post("RELOAD weather/*", from: client)
        house.post("EVT coffee-order/1 type=start {}", from: client)
        house.post("EVT coffee-order/2 type=start {}", from: other)
        house.post("RELOAD weather/*", from: third)
        house.turn()
        let lines = house.lines(of: client)
        #expect(lines.first == "OK count=5 applied=0 deferred=5 noop=0")
        #expect(lines.dropFirst().first?.hasPrefix("OK verdict=applied") == true)
        let keys = house.records.dropFirst(begin).map(\.entity)
        let reloads = keys.indices.filter { keys[$0].hasPrefix("weather/") }
        let (own, foreign) = (
            try #require(keys.firstIndex(of: "coffee-order/1")), try #require(keys.firstIndex(of: "coffee-order/2"))
        )
        #expect(reloads[4] < own && foreign < reloads[4])
        #expect(house.lines(of: third) == ["OK count=5 applied=0 deferred=5 noop=0"])
    }

    @Test func `a full disk ends it, and the connection goes on`() throws {
        let (house, _) = try house()
        let client = house.connect()
        let count = house.records.count
        house.isFull = true
        house.post("RELOAD weather/* id=1", from: client)
        house.post("PING id=2", from: client)
        house.turn()
        let lines = house.lines(of: client)
        #expect(lines.count == 2 && lines[0].hasPrefix("ERR id=1 code=storage_full") && lines[1] == "PONG id=2")
        #expect(house.records.count == count)
        house.isFull = false
        #expect(house.send("RELOAD weather/*", from: client) == ["OK count=5 applied=0 deferred=5 noop=0"])
    }

    @Test func `a batch that ends with one of many reloads has no more keys than its share`() throws {
        let (house, _) = try house(share: 2)
        let clients = (0..<20).map { _ in house.connect() }
        for client in clients { house.post("RELOAD *", from: client) }
        var counts: [Int] = []
        while house.hub.hasWork(at: house.now) {
            counts.append(house.hub.decide(at: house.now).count)
            house.hub.committed(at: house.now)
        }
        #expect(counts.max() == 2 && counts.reduce(0, +) == 100)
        house.turn()
        for client in clients { #expect(house.lines(of: client) == ["OK count=6 applied=0 deferred=5 noop=1"]) }
    }
}
