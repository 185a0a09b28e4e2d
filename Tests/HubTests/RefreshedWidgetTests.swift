import TelltaleModel
import Testing

@testable import Hub

/// Widgets that ask a provider for their timelines.
struct RefreshedWidgetTests {
    private static func weather(version: Int = 1, source: String = #""source":{"provider":true},"#) -> String {
        """
        {"kind":"weather","type":"widget","version":\(version),"app":"com.example.weather","title":"Weather",\(source)
         "parameters":{"town":{"title":"Town"}},"recommended":[{"town":"Prague"}],"families":["systemSmall"],
         "views":{"systemSmall":{"title":"{{content.n}} in {{config.town}}"}}}
        """
    }

    private func makeHarness() throws -> HubHarness { try HubHarness(kinds: [HubHarness.coffee, Self.weather()]) }

    /// The line with which a provider is asked: its operation and its reason.
    private func refreshRequest(_ harness: HubHarness, _ provider: HubHarness.Client) -> (
        operation: String, reason: String
    )? {
        harness.lines(of: provider).last { $0.hasPrefix("DO ") }.flatMap { line in
            guard let operation = HubHarness.attribute("op", of: line) else { return nil }
            return (operation, HubHarness.attribute("reason", of: line) ?? "-")
        }
    }

    private func serve(_ harness: HubHarness, from provider: HubHarness.Client) -> [String] {
        harness.send("SERVE weather", from: provider)
    }

    private func answer(
        _ operation: String, _ seconds: [Int64], from start: Timestamp, policy: String = #""atEnd""#
    ) -> String {
        let entries = seconds.map { second in
            #"{"date":\#((start + .seconds(second)).milliseconds / 1_000),"content-state":{"n":\#(second)}}"#
        }
        return #"DONE op=\#(operation) {"entries":[\#(entries.joined(separator: ","))],"policy":\#(policy)}"#
    }

