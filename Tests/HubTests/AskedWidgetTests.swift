import TelltaleModel
import Testing

@testable import Hub

/// Widgets that ask a provider for their timelines.
struct AskedWidgetTests {
    private static func weather(version: Int = 1, source: String = #""source":{"provider":true},"#) -> String {
        """
        {"kind":"weather","type":"widget","version":\(version),"app":"com.example.weather","title":"Weather",\(source)
         "parameters":{"town":{"title":"Town"}},"recommended":[{"town":"Prague"}],"families":["systemSmall"],
         "views":{"systemSmall":{"title":"{{content.n}} in {{config.town}}"}}}
        """
    }

    private func house() throws -> HubHarness { try HubHarness(kinds: [HubHarness.coffee, Self.weather()]) }

    /// The line with which a provider is asked: its operation and its reason.
    private func asked(_ house: HubHarness, _ provider: HubHarness.Client) -> (operation: String, reason: String)? {
        house.lines(of: provider).last { $0.hasPrefix("DO ") }.flatMap { line in
            guard let operation = HubHarness.attribute("op", of: line) else { return nil }
            return (operation, HubHarness.attribute("reason", of: line) ?? "-")
        }
    }

    private func serve(_ house: HubHarness, from provider: HubHarness.Client) -> [String] {
        house.send("SERVE weather", from: provider)
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
    func asks() throws {
        let house = try house()
        let (provider, screen, start) = (house.connect(), house.connect(), house.time)
        house.send("SUB weather/* view=phone", from: screen)
        let lines = serve(house, from: provider)
        #expect(lines.count == 2 && lines[0] == "OK")
        #expect(lines[1].contains("key=weather/Prague action=timeline reason=first"))
        let operation = try #require(HubHarness.attribute("op", of: lines[1]))
        #expect(
            house.send(answer(operation, [0, 60], from: start), from: provider).first?.contains("verdict=applied")
                == true)
        #expect(house.lines(of: screen).contains { $0.hasPrefix("UPD") && $0.contains("0 in Prague") })
        house.advance(by: .seconds(299))
        #expect(asked(house, provider) == nil)
        house.advance(by: .seconds(1))
        #expect(asked(house, provider)?.reason == "atEnd")
        // The dates of entries that were given are no rows.
        #expect(!house.lines(of: screen).contains { $0.hasPrefix("UPD") })
    }

