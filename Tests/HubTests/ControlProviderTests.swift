import TelltaleModel
import Testing

@testable import Hub

/// Providers of controls: one acts, others stand by, and the hub replaces one that leaves, fails or stays silent.
struct ControlProviderTests {
    @Test func `a provider that leaves in mid-action is replaced, and its late answer changes nothing`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (first, second, screen) = (house.connect(), house.connect(), house.connect())
        for lamp in [first, second] { house.send("SERVE porch-light", from: lamp) }
        house.send("REPORT porch-light/front value=off", from: first)
        house.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(house.operation(askedOf: first))
        #expect(house.operation(askedOf: second) == nil)
        // One that stands by has not been asked.
        #expect(
            house.send("DONE op=\(operation) value=on", from: second).first
                == "OK verdict=ignored rev=\(try house.porchLightRev())")
        house.disconnect(first)
        #expect(house.operation(askedOf: second) == operation)
        #expect(house.send("DONE op=\(operation) value=on", from: second).first?.contains("verdict=applied") == true)
        #expect(house.send("FAIL op=\(operation)", from: second).first == "OK verdict=ignored")
        // Both of them, the one that stood by and the one that was late.
        #expect(house.send("STATS", from: second).contains { $0.contains(#""ignored":2"#) })
        #expect(try house.porchLightRow()["value"] == true)
        house.disconnect(second)
        #expect(try house.porchLightRow()["available"] == false)
        #expect(house.send("SET porch-light/front value=off", from: screen).first?.contains("unavailable") == true)
    }

    @Test func `the requests of a provider before it shut its side count, however many they are`() throws {
        var configuration = HubConfiguration()
        configuration.limits.requestsInFlight = 2
        let house = try HubHarness(kinds: [HubHarness.porchLight()], configuration: configuration)
        let (lamp, screen) = (house.connect(), house.connect())
        house.serveLight(from: lamp)
        house.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(house.operation(askedOf: lamp))
        house.post("PING\nPING\nPING\nDONE op=\(operation) value=on", from: lamp)
        house.hub.inputEnded(lamp.id)
        house.turn()
        #expect(try house.porchLightRow()["value"] == true)
        #expect(try house.porchLightRow()["available"] == false)
    }

    @Test func `a control that a provider in waiting reports first is acted on by the one that acts`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (first, second) = (house.connect(), house.connect())
        for lamp in [first, second] { house.send("SERVE porch-light", from: lamp) }
        house.send("REPORT porch-light/front value=off", from: second)
        house.send("SET porch-light/front value=on", from: second)
        #expect(house.operation(askedOf: first) != nil)
        #expect(house.operation(askedOf: second) == nil)
    }

    @Test func `only the provider of a kind may report it and answer for it`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee()])
        let (lamp, other) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("SERVE log-coffee", from: other)
        house.send("REPORT porch-light/front value=off", from: lamp)
        #expect(house.send("REPORT porch-light/front value=on", from: other).first?.contains("forbidden") == true)
        house.send("SET porch-light/front value=on", from: other)
        let operation = try #require(house.operation(askedOf: lamp))
        #expect(house.send("DONE op=\(operation)", from: other).first?.contains("forbidden") == true)
        #expect(house.send("DONE op=\(operation)", from: house.connect()).first?.contains("forbidden") == true)
        #expect(house.send("REPORT log-coffee/1 value=on", from: other).first?.contains("bad_attr") == true)
        #expect(house.send("REPORT porch-light/front", from: lamp).first?.contains("bad_attr") == true)
    }

    @Test func `a silent provider costs the time that the kind allows, a lying one is overridden`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen) = (house.connect(), house.connect())
        house.serveLight(from: lamp)
        house.send("SUB porch-light/* view=watch", from: screen)
        house.send("SET porch-light/front value=on", from: screen)
        house.advance(by: .seconds(5))
        var row = try HubHarness.tail(house.lines(of: screen).last)
        #expect(row["value"] == false && row["shown"] == false && row["phase"] == "settled")
        #expect(row["last"]?["reason"] == "timeout")
        house.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(house.operation(askedOf: lamp))
        house.send("DONE op=\(operation) value=off", from: lamp)
        row = try HubHarness.tail(house.lines(of: screen).last)
        #expect(row["last"]?["reason"] == "overridden" && row["shown"] == false)
    }

    @Test(arguments: [3, 59, 86_400] as [Int64])
    func `a date that is set ahead takes nothing off the time of an operation`(seconds: Int64) throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen) = (house.connect(), house.connect())
        house.serveLight(from: lamp)
        house.send("SET porch-light/front value=on", from: screen)
        house.advance(by: Milliseconds(300))
        house.leap(by: .seconds(seconds))
        house.advance(by: Milliseconds(4_699))
        #expect(try house.porchLightRow()["phase"] == "pending")
        house.advance(by: Milliseconds(1))
        #expect(try house.porchLightRow()["last"]?["reason"] == "timeout")
        // The next operation begins with the date as it is now.
        house.send("SET porch-light/front value=on", from: screen)
        house.advance(by: Milliseconds(4_999))
        #expect(try house.porchLightRow()["phase"] == "pending")
        house.advance(by: Milliseconds(1))
        #expect(try house.porchLightRow()["phase"] == "settled")
    }

    @Test
    func `an end that a full disk refused gives an operation the rest of its time, also after a leap of the date`()
        throws
    {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen) = (house.connect(), house.connect())
        house.serveLight(from: lamp)
        house.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(house.operation(askedOf: lamp))
        house.leap(by: .seconds(30))
        house.isFull = true
        #expect(house.send("DONE op=\(operation) value=on", from: lamp).last?.contains("storage_full") == true)
        house.isFull = false
        house.advance(by: Milliseconds(4_999))
        #expect(try house.porchLightRow()["phase"] == "pending")
        house.advance(by: Milliseconds(1))
        #expect(try house.porchLightRow()["last"]?["reason"] == "timeout")
    }

    @Test func `a provider change that a full disk refused is made when there is room`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""instances":["front"]"#)])
        let (first, second) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: first)
        house.isFull = true
        house.time = house.time + .seconds(5)
        house.disconnect(first)
        #expect(house.send("SERVE porch-light", from: second).first?.contains("storage_full") == true)
        house.isFull = false
        house.advance(by: .seconds(5))
        #expect(try house.porchLightRow()["available"] == false)
        // It was told that it does not serve.
        #expect(house.send("REPORT porch-light/front value=on", from: second).first?.contains("forbidden") == true)
        #expect(house.send("SERVE porch-light", from: second) == ["OK"])
        #expect(try house.porchLightRow()["available"] == true)
    }

    @Test func `a provider that will say no more is none`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (old, new) = (house.connect(), house.connect())
        for client in [old, new] { house.send("SERVE porch-light", from: client) }
        house.send("REPORT porch-light/front value=off", from: old)
        house.send("SUB *", from: old)
        // The provider's last answer is taken.
        house.send("SET porch-light/front value=on", from: new)
        let operation = try #require(house.operation(askedOf: old))
        house.post("DONE op=\(operation)", from: old)
        house.hub.inputEnded(old.id)
        house.turn()
        #expect(try HubHarness.tail(house.send("GET porch-light/front", from: new).last)["value"] == true)
        house.send("SET porch-light/front value=off", from: new)
        #expect(house.operation(askedOf: old) == nil)
    }

    @Test func `a control that is new in a kind that is served has its provider`() throws {
        let lamp = #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp"}"#
        let house = try HubHarness(kinds: [lamp])
        let (provider, finger) = (house.connect(), house.connect())
        house.send("SERVE lamp", from: provider)
        let more = #"{"kind":"lamp","type":"toggle","version":2,"app":"a","title":"Lamp","instances":["1"]}"#
        try house.hub.adopt([try HubHarness.kind(more)])
        house.turn()
        #expect(house.send("SET lamp/1 value=on", from: finger).first?.contains("phase=pending") == true)
        #expect(house.lines(of: provider).contains { $0.hasPrefix("DO ") })
    }

    @Test func `a control that a standby provider reports first is switched by the acting one`() throws {
        let lamp = #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp"}"#
        let house = try HubHarness(kinds: [lamp])
        let (acting, other, finger) = (house.connect(), house.connect(), house.connect())
        house.send("SERVE lamp", from: acting)
        house.send("SERVE lamp", from: other)
        house.send("REPORT lamp/1 value=off", from: other)
        house.disconnect(other)
        house.send("SET lamp/1 value=on", from: finger)
        #expect(house.lines(of: acting).contains { $0.hasPrefix("DO ") })
    }

    @Test func `a provider gets the reply to SERVE before its first DO`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""restore":"reissue""#)])
        let (first, second, finger) = (house.connect(), house.connect(), house.connect())
        house.send("SERVE porch-light", from: first)
        house.send("REPORT porch-light/1 value=off", from: first)
        house.send("SET porch-light/1 value=on", from: finger)
        house.disconnect(first)
        let verbs = house.send("SERVE porch-light", from: second).map { $0.prefix { $0 != " " } }
        #expect(verbs == ["OK", "DO"])
    }
}