    @Test("W-V15, W-V16: a key asks first, and again when its timeline ends, five minutes later at the earliest")
    func refreshes() throws {
        let harness = try makeHarness()
        let (provider, screen, start) = (harness.connect(), harness.connect(), harness.time)
        harness.send("SUB weather/* view=phone", from: screen)
        let lines = serve(harness, from: provider)
        #expect(lines.count == 2 && lines[0] == "OK")
        #expect(lines[1].contains("key=weather/Prague action=timeline reason=first"))
        let operation = try #require(HubHarness.attribute("op", of: lines[1]))
        #expect(
            harness.send(answer(operation, [0, 60], from: start), from: provider).first?.contains("verdict=applied")
                == true)
        #expect(harness.lines(of: screen).contains { $0.hasPrefix("UPD") && $0.contains("0 in Prague") })
        harness.advance(by: .seconds(299))
        #expect(refreshRequest(harness, provider) == nil)
        harness.advance(by: .seconds(1))
        #expect(refreshRequest(harness, provider)?.reason == "atEnd")
        // The dates of entries that were given are no rows.
        #expect(!harness.lines(of: screen).contains { $0.hasPrefix("UPD") })
    }

    @Test("W-V18, W-V20, W-V21: RELOAD waits for the floor between two asks, but for whoever serves the kind")
    func reloads() throws {
        let harness = try makeHarness()
        let (provider, stranger, start) = (harness.connect(), harness.connect(), harness.time)
        let first = try #require(HubHarness.attribute("op", of: serve(harness, from: provider)[1]))
        harness.send(answer(first, [0], from: start, policy: #""never""#), from: provider)
        harness.advance(by: .days(7))
        #expect(refreshRequest(harness, provider) == nil)
        #expect(WidgetTests.reply(harness, "RELOAD weather/Prague", stranger)[0].contains("verdict=applied"))
        let second = try #require(refreshRequest(harness, provider))
        #expect(second.reason == "asked")
        harness.send(answer(second.operation, [0], from: harness.time, policy: #""never""#), from: provider)
        harness.advance(by: .seconds(10))
        for _ in 0..<2 {
            #expect(
                WidgetTests.reply(harness, "RELOAD weather/Prague", stranger)[0].contains("verdict=deferred"))
        }
        #expect(refreshRequest(harness, provider) == nil)
        harness.advance(by: .seconds(290))
        let third = try #require(refreshRequest(harness, provider))
        harness.send(answer(third.operation, [0], from: harness.time, policy: #""never""#), from: provider)
        harness.advance(by: .seconds(300))
        #expect(refreshRequest(harness, provider) == nil)
        let own = WidgetTests.reply(harness, "RELOAD weather/Prague", provider)
        #expect(own[0].contains("verdict=applied"))
    }

    @Test("W-V19, W-V23: a failure and a late answer keep what is shown, and the provider is asked again")
    func failures() throws {
        let harness = try makeHarness()
        let (provider, start) = (harness.connect(), harness.time)
        var operation = try #require(HubHarness.attribute("op", of: serve(harness, from: provider)[1]))
        for pause in [5, 15, 60, 300, 300] as [Int64] {
            harness.send("FAIL op=\(operation)", from: provider)
            harness.advance(by: .seconds(pause - 1))
            #expect(refreshRequest(harness, provider) == nil)
            harness.advance(by: .seconds(1))
            operation = try #require(refreshRequest(harness, provider)).operation
        }
        // Nobody answers within the kind's 30 s.
        harness.advance(by: .seconds(30))
        #expect(WidgetTests.reply(harness, answer(operation, [0], from: start), provider) == ["OK verdict=ignored"])
        harness.advance(by: .seconds(300))
        #expect(refreshRequest(harness, provider)?.reason == "first")
    }

    @Test func `another provider is asked when the one that was asked leaves`() throws {
        let harness = try makeHarness()
        let (first, second) = (harness.connect(), harness.connect())
        #expect(serve(harness, from: first).count == 2)
        #expect(serve(harness, from: second) == ["OK"])
        harness.disconnect(first)
        let ask = try #require(refreshRequest(harness, second))
        #expect(ask.reason == "first")
        harness.disconnect(second)
        harness.advance(by: .days(1))
        let third = harness.connect()
        #expect(serve(harness, from: third).count == 2)
    }

    @Test func `a posted key of a kind with a provider asks it too`() throws {
        let harness = try makeHarness()
        let (provider, shop, start) = (harness.connect(), harness.connect(), harness.time)
        _ = serve(harness, from: provider)
        harness.send(WidgetTests.timeline("weather/Brno", [0, 600], from: start), from: shop)
        harness.advance(by: .seconds(660))
        let keys = harness.lines(of: provider).compactMap { HubHarness.attribute("key", of: $0) }
        #expect(keys.contains("weather/Brno"))
    }

    @Test func `a restart asks the next provider what the former one did not answer`() throws {
        for fromSnapshot in [false, true] {
            let harness = try makeHarness()
            let former = serve(harness, from: harness.connect())
            #expect(former.count == 2)
            if fromSnapshot { try harness.restartFromSnapshot() } else { try harness.restart() }
            let provider = harness.connect()
            let lines = serve(harness, from: provider)
            #expect(lines.count == 2 && lines[1].contains("reason=first"))
            let late = try #require(HubHarness.attribute("op", of: former[1]))
            #expect(harness.send(answer(late, [0], from: harness.time), from: provider) == ["OK verdict=ignored"])
        }
    }

    @Test func `a kind that loses its provider asks no more, and one that gets one begins to`() throws {
        let harness = try makeHarness()
        let provider = harness.connect()
        let operation = try #require(HubHarness.attribute("op", of: serve(harness, from: provider)[1]))
        try harness.hub.adopt([try HubHarness.kind(Self.weather(version: 2, source: ""))])
        harness.turn()
        #expect(harness.send(answer(operation, [0], from: harness.time), from: provider) == ["OK verdict=ignored"])
        harness.advance(by: .days(1))
        #expect(refreshRequest(harness, provider) == nil)
        try harness.hub.adopt([try HubHarness.kind(Self.weather(version: 3))])
        harness.turn()
        #expect(refreshRequest(harness, provider)?.reason == "first")
    }

    @Test("W16: a key that ended before its kind got a provider, or lost it, begins anew as the kind says")
    func revived() throws {
        let harness = try makeHarness()
        let (provider, shop) = (harness.connect(), harness.connect())
        _ = serve(harness, from: provider)
        func adopt(_ version: Int, _ source: String) throws {
            try harness.hub.adopt([try HubHarness.kind(Self.weather(version: version, source: source))])
            harness.turn()
        }
        for asked in [false, true] {
            harness.send(WidgetTests.timeline("weather/Brno", [0], from: harness.time), from: shop)
            harness.send("EVT weather/Brno type=end", from: shop)
            try adopt(asked ? 4 : 2, asked ? #""source":{"provider":true},"# : "")
            harness.advance(by: .seconds(1))
            _ = harness.lines(of: provider)
            harness.send(WidgetTests.timeline("weather/Brno", [0], from: harness.time), from: shop)
            let reply = WidgetTests.reply(harness, "RELOAD weather/Brno", shop).first ?? ""
            #expect(reply.contains(asked ? "verdict=applied" : "verdict=noop"), "\(reply)")
            let asks = harness.lines(of: provider).filter { $0.contains("key=weather/Brno") }
            #expect(asks.isEmpty != asked)
        }
    }

    @Test("A tail of DONE has no meaning for a control, as ever")
    func tailOfControl() throws {
        let harness = try HubHarness(kinds: [HubHarness.logCoffee()])
        let provider = harness.connect()
        harness.send("SERVE log-coffee", from: provider)
        harness.send("REPORT log-coffee/1", from: provider)
        for tail in [#"{"a":1}"#, #"{"entries":[]}"#] {
            harness.send("PRESS log-coffee/1", from: harness.connect())
            let operation = try #require(harness.operation(askedOf: provider))
            let reply = harness.send("DONE op=\(operation) \(tail)", from: provider)
            #expect(
                reply.first?.hasPrefix("OK") == true && reply.first?.contains("ignored") == false
                    || reply.first?.contains("verdict=applied") == true, "\(reply)")
        }
    }

    @Test("W-V22: RELOAD of what is posted or computed is a noop; of what is no widget an error")
    func others() throws {
        let harness = try WidgetTests.harness()
        let client = harness.connect()
        #expect(harness.send("RELOAD sales/Hoegi", from: client)[0].contains("verdict=noop"))
        harness.send("EVT coffee-order/1 type=start {}", from: client)
        #expect(harness.send("RELOAD coffee-order/1", from: client)[0].contains("code=bad_action"))
        #expect(harness.send("RELOAD sales/Nowhere", from: client)[0].contains("code=unknown_key"))
        #expect(harness.send("RELOAD x/1", from: client)[0].contains("code=unknown_kind"))
        #expect(harness.send("SERVE sales", from: client)[0].contains("code=bad_action"))
    }

    @Test func `an answer of the wrong form is refused, and its refresh can still be answered`() throws {
        let harness = try makeHarness()
        let (provider, start) = (harness.connect(), harness.time)
        let operation = try #require(HubHarness.attribute("op", of: serve(harness, from: provider)[1]))
        for tail in ["", #" {"entries":[]}"#, #" {"entries":[{"date":1}]}"#] {
            #expect(harness.send("DONE op=\(operation)\(tail)", from: provider)[0].contains("code=bad_json"))
        }
        #expect(harness.send(answer(operation, [0], from: start), from: provider)[0].contains("verdict=applied"))
    }

    @Test func `a batch that is not written takes a refresh back, and it comes again`() throws {
        let harness = try makeHarness()
        let provider = harness.connect()
        harness.isFull = true
        #expect(serve(harness, from: provider)[0].contains("code=storage_full"))
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(serve(harness, from: provider).contains { $0.contains("reason=first") })
    }
}