    @Test("W-V18, W-V20, W-V21: RELOAD waits for the floor between two asks, but for whoever serves the kind")
    func reloads() throws {
        let house = try house()
        let (provider, stranger, start) = (house.connect(), house.connect(), house.time)
        let first = try #require(HubHarness.attribute("op", of: serve(house, from: provider)[1]))
        house.send(answer(first, [0], from: start, policy: #""never""#), from: provider)
        house.advance(by: .days(7))
        #expect(asked(house, provider) == nil)
        #expect(WidgetTests.reply(house, "RELOAD weather/Prague", stranger)[0].contains("verdict=applied"))
        let second = try #require(asked(house, provider))
        #expect(second.reason == "asked")
        house.send(answer(second.operation, [0], from: house.time, policy: #""never""#), from: provider)
        house.advance(by: .seconds(10))
        for _ in 0..<2 {
            #expect(
                WidgetTests.reply(house, "RELOAD weather/Prague", stranger)[0].contains("verdict=deferred"))
        }
        #expect(asked(house, provider) == nil)
        house.advance(by: .seconds(290))
        let third = try #require(asked(house, provider))
        house.send(answer(third.operation, [0], from: house.time, policy: #""never""#), from: provider)
        house.advance(by: .seconds(300))
        #expect(asked(house, provider) == nil)
        let own = WidgetTests.reply(house, "RELOAD weather/Prague", provider)
        #expect(own[0].contains("verdict=applied"))
    }

    @Test("W-V19, W-V23: a failure and a late answer keep what is shown, and the provider is asked again")
    func failures() throws {
        let house = try house()
        let (provider, start) = (house.connect(), house.time)
        var operation = try #require(HubHarness.attribute("op", of: serve(house, from: provider)[1]))
        for pause in [5, 15, 60, 300, 300] as [Int64] {
            house.send("FAIL op=\(operation)", from: provider)
            house.advance(by: .seconds(pause - 1))
            #expect(asked(house, provider) == nil)
            house.advance(by: .seconds(1))
            operation = try #require(asked(house, provider)).operation
        }
        // Nobody answers within the kind's 30 s.
        house.advance(by: .seconds(30))
        #expect(WidgetTests.reply(house, answer(operation, [0], from: start), provider) == ["OK verdict=ignored"])
        house.advance(by: .seconds(300))
        #expect(asked(house, provider)?.reason == "first")
    }

    @Test func `another provider is asked when the one that was asked leaves`() throws {
        let house = try house()
        let (first, second) = (house.connect(), house.connect())
        #expect(serve(house, from: first).count == 2)
        #expect(serve(house, from: second) == ["OK"])
        house.disconnect(first)
        let ask = try #require(asked(house, second))
        #expect(ask.reason == "first")
        house.disconnect(second)
        house.advance(by: .days(1))
        let third = house.connect()
        #expect(serve(house, from: third).count == 2)
    }

    @Test func `a posted key of a kind with a provider asks it too`() throws {
        let house = try house()
        let (provider, shop, start) = (house.connect(), house.connect(), house.time)
        _ = serve(house, from: provider)
        house.send(WidgetTests.timeline("weather/Brno", [0, 600], from: start), from: shop)
        house.advance(by: .seconds(660))
        let keys = house.lines(of: provider).compactMap { HubHarness.attribute("key", of: $0) }
        #expect(keys.contains("weather/Brno"))
    }

    @Test func `a restart asks the next provider what the former one did not answer`() throws {
        for fromSnapshot in [false, true] {
            let house = try house()
            let former = serve(house, from: house.connect())
            #expect(former.count == 2)
            if fromSnapshot { try house.restartFromSnapshot() } else { try house.restart() }
            let provider = house.connect()
            let lines = serve(house, from: provider)
            #expect(lines.count == 2 && lines[1].contains("reason=first"))
            let late = try #require(HubHarness.attribute("op", of: former[1]))
            #expect(house.send(answer(late, [0], from: house.time), from: provider) == ["OK verdict=ignored"])
        }
    }

    @Test func `a kind that loses its provider asks no more, and one that gets one begins to`() throws {
        let house = try house()
        let provider = house.connect()
        let operation = try #require(HubHarness.attribute("op", of: serve(house, from: provider)[1]))
        try house.hub.adopt([try HubHarness.kind(Self.weather(version: 2, source: ""))])
        house.turn()
        #expect(house.send(answer(operation, [0], from: house.time), from: provider) == ["OK verdict=ignored"])
        house.advance(by: .days(1))
        #expect(asked(house, provider) == nil)
        try house.hub.adopt([try HubHarness.kind(Self.weather(version: 3))])
        house.turn()
        #expect(asked(house, provider)?.reason == "first")
    }

    @Test("W16: a key that ended before its kind got a provider, or lost it, begins anew as the kind says")
    func revived() throws {
        let house = try house()
        let (provider, shop) = (house.connect(), house.connect())
        _ = serve(house, from: provider)
        func adopt(_ version: Int, _ source: String) throws {
            try house.hub.adopt([try HubHarness.kind(Self.weather(version: version, source: source))])
            house.turn()
        }
        for asked in [false, true] {
            house.send(WidgetTests.timeline("weather/Brno", [0], from: house.time), from: shop)
            house.send("EVT weather/Brno type=end", from: shop)
            try adopt(asked ? 4 : 2, asked ? #""source":{"provider":true},"# : "")
            house.advance(by: .seconds(1))
            _ = house.lines(of: provider)
            house.send(WidgetTests.timeline("weather/Brno", [0], from: house.time), from: shop)
            let reply = WidgetTests.reply(house, "RELOAD weather/Brno", shop).first ?? ""
            #expect(reply.contains(asked ? "verdict=applied" : "verdict=noop"), "\(reply)")
            let asks = house.lines(of: provider).filter { $0.contains("key=weather/Brno") }
            #expect(asks.isEmpty != asked)
        }
    }

    @Test("A tail of DONE has no meaning for a control, as ever")
    func tailOfControl() throws {
        let house = try HubHarness(kinds: [HubHarness.logCoffee()])
        let provider = house.connect()
        house.send("SERVE log-coffee", from: provider)
        house.send("REPORT log-coffee/1", from: provider)
        for tail in [#"{"a":1}"#, #"{"entries":[]}"#] {
            house.send("PRESS log-coffee/1", from: house.connect())
            let operation = try #require(house.operation(askedOf: provider))
            let reply = house.send("DONE op=\(operation) \(tail)", from: provider)
            #expect(
                reply.first?.hasPrefix("OK") == true && reply.first?.contains("ignored") == false
                    || reply.first?.contains("verdict=applied") == true, "\(reply)")
        }
    }

    @Test("W-V22: RELOAD of what is posted or computed is a noop; of what is no widget an error")
    func others() throws {
        let house = try WidgetTests.house()
        let client = house.connect()
        #expect(house.send("RELOAD sales/Hoegi", from: client)[0].contains("verdict=noop"))
        house.send("EVT coffee-order/1 type=start {}", from: client)
        #expect(house.send("RELOAD coffee-order/1", from: client)[0].contains("code=bad_action"))
        #expect(house.send("RELOAD sales/Nowhere", from: client)[0].contains("code=unknown_key"))
        #expect(house.send("RELOAD x/1", from: client)[0].contains("code=unknown_kind"))
        #expect(house.send("SERVE sales", from: client)[0].contains("code=bad_action"))
    }

    @Test func `an answer of the wrong form is refused, and its ask can still be answered`() throws {
        let house = try house()
        let (provider, start) = (house.connect(), house.time)
        let operation = try #require(HubHarness.attribute("op", of: serve(house, from: provider)[1]))
        for tail in ["", #" {"entries":[]}"#, #" {"entries":[{"date":1}]}"#] {
            #expect(house.send("DONE op=\(operation)\(tail)", from: provider)[0].contains("code=bad_json"))
        }
        #expect(house.send(answer(operation, [0], from: start), from: provider)[0].contains("verdict=applied"))
    }

    @Test func `a batch that is not written takes an ask back, and it comes again`() throws {
        let house = try house()
        let provider = house.connect()
        house.isFull = true
        #expect(serve(house, from: provider)[0].contains("code=storage_full"))
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(serve(house, from: provider).contains { $0.contains("reason=first") })
    }
}
