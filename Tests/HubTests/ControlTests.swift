import TelltaleModel
import Testing

@testable import Hub

/// Toggles and buttons as connections see them. Their machines are tested by `Protocols/Machines`.
struct ControlTests {
    @Test func `a tap is confirmed on every screen, and the tapped one alone shows the wish meanwhile`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, tapped, other) = (harness.connect(), harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        for screen in [tapped, other] { harness.send("SUB porch-light/* view=carplay", from: screen) }
        let reply = harness.send("SET porch-light/front value=on", from: tapped)
        #expect(reply.first?.contains("phase=pending") == true)
        #expect(try HubHarness.tail(reply.last)["shown"] == true)
        #expect(try HubHarness.tail(harness.lines(of: other).last)["shown"] == false)
        let operation = try #require(harness.operation(askedOf: lamp))
        harness.send("DONE op=\(operation) value=on", from: lamp)
        for screen in [tapped, other] {
            let rows = harness.lines(of: screen)
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
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, tapped, other) = (harness.connect(), harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        for screen in [tapped, other] { harness.send("SUB \(pattern)", from: screen) }
        let sent = harness.send("SET porch-light/front value=on", from: tapped).last
        #expect(try HubHarness.tail(sent)["shown"] == true && HubHarness.tail(sent)["text"] == "On")
        #expect(try HubHarness.tail(sent)["value"] == false)
        #expect(try HubHarness.tail(harness.lines(of: other).last)["shown"] == false)
        #expect(try HubHarness.tail(harness.send("GET porch-light/front", from: tapped).last) == HubHarness.tail(sent))
        #expect(try HubHarness.tail(harness.send("LIST porch-light/*", from: tapped).first) == HubHarness.tail(sent))
        // A change that keeps the rev keeps the body.
        harness.send("TRAIT locked=yes", from: tapped)
        #expect(try HubHarness.tail(harness.send("GET porch-light/front", from: tapped).last) == HubHarness.tail(sent))
        harness.send("DONE op=\(try #require(harness.operation(askedOf: lamp))) value=off", from: lamp)
        let rows = try [tapped, other].map { try HubHarness.tail(harness.lines(of: $0).last) }
        #expect(rows[0] == rows[1] && rows[0]["shown"] == false)
    }

    @Test func `two operations that end in one step are both reported`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen, operations) = try harness.switchedTwice()
        harness.disconnect(lamp)
        _ = harness.lines(of: screen)
        harness.advance(by: .seconds(5))
        let rows = harness.lines(of: screen)
        #expect(rows.count == 1)
        let row = try HubHarness.tail(rows.first)
        #expect(row["phase"] == "settled")
        #expect(row["last"] == ["op": .string(operations[1]), "result": "reverted", "reason": "unavailable"])
        #expect(row["ended"] == [["op": .string(operations[0]), "result": "reverted", "reason": "unavailable"]])
    }

    @Test func `an end and the tap after it that share a commit are reported in one row`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen, operations) = try harness.switchedTwice()
        let (first, second) = (operations[0], operations[1])
        harness.send("DONE op=\(first) value=on", from: lamp)
        _ = harness.lines(of: screen)
        harness.post("DONE op=\(second) value=off", from: lamp)
        harness.post("SET porch-light/front value=on", from: screen)
        harness.turn()
        let row = try HubHarness.tail(harness.lines(of: screen).last)
        #expect(row["phase"] == "pending")
        #expect(row["last"] == ["op": .string(second), "result": "confirmed"])
        #expect(row["ended"] == [["op": .string(first), "result": "confirmed"]])
    }

    @Test func `the report that makes a control exist is applied, and the same once more changes nothing`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee()])
        let machine = harness.connect()
        for kind in ["porch-light", "log-coffee"] { harness.send("SERVE \(kind)", from: machine) }
        for report in ["REPORT log-coffee/desk", "REPORT porch-light/front value=off"] {
            #expect(harness.send(report, from: machine).first?.hasPrefix("OK verdict=applied rev=") == true)
            #expect(harness.send(report, from: machine).first?.hasPrefix("OK verdict=noop rev=") == true)
        }
        _ = try harness.recovered()
    }

    @Test func `a history has the changes of provider, and the time of a report`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: lamp)
        harness.send("REPORT porch-light/front value=off at=1700000000000", from: lamp)
        harness.disconnect(lamp)
        harness.send("SERVE porch-light", from: screen)
        let lines = harness.send("HISTORY porch-light/front", from: screen).dropLast()
        #expect(
            lines.map { HubHarness.attribute("type", of: $0) } == ["reported", "provider-left", "provider-came"])
        #expect(lines.first.flatMap { HubHarness.attribute("at", of: $0) } == "1700000000000")
    }

    @Test func `a history writes unknown for a control that was never reported`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(#""instances":["front"]"#)])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: lamp)
        harness.send("SET porch-light/front value=on", from: screen)
        harness.send("DONE op=\(try #require(harness.operation(askedOf: lamp))) value=on", from: lamp)
        let sent = harness.send("HISTORY porch-light/front", from: lamp).dropLast()
        #expect(
            try sent.map { try HubHarness.tail($0)["state"] } == [
                "unknown", "unknown", "pending unknown", "settled on",
            ])
    }

    @Test func `controls live by the version of their kind that is in force, and leave with the kind`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee(#""instances":["desk"]"#)])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("SUB *", from: screen)
        let second = HubHarness.porchLight(version: 2, #""value":{"on":"Lit","off":"Dark"},"instances":["back"]"#)
        try harness.hub.adopt([try HubHarness.kind(second)])
        harness.turn()
        let rows = harness.lines(of: screen)
        #expect(try HubHarness.tail(rows.last { $0.contains("porch-light/front") })["text"] == "Dark")
        #expect(rows.contains { $0.hasPrefix("DEL sub=1 key=log-coffee/desk") && $0.contains("why=removed") })
        // A new instance of a kind that is served can be acted on at once.
        #expect(try HubHarness.tail(rows.last { $0.contains("porch-light/back") })["available"] == true)
        #expect(harness.send("GET log-coffee/desk", from: screen).first?.contains("unknown_key") == true)
        #expect(throws: KindRefusal.changedType(kind: "porch-light", from: "toggle", to: "button")) {
            let button = HubHarness.logCoffee().replacing("log-coffee", with: "porch-light")
            try harness.hub.adopt([try HubHarness.kind(button.replacing("\"version\":1", with: "\"version\":3"))])
        }
        try harness.hub.adopt([
            try HubHarness.kind(second), try HubHarness.kind(HubHarness.logCoffee(#""instances":["desk"]"#)),
        ])
        harness.turn()
        #expect(harness.lines(of: screen).contains { $0.hasPrefix("UPD sub=1 key=log-coffee/desk") })
        _ = try harness.recovered()
    }
}
