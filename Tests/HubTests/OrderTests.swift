import Hub
import TelltaleModel
import Testing

/// In which order things are said, and what is not done any more.
struct OrderTests {
    @Test func `what stands behind BYE means nothing`() throws {
        let house = try HubHarness()
        let (shop, other) = (house.connect(), house.connect())
        house.post("PING id=1\nBYE\nEVT coffee-order/1 type=start id=2", from: shop)
        house.turn()
        #expect(house.lines(of: shop) == ["PONG id=1"])
        #expect(shop.isFinished)
        #expect(house.send("GET coffee-order/1", from: other).last?.contains("unknown_key") == true)
    }

    @Test func `a provider is told that it serves before it is told what to do`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""restore":"reissue""#)])
        let (first, second, finger) = (house.connect(), house.connect(), house.connect())
        house.send("SERVE porch-light", from: first)
        house.send("REPORT porch-light/1 value=off", from: first)
        house.send("SET porch-light/1 value=on", from: finger)
        house.disconnect(first)
        let verbs = house.send("SERVE porch-light", from: second).map { $0.prefix { $0 != " " } }
        #expect(verbs == ["OK", "DO"])
    }

    @Test func `an activity that is opened again needs room again`() throws {
        let house = try HubHarness(kinds: [Self.repeated])
        let shop = house.connect()
        for number in 1...5 { house.send("EVT turn/\(number) type=start for=alice", from: shop) }
        house.send("EVT turn/1 type=stop", from: shop)
        house.send("EVT turn/6 type=start for=alice", from: shop)
        #expect(house.send("EVT turn/1 type=again", from: shop).last?.contains("code=limit_activities") == true)
        #expect(house.send("GET turn/1", from: shop).last?.contains(#""lifecycle":"ended""#) == true)
        house.send("EVT turn/6 type=stop", from: shop)
        #expect(house.send("EVT turn/1 type=again", from: shop).last?.contains("verdict=applied") == true)
    }

    @Test func `a shorter retention holds for what was dismissed before`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":0}"#, from: shop)
        var settings = DecisionSettings()
        settings.retention = .seconds(1)
        try house.hub.adopt(settings)
        house.turn()
        house.advance(by: .seconds(2))
        #expect(house.send("GET coffee-order/1", from: shop).last?.contains("unknown_key") == true)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    private static let repeated = """
        {"kind":"turn","type":"activity","version":1,"app":"com.example.turn","title":"Turn",
         "machine":{"initial":"on","states":{"on":{"on":{"stop":"off"}},"off":{"type":"final","reopen":{"again":"on"}}}}}
        """
}
