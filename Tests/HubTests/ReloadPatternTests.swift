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

    /// A hub whose widgets were all answered once: a batch looks at `share` keys.
    private func harness(share: Int = 2) throws -> (harness: HubHarness, provider: HubHarness.Client) {
        var configuration = HubConfiguration()
        configuration.limits.keysPerScan = share
        let harness = try HubHarness(
            kinds: [HubHarness.coffee, Self.weather, WidgetTests.sales], configuration: configuration)
        let provider = harness.connect()
        for line in harness.send("SERVE weather", from: provider) {
            guard let operation = HubHarness.attribute("op", of: line) else { continue }
            let entry = #"{"date":1763719200,"content-state":{"n":1}}"#
            harness.send(#"DONE op=\#(operation) {"entries":[\#(entry)],"policy":"never"}"#, from: provider)
        }
        return (harness, provider)
    }

    @Test("W13: asked widgets of a kind are deferred within the floor, or asked at once by their provider")
    func kindOfWidgets() throws {
        let (harness, provider) = try harness()
        let stranger = harness.connect()
        #expect(harness.send("RELOAD weather/*", from: stranger) == ["OK count=5 applied=0 deferred=5 noop=0"])
        #expect(harness.lines(of: provider).isEmpty)
        let lines = harness.send("RELOAD weather/*", from: provider)
        // The first of them ask before the last ones are decided.
        #expect(lines.contains("OK count=5 applied=5 deferred=0 noop=0"))
        #expect(lines.count { $0.hasPrefix("DO ") && $0.contains("reason=asked") } == 5)
        #expect(
            Set(lines.compactMap { HubHarness.attribute("key", of: $0) }) == Set(Self.towns.map { "weather/\($0)" }))
    }

    @Test func `each key has its own record`() throws {
        let (harness, _) = try harness()
        let client = harness.connect()
        harness.send("RELOAD weather/*", from: client)
        for town in Self.towns {
            let history = harness.send("HISTORY weather/\(town)", from: client)
            #expect(history.count { $0.contains("type=reload verdict=deferred") } == 1)
        }
    }

    @Test("W13: what is posted is a noop, and has no record; what is no widget does not count")
    func others() throws {
        let (harness, _) = try harness()
        let client = harness.connect()
        harness.send("EVT coffee-order/1 type=start {}", from: client)
        let count = harness.records.count
        #expect(harness.send("RELOAD sales/*", from: client) == ["OK count=1 applied=0 deferred=0 noop=1"])
        #expect(harness.records.count == count)
        #expect(harness.send("RELOAD * id=7", from: client) == ["OK id=7 count=6 applied=0 deferred=5 noop=1"])
        #expect(harness.send("RELOAD coffee-order/*", from: client)[0].contains("code=bad_action"))
        #expect(harness.send("RELOAD nothing/*", from: client)[0].contains("code=unknown_kind"))
        #expect(harness.send("RELOAD weather", from: client)[0].contains("code=bad_pattern"))
    }

    @Test func `widgets that the account does not see are left out`() throws {
        let (harness, provider) = try harness()
        harness.send(
            #"EVT weather/Zlin type=timeline for=alice {"entries":[{"date":1763719200,"content-state":{"n":1}}]}"#,
            from: provider)
        #expect(harness.send("RELOAD weather/*", from: harness.connect(as: "bob"))[0].contains("count=5"))
        #expect(harness.send("RELOAD weather/*", from: harness.connect(as: "alice"))[0].contains("count=6"))
    }

    @Test("It goes on over several commits, others are served between them, and its sender's next request waits")
    func slices() throws {
        let (harness, _) = try harness(share: 3)
        let (client, other, third) = (harness.connect(), harness.connect(), harness.connect())
        let begin = harness.records.count
        harness.post("RELOAD weather/*", from: client)
        harness.post("EVT coffee-order/1 type=start {}", from: client)
        harness.post("EVT coffee-order/2 type=start {}", from: other)
        harness.post("RELOAD weather/*", from: third)
        harness.turn()
        let lines = harness.lines(of: client)
        #expect(lines.first == "OK count=5 applied=0 deferred=5 noop=0")
        #expect(lines.dropFirst().first?.hasPrefix("OK verdict=applied") == true)
        let keys = harness.records.dropFirst(begin).map(\.entity)
        let reloads = keys.indices.filter { keys[$0].hasPrefix("weather/") }
        let (own, foreign) = (
            try #require(keys.firstIndex(of: "coffee-order/1")), try #require(keys.firstIndex(of: "coffee-order/2"))
        )
        #expect(reloads[4] < own && foreign < reloads[4])
        #expect(harness.lines(of: third) == ["OK count=5 applied=0 deferred=5 noop=0"])
    }

    @Test func `a full disk ends it, and the connection goes on`() throws {
        let (harness, _) = try harness()
        let client = harness.connect()
        let count = harness.records.count
        harness.isFull = true
        harness.post("RELOAD weather/* id=1", from: client)
        harness.post("PING id=2", from: client)
        harness.turn()
        let lines = harness.lines(of: client)
        #expect(lines.count == 2 && lines[0].hasPrefix("ERR id=1 code=storage_full") && lines[1] == "PONG id=2")
        #expect(harness.records.count == count)
        harness.isFull = false
        #expect(harness.send("RELOAD weather/*", from: client) == ["OK count=5 applied=0 deferred=5 noop=0"])
    }

    @Test func `a batch that ends with one of many reloads has no more keys than its share`() throws {
        let (harness, _) = try harness(share: 2)
        let clients = (0..<20).map { _ in harness.connect() }
        for client in clients { harness.post("RELOAD *", from: client) }
        var counts: [Int] = []
        while harness.hub.hasWork(at: harness.now) {
            counts.append(harness.hub.decide(at: harness.now).count)
            harness.hub.committed(at: harness.now)
        }
        #expect(counts.max() == 2 && counts.reduce(0, +) == 100)
        harness.turn()
        for client in clients { #expect(harness.lines(of: client) == ["OK count=6 applied=0 deferred=5 noop=1"]) }
    }
}
