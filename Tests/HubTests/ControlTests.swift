import TelltaleModel
import Testing

@testable import Hub

/// Toggles and buttons as connections see them. Their machines are tested by `Protocols/Machines`.
struct ControlTests {
    @Test func `a tap is confirmed on every screen, and the tapped one alone shows the wish meanwhile`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, tapped, other) = (house.connect(), house.connect(), house.connect())
        house.serveLight(from: lamp)
        for screen in [tapped, other] { house.send("SUB porch-light/* view=carplay", from: screen) }
        let reply = house.send("SET porch-light/front value=on", from: tapped)
        #expect(reply.first?.contains("phase=pending") == true)
        #expect(try HubHarness.tail(reply.last)["shown"] == true)
        #expect(try HubHarness.tail(house.lines(of: other).last)["shown"] == false)
        let operation = try #require(house.operation(askedOf: lamp))
        house.send("DONE op=\(operation) value=on", from: lamp)
        for screen in [tapped, other] {
            let rows = house.lines(of: screen)
            #expect(rows.count == 1)
            let row = try HubHarness.tail(rows.first)
            #expect(row["value"] == true && row["shown"] == true && row["phase"] == "settled")
            #expect(row["last"] == ["op": .string(operation), "result": "confirmed"])
        }
    }

    @Test(
        "The full view shows its wish to whoever tapped, in one body for a rev on each connection",
        arguments: ["porch-light/*", "porch-light/front"])
    func wishes(pattern: String) throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, tapped, other) = (house.connect(), house.connect(), house.connect())
        house.serveLight(from: lamp)
        for screen in [tapped, other] { house.send("SUB \(pattern)", from: screen) }
        let told = house.send("SET porch-light/front value=on", from: tapped).last
        #expect(try HubHarness.tail(told)["shown"] == true && HubHarness.tail(told)["text"] == "On")
        #expect(try HubHarness.tail(told)["value"] == false)
        #expect(try HubHarness.tail(house.lines(of: other).last)["shown"] == false)
        #expect(try HubHarness.tail(house.send("GET porch-light/front", from: tapped).last) == HubHarness.tail(told))
        #expect(try HubHarness.tail(house.send("LIST porch-light/*", from: tapped).first) == HubHarness.tail(told))
        // A change that keeps the rev keeps the body.
        house.send("TRAIT locked=yes", from: tapped)
        #expect(try HubHarness.tail(house.send("GET porch-light/front", from: tapped).last) == HubHarness.tail(told))
        house.send("DONE op=\(try #require(house.operation(askedOf: lamp))) value=off", from: lamp)
        let rows = try [tapped, other].map { try HubHarness.tail(house.lines(of: $0).last) }
        #expect(rows[0] == rows[1] && rows[0]["shown"] == false)
    }

    @Test func `two operations that end in one step are both told`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen, operations) = try house.switchedTwice()
        house.disconnect(lamp)
        _ = house.lines(of: screen)
        house.advance(by: .seconds(5))
        let rows = house.lines(of: screen)
        #expect(rows.count == 1)
        let row = try HubHarness.tail(rows.first)
        #expect(row["phase"] == "settled")
        #expect(row["last"] == ["op": .string(operations[1]), "result": "reverted", "reason": "unavailable"])
        #expect(row["ended"] == [["op": .string(operations[0]), "result": "reverted", "reason": "unavailable"]])
    }

    @Test func `an end and the tap after it that share a commit are told in one row`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen, operations) = try house.switchedTwice()
        let (first, second) = (operations[0], operations[1])
        house.send("DONE op=\(first) value=on", from: lamp)
        _ = house.lines(of: screen)
        house.post("DONE op=\(second) value=off", from: lamp)
        house.post("SET porch-light/front value=on", from: screen)
        house.turn()
        let row = try HubHarness.tail(house.lines(of: screen).last)
        #expect(row["phase"] == "pending")
        #expect(row["last"] == ["op": .string(second), "result": "confirmed"])
        #expect(row["ended"] == [["op": .string(first), "result": "confirmed"]])
    }

    @Test func `the report that makes a control exist is applied, and the same once more changes nothing`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee()])
        let machine = house.connect()
        for kind in ["porch-light", "log-coffee"] { house.send("SERVE \(kind)", from: machine) }
        for report in ["REPORT log-coffee/desk", "REPORT porch-light/front value=off"] {
            #expect(house.send(report, from: machine).first?.hasPrefix("OK verdict=applied rev=") == true)
            #expect(house.send(report, from: machine).first?.hasPrefix("OK verdict=noop rev=") == true)
        }
        _ = try house.recovered()
    }

    @Test func `a history has the changes of provider, and the time of a report`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off at=1700000000000", from: lamp)
        house.disconnect(lamp)
        house.send("SERVE porch-light", from: screen)
        let lines = house.send("HISTORY porch-light/front", from: screen).dropLast()
        #expect(
            lines.map { HubHarness.attribute("type", of: $0) } == ["reported", "provider-left", "provider-came"])
        #expect(lines.first.flatMap { HubHarness.attribute("at", of: $0) } == "1700000000000")
    }

    @Test func `a history writes unknown for a control that was never reported`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""instances":["front"]"#)])
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("SET porch-light/front value=on", from: screen)
        house.send("DONE op=\(try #require(house.operation(askedOf: lamp))) value=on", from: lamp)
        let told = house.send("HISTORY porch-light/front", from: lamp).dropLast()
        #expect(
            try told.map { try HubHarness.tail($0)["state"] } == [
                "unknown", "unknown", "pending unknown", "settled on",
            ])
    }

    @Test func `controls live by the version of their kind that is in force, and leave with the kind`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee(#""instances":["desk"]"#)])
        let (lamp, screen) = (house.connect(), house.connect())
        house.serveLight(from: lamp)
        house.send("SUB *", from: screen)
        let second = HubHarness.porchLight(version: 2, #""value":{"on":"Lit","off":"Dark"},"instances":["back"]"#)
        try house.hub.adopt([try HubHarness.kind(second)])
        house.turn()
        let rows = house.lines(of: screen)
        #expect(try HubHarness.tail(rows.last { $0.contains("porch-light/front") })["text"] == "Dark")
        #expect(rows.contains { $0.hasPrefix("DEL sub=1 key=log-coffee/desk") && $0.contains("why=removed") })
        // A new instance of a kind that is served can be acted on at once.
        #expect(try HubHarness.tail(rows.last { $0.contains("porch-light/back") })["available"] == true)
        #expect(house.send("GET log-coffee/desk", from: screen).first?.contains("unknown_key") == true)
        #expect(throws: KindRefusal.changedType(kind: "porch-light", from: "toggle", to: "button")) {
            let button = HubHarness.logCoffee().replacing("log-coffee", with: "porch-light")
            try house.hub.adopt([try HubHarness.kind(button.replacing("\"version\":1", with: "\"version\":3"))])
        }
        try house.hub.adopt([
            try HubHarness.kind(second), try HubHarness.kind(HubHarness.logCoffee(#""instances":["desk"]"#)),
        ])
        house.turn()
        #expect(house.lines(of: screen).contains { $0.hasPrefix("UPD sub=1 key=log-coffee/desk") })
        _ = try house.recovered()
    }
}
