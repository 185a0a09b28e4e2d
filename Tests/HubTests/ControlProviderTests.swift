import TelltaleModel
import Testing

@testable import Hub

/// Providers of controls: one acts, others stand by, and the hub replaces one that leaves, fails or stays silent.
struct ControlProviderTests {
    @Test func `a provider that leaves in mid-action is replaced, and its late answer changes nothing`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (first, second, screen) = (harness.connect(), harness.connect(), harness.connect())
        for lamp in [first, second] { harness.send("SERVE porch-light", from: lamp) }
        harness.send("REPORT porch-light/front value=off", from: first)
        harness.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(harness.operation(askedOf: first))
        #expect(harness.operation(askedOf: second) == nil)
        // One that stands by has not been asked.
        #expect(
            harness.send("DONE op=\(operation) value=on", from: second).first
                == "OK verdict=ignored rev=\(try harness.porchLightRev())")
        harness.disconnect(first)
        #expect(harness.operation(askedOf: second) == operation)
        #expect(harness.send("DONE op=\(operation) value=on", from: second).first?.contains("verdict=applied") == true)
        #expect(harness.send("FAIL op=\(operation)", from: second).first == "OK verdict=ignored")
        // Both of them, the one that stood by and the one that was late.
        #expect(harness.send("STATS", from: second).contains { $0.contains(#""ignored":2"#) })
        #expect(try harness.porchLightRow()["value"] == true)
        harness.disconnect(second)
        #expect(try harness.porchLightRow()["available"] == false)
        #expect(harness.send("SET porch-light/front value=off", from: screen).first?.contains("unavailable") == true)
    }

    @Test func `the requests of a provider before it shut its side count, however many they are`() throws {
        var configuration = HubConfiguration()
        configuration.limits.requestsInFlight = 2
        let harness = try HubHarness(kinds: [HubHarness.porchLight()], configuration: configuration)
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(harness.operation(askedOf: lamp))
        harness.post("PING\nPING\nPING\nDONE op=\(operation) value=on", from: lamp)
        harness.hub.inputEnded(lamp.id)
        harness.turn()
        #expect(try harness.porchLightRow()["value"] == true)
        #expect(try harness.porchLightRow()["available"] == false)
    }

    @Test func `a control that a provider in waiting reports first is acted on by the one that acts`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (first, second) = (harness.connect(), harness.connect())
        for lamp in [first, second] { harness.send("SERVE porch-light", from: lamp) }
        harness.send("REPORT porch-light/front value=off", from: second)
        harness.send("SET porch-light/front value=on", from: second)
        #expect(harness.operation(askedOf: first) != nil)
        #expect(harness.operation(askedOf: second) == nil)
    }

    @Test func `only the provider of a kind may report it and answer for it`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee()])
        let (lamp, other) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: lamp)
        harness.send("SERVE log-coffee", from: other)
        harness.send("REPORT porch-light/front value=off", from: lamp)
        #expect(harness.send("REPORT porch-light/front value=on", from: other).first?.contains("forbidden") == true)
        harness.send("SET porch-light/front value=on", from: other)
        let operation = try #require(harness.operation(askedOf: lamp))
        #expect(harness.send("DONE op=\(operation)", from: other).first?.contains("forbidden") == true)
        #expect(harness.send("DONE op=\(operation)", from: harness.connect()).first?.contains("forbidden") == true)
        #expect(harness.send("REPORT log-coffee/1 value=on", from: other).first?.contains("bad_attr") == true)
        #expect(harness.send("REPORT porch-light/front", from: lamp).first?.contains("bad_attr") == true)
    }

    @Test func `a silent provider costs the time that the kind allows, a lying one is overridden`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("SUB porch-light/* view=watch", from: screen)
        harness.send("SET porch-light/front value=on", from: screen)
        harness.advance(by: .seconds(5))
        var row = try HubHarness.tail(harness.lines(of: screen).last)
        #expect(row["value"] == false && row["shown"] == false && row["phase"] == "settled")
        #expect(row["last"]?["reason"] == "timeout")
        harness.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(harness.operation(askedOf: lamp))
        harness.send("DONE op=\(operation) value=off", from: lamp)
        row = try HubHarness.tail(harness.lines(of: screen).last)
        #expect(row["last"]?["reason"] == "overridden" && row["shown"] == false)
    }

    @Test(arguments: [3, 59, 86_400] as [Int64])
    func `a date that is set ahead takes nothing off the time of an operation`(seconds: Int64) throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("SET porch-light/front value=on", from: screen)
        harness.advance(by: Milliseconds(300))
        harness.leap(by: .seconds(seconds))
        harness.advance(by: Milliseconds(4_699))
        #expect(try harness.porchLightRow()["phase"] == "pending")
        harness.advance(by: Milliseconds(1))
        #expect(try harness.porchLightRow()["last"]?["reason"] == "timeout")
        // The next operation begins with the date as it is now.
        harness.send("SET porch-light/front value=on", from: screen)
        harness.advance(by: Milliseconds(4_999))
        #expect(try harness.porchLightRow()["phase"] == "pending")
        harness.advance(by: Milliseconds(1))
        #expect(try harness.porchLightRow()["phase"] == "settled")
    }

    @Test
    func `an end that a full disk refused gives an operation the rest of its time, also after a leap of the date`()
        throws
    {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(harness.operation(askedOf: lamp))
        harness.leap(by: .seconds(30))
        harness.isFull = true
        #expect(harness.send("DONE op=\(operation) value=on", from: lamp).last?.contains("storage_full") == true)
        harness.isFull = false
        harness.advance(by: Milliseconds(4_999))
        #expect(try harness.porchLightRow()["phase"] == "pending")
        harness.advance(by: Milliseconds(1))
        #expect(try harness.porchLightRow()["last"]?["reason"] == "timeout")
    }

    @Test func `a provider change that a full disk refused is made when there is room`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(#""instances":["front"]"#)])
        let (first, second) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: first)
        harness.isFull = true
        harness.time = harness.time + .seconds(5)
        harness.disconnect(first)
        #expect(harness.send("SERVE porch-light", from: second).first?.contains("storage_full") == true)
        harness.isFull = false
        harness.advance(by: .seconds(5))
        #expect(try harness.porchLightRow()["available"] == false)
        // It was notified that it does not serve.
        #expect(harness.send("REPORT porch-light/front value=on", from: second).first?.contains("forbidden") == true)
        #expect(harness.send("SERVE porch-light", from: second) == ["OK"])
        #expect(try harness.porchLightRow()["available"] == true)
    }

    @Test func `a provider that will say no more is none`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (old, new) = (harness.connect(), harness.connect())
        for client in [old, new] { harness.send("SERVE porch-light", from: client) }
        harness.send("REPORT porch-light/front value=off", from: old)
        harness.send("SUB *", from: old)
        // The provider's last answer is taken.
        harness.send("SET porch-light/front value=on", from: new)
        let operation = try #require(harness.operation(askedOf: old))
        harness.post("DONE op=\(operation)", from: old)
        harness.hub.inputEnded(old.id)
        harness.turn()
        #expect(try HubHarness.tail(harness.send("GET porch-light/front", from: new).last)["value"] == true)
        harness.send("SET porch-light/front value=off", from: new)
        #expect(harness.operation(askedOf: old) == nil)
    }

    @Test func `a control that is new in a kind that is served has its provider`() throws {
        let lamp = #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp"}"#
        let harness = try HubHarness(kinds: [lamp])
        let (provider, finger) = (harness.connect(), harness.connect())
        harness.send("SERVE lamp", from: provider)
        let more = #"{"kind":"lamp","type":"toggle","version":2,"app":"a","title":"Lamp","instances":["1"]}"#
        try harness.hub.adopt([try HubHarness.kind(more)])
        harness.turn()
        #expect(harness.send("SET lamp/1 value=on", from: finger).first?.contains("phase=pending") == true)
        #expect(harness.lines(of: provider).contains { $0.hasPrefix("DO ") })
    }

    @Test func `a control that a standby provider reports first is switched by the acting one`() throws {
        let lamp = #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp"}"#
        let harness = try HubHarness(kinds: [lamp])
        let (acting, other, finger) = (harness.connect(), harness.connect(), harness.connect())
        harness.send("SERVE lamp", from: acting)
        harness.send("SERVE lamp", from: other)
        harness.send("REPORT lamp/1 value=off", from: other)
        harness.disconnect(other)
        harness.send("SET lamp/1 value=on", from: finger)
        #expect(harness.lines(of: acting).contains { $0.hasPrefix("DO ") })
    }

    @Test func `a provider gets the reply to SERVE before its first DO`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(#""restore":"reissue""#)])
        let (first, second, finger) = (harness.connect(), harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: first)
        harness.send("REPORT porch-light/1 value=off", from: first)
        harness.send("SET porch-light/1 value=on", from: finger)
        harness.disconnect(first)
        let verbs = harness.send("SERVE porch-light", from: second).map { $0.prefix { $0 != " " } }
        #expect(verbs == ["OK", "DO"])
    }
}
