import Machines
import TelltaleModel
import Testing

@testable import Hub

/// Toggles and buttons as connections see them; what their machines do is in `Protocols/Machines`.
struct ControlTests {
    @Test func `a tap is confirmed on every screen, and the tapped one alone shows the wish meanwhile`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, tapped, other) = (house.connect(), house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
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
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        for screen in [tapped, other] { house.send("SUB \(pattern)", from: screen) }
        let told = house.send("SET porch-light/front value=on", from: tapped).last
        #expect(try HubHarness.tail(told)["shown"] == true && HubHarness.tail(told)["text"] == "On")
        #expect(try HubHarness.tail(told)["value"] == false)
        #expect(try HubHarness.tail(house.lines(of: other).last)["shown"] == false)
        #expect(try HubHarness.tail(house.send("GET porch-light/front", from: tapped).last) == HubHarness.tail(told))
        #expect(try HubHarness.tail(house.send("LIST porch-light/*", from: tapped).first) == HubHarness.tail(told))
        // A change with the same rev changes nothing of it.
        house.send("TRAIT locked=yes", from: tapped)
        #expect(try HubHarness.tail(house.send("GET porch-light/front", from: tapped).last) == HubHarness.tail(told))
        house.send("DONE op=\(try #require(house.operation(askedOf: lamp))) value=off", from: lamp)
        let rows = try [tapped, other].map { try HubHarness.tail(house.lines(of: $0).last) }
        #expect(rows[0] == rows[1] && rows[0]["shown"] == false)
    }

    @Test func `two operations that end in one step are both told`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""timeout":"5s""#)])
        let (lamp, screen, operations) = try switchedTwice(house)
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
        let (lamp, screen, operations) = try switchedTwice(house)
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

    @Test(
        "What each placement is shown",
        arguments: [
            ("placement=actionButton", "hint"), ("placement=controlCenterSmall", "symbol"),
            ("placement=controlCenterMedium", "symbol text title"), ("placement=lockScreen", "symbol"),
            ("placement=menuBar", "symbol"), ("placement=smartStack", "symbol text title"),
            ("placement=gallery", "symbol text title"), ("view=watch", "symbol text title"),
            ("view=carplay", "symbol text title"), ("view=desktop", "symbol"), ("view=phone", "symbol text title"),
            ("view=phone placement=actionButton", "hint"), ("", "hint symbol text title"),
        ])
    func placement(terms: String, parts: String) throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        let row = try HubHarness.tail(
            house.send(terms.isEmpty ? "SUB *" : "SUB * \(terms)", from: screen).first { $0.hasPrefix("SNAP") })
        let names = ["hint", "symbol", "text", "title"].filter { row[$0] != nil }
        #expect(names.joined(separator: " ") == parts)
    }

    @Test func `a placement that does not exist is refused with those that do`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let refused = house.send("SUB * placement=fridge", from: house.connect())
        #expect(refused.count == 1)
        #expect(refused.first?.contains("code=bad_attr") == true)
        #expect(refused.first?.contains("controlCenterSmall") == true)
    }

    @Test func `a locked device is shown less, may not act, and is shown all again when unlocked`() throws {
        let house = try HubHarness(
            kinds: [HubHarness.porchLight(#""privacySensitive":true,"requiresAuthentication":true"#)])
        let (lamp, phone) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=on", from: lamp)
        house.send("SUB porch-light/* view=phone placement=controlCenterLarge", from: phone)
        let locked = try HubHarness.tail(house.send("TRAIT locked=yes", from: phone).last)
        #expect(locked["redacted"] == true && locked["unlock"] == true && locked["value"] == .null)
        #expect(locked["symbol"] == "lightbulb" && locked["title"] == nil)
        #expect(
            house.send("SET porch-light/front value=off", from: phone).first?.contains("code=auth_required") == true)
        let unlocked = try HubHarness.tail(house.send("TRAIT locked=no", from: phone).last)
        #expect(unlocked["value"] == true && unlocked["title"] == "Porch light" && unlocked["unlock"] == nil)
        // Other traits draw nothing anew.
        #expect(house.send("TRAIT focus=on", from: phone) == ["OK"])
    }

    @Test func `controls do not come again when activities beside them change`() throws {
        let house = try HubHarness(kinds: [HubHarness.coffee, HubHarness.porchLight()])
        let (lamp, phone) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        house.send("HELLO account=alice surface=phone", from: phone)
        house.send("SUB *", from: phone)
        house.send("EVT coffee-order/1 type=start", from: lamp)
        #expect(house.lines(of: phone).map { HubHarness.attribute("key", of: $0) } == ["coffee-order/1"])
    }

    @Test func `a person's device is shown the controls that there are`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let lamp = house.connect()
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        for pattern in ["*", "porch-light/*", "porch-light/front"] {
            let told = house.send("SUB \(pattern) view=watch", from: house.connect(as: "alice"))
            #expect(told.contains { $0.hasPrefix("SNAP sub=1 key=porch-light/front ") })
        }
    }

    @Test func `one connection is shown a control in two places`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        for place in ["menuBar", "smartStack"] {
            let told = house.send("SUB * placement=\(place)", from: screen).first { $0.hasPrefix("SNAP ") }
            #expect(try HubHarness.tail(told)["placement"] == .string(place))
        }
    }

    @Test func `an event that a button sends is named after its press`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"},"instances":["1"]"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises),
        ])
        let client = house.connect()
        house.send("EVT coffee-order/1 type=start", from: client)
        let pressed = house.send("PRESS log-coffee/1", from: client).first
        let told = house.send("HISTORY coffee-order/1", from: client).first { $0.contains(" type=brew ") }
        let event = try HubHarness.tail(told)
        #expect(event["src"] == "a button")
        #expect(event["eid"]?.string == pressed.flatMap { HubHarness.attribute("op", of: $0) })
    }

    @Test func `an event that a button sends has an id that no client can have`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"},"instances":["1"]"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises),
        ])
        let client = house.connect()
        house.send("EVT coffee-order/1 type=start", from: client)
        // The id that the press will have, by the source that earlier releases gave to such events.
        let update = "EVT coffee-order/1 type=update src=telltaled eid=o\(house.records.count + 2)"
        house.send(update, from: client)
        house.send("PRESS log-coffee/1", from: client)
        #expect(house.send(update, from: client).first?.hasPrefix("OK verdict=duplicate ") == true)
        let told = house.send("HISTORY coffee-order/1", from: client).dropLast().map { try? HubHarness.tail($0) }
        #expect(told.map { $0?["src"] } == ["-", "telltaled", "a button"])
        #expect(told.count == 3 && told[1]?["eid"] == told[2]?["eid"])
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `a history tells who came to act, who left, and when a report was true`() throws {
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

    @Test func `a history has one word for a control that nobody has reported`() throws {
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

    // MARK: Ids of taps

    @Test func `an id of a tap acts once for an account, on whichever of its devices`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, phone, watch, other) = (house.connect(), house.connect(), house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        house.send("HELLO account=alice", from: phone)
        house.send("HELLO account=alice", from: watch)
        // A client of the account's name is somebody else.
        house.send("HELLO client=alice", from: other)
        let first = house.send("SET porch-light/front value=on eid=t", from: phone)
        let operation = try #require(first.first.flatMap { HubHarness.attribute("op", of: $0) })
        let again = house.send("SET porch-light/front value=on eid=t if=1", from: watch)
        #expect(again.first?.hasPrefix("OK op=\(operation) verdict=duplicate phase=pending") == true)
        #expect(house.send("STATS", from: watch).contains { $0.contains(#""duplicate":1"#) })
        #expect(
            house.send("SET porch-light/front value=off eid=t", from: watch).first?.contains("dup_mismatch") == true)
        #expect(house.send("SET porch-light/front value=off eid=t", from: other).first?.contains("verdict=") == false)
        // A refused tap does not use its id up.
        #expect(
            house.send("SET porch-light/front value=on eid=u if=1", from: phone).first?.contains("stale_rev") == true)
        #expect(house.send("SET porch-light/front value=on eid=u", from: phone).first?.hasPrefix("OK op=") == true)
    }

    @Test func `an id of a tap acts once for a client, on whichever of its connections`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let lamp = house.connect()
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        let answers = ["remote/1", "remote/1", "remote/2"].map { name in
            let client = house.connect()
            house.send("HELLO client=\(name)", from: client)
            return house.send("SET porch-light/front value=on eid=t", from: client).first ?? ""
        }
        #expect(answers.map { HubHarness.attribute("verdict", of: $0) } == [nil, "duplicate", nil])
    }

    @Test func `an id of a tap is forgotten by the real clock, however fast the kinds' clock runs`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let client = house.connect()
        house.send("SERVE porch-light", from: client)
        house.send("REPORT porch-light/front value=off", from: client)
        let start = house.now
        func send(_ line: String, timeAfter: Milliseconds, wallAfter: Milliseconds) {
            house.post(line, from: client)
            let now = HubTime(
                time: start.time + timeAfter, wall: start.wall + wallAfter, monotonic: start.monotonic)
            _ = house.hub.decide(at: now)
            house.hub.committed(at: now)
        }
        send("SET porch-light/front value=on eid=t", timeAfter: .days(30), wallAfter: .zero)
        let known = house.hub.store.taps.count
        #expect(known == 1)
        send("REPORT porch-light/front value=off", timeAfter: .days(40), wallAfter: .days(8))
        let left = house.hub.store.taps.count
        #expect(left == 0)
    }

    @Test func `the id of a nameless connection means nothing to one of the same number after a restart`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        var (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        #expect(house.send("SET porch-light/front value=on eid=1", from: screen).first?.contains("op=") == true)
        try house.restart()
        (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        let reply = house.send("SET porch-light/front value=on eid=1", from: screen)
        #expect(reply.first?.contains("verdict=duplicate") == false)
        #expect(house.operation(askedOf: lamp) != nil)
    }

    // MARK: Providers

    @Test func `a provider that dies in mid-action is replaced, and what it says later changes nothing`() throws {
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
                == "OK verdict=ignored rev=\(try rev(house))")
        house.disconnect(first)
        #expect(house.operation(askedOf: second) == operation)
        #expect(house.send("DONE op=\(operation) value=on", from: second).first?.contains("verdict=applied") == true)
        #expect(house.send("FAIL op=\(operation)", from: second).first == "OK verdict=ignored")
        // Both of them, the one that stood by and the one that was late.
        #expect(house.send("STATS", from: second).contains { $0.contains(#""ignored":2"#) })
        #expect(try row(house)["value"] == true)
        house.disconnect(second)
        #expect(try row(house)["available"] == false)
        #expect(house.send("SET porch-light/front value=off", from: screen).first?.contains("unavailable") == true)
    }

    @Test func `what a provider said before it shut its side counts, however much that was`() throws {
        var configuration = HubConfiguration()
        configuration.limits.requestsInFlight = 2
        let house = try HubHarness(kinds: [HubHarness.porchLight()], configuration: configuration)
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        house.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(house.operation(askedOf: lamp))
        house.post("PING\nPING\nPING\nDONE op=\(operation) value=on", from: lamp)
        house.hub.inputEnded(lamp.id)
        house.turn()
        #expect(try row(house)["value"] == true)
        #expect(try row(house)["available"] == false)
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

    @Test func `only who serves a kind reports it, and answers for it`() throws {
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
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
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

    @Test func `what a full disk refused of a provider is taken up when there is room`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(#""instances":["front"]"#)])
        let (first, second) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: first)
        house.isFull = true
        house.time = house.time + .seconds(5)
        house.disconnect(first)
        #expect(house.send("SERVE porch-light", from: second).first?.contains("storage_full") == true)
        house.isFull = false
        house.advance(by: .seconds(5))
        #expect(try row(house)["available"] == false)
        // It was told that it does not serve.
        #expect(house.send("REPORT porch-light/front value=on", from: second).first?.contains("forbidden") == true)
        #expect(house.send("SERVE porch-light", from: second) == ["OK"])
        #expect(try row(house)["available"] == true)
    }

    // MARK: Kinds

    @Test func `controls live by the version of their kind that is in force, and leave with the kind`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee(#""instances":["desk"]"#)])
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
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

    // MARK: Buttons

    @Test func `a press starts an activity, once, and says so when nothing came of it`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"}"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let (finger, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        // Nobody started that order, and its machine does not let `brew` do so.
        house.send("PRESS log-coffee/a eid=1", from: finger)
        var row = try HubHarness.tail(house.lines(of: screen).last { $0.contains("key=log-coffee/a") })
        #expect(row["phase"] == "idle")
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "unknown_key")
        house.send("EVT coffee-order/a type=start", from: finger)
        house.send("PRESS log-coffee/a eid=2", from: finger)
        #expect(house.send("PRESS log-coffee/a eid=2", from: finger).first?.contains("verdict=duplicate") == true)
        let rows = house.lines(of: screen)
        row = try HubHarness.tail(rows.last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["result"] == "confirmed")
        #expect(rows.contains { $0.contains("key=coffee-order/a") && $0.contains(#""state":"brewing""#) })
        house.send("PRESS log-coffee/a eid=3", from: finger)
        row = try HubHarness.tail(house.lines(of: screen).last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["code"] == "ignored")
        let history = house.send("HISTORY coffee-order/a", from: finger)
        #expect(history.filter { $0.contains("type=brew verdict=applied") }.count == 1)
        _ = try house.recovered()
    }

    @Test func `a press whose event is older than what the activity has been told came to nothing`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"}"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let finger = house.connect()
        house.send("EVT coffee-order/a type=start at=\(house.time.milliseconds + 60_000)", from: finger)
        house.send("PRESS log-coffee/a", from: finger)
        let row = try HubHarness.tail(house.send("GET log-coffee/a", from: finger).last)
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "stale")
        _ = try house.recovered()
    }

    @Test func `a provider that will say no more is none`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (old, new) = (house.connect(), house.connect())
        for client in [old, new] { house.send("SERVE porch-light", from: client) }
        house.send("REPORT porch-light/front value=off", from: old)
        house.send("SUB *", from: old)
        // Its last words are heard.
        house.send("SET porch-light/front value=on", from: new)
        let operation = try #require(house.operation(askedOf: old))
        house.post("DONE op=\(operation)", from: old)
        house.hub.inputEnded(old.id)
        house.turn()
        #expect(try HubHarness.tail(house.send("GET porch-light/front", from: new).last)["value"] == true)
        house.send("SET porch-light/front value=off", from: new)
        #expect(house.operation(askedOf: old) == nil)
    }

    @Test(
        "A press whose activity can have no such id has failed, and starts none",
        arguments: ["a b/c", "{{content.x}}", "{{id}}-\(String(repeating: "x", count: 64))", "☕"])
    func badID(id: String) throws {
        let raises = #""raises":{"kind":"coffee-order","event":"start","id":"\#(id)"}"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let (finger, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        #expect(house.send("PRESS log-coffee/a", from: finger).first?.hasPrefix("OK") == true)
        let rows = house.lines(of: screen)
        let row = try HubHarness.tail(rows.last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "bad_key")
        #expect(row["last"]?["message"]?.string?.hasSuffix("@ -") == true)
        #expect(!rows.contains { $0.contains("key=coffee-order/") })
        _ = try house.recovered()
    }

    @Test func `cool-down refuses a second press and says until when`() throws {
        let house = try HubHarness(kinds: [HubHarness.logCoffee(#""cooldown":"5s""#)])
        let machine = house.connect()
        house.send("SERVE log-coffee", from: machine)
        house.send("REPORT log-coffee/desk", from: machine)
        house.send("PRESS log-coffee/desk", from: machine)
        house.send("DONE op=o\(house.records.count)", from: machine)
        let refused = house.send("PRESS log-coffee/desk", from: machine)
        #expect(refused.last?.hasPrefix("ERR code=cooling retry=later") == true)
        #expect(try HubHarness.tail(refused.last)["until"] == .integer(house.time.milliseconds + 5_000))
        house.advance(by: .seconds(5))
        #expect(house.send("PRESS log-coffee/desk", from: machine).first?.contains("phase=performing") == true)
    }

    // MARK: Helpers

    /// A lamp that is served, and off, and a screen that has tapped on and then off: one is under way, the other waits.
    private func switchedTwice(
        _ house: HubHarness
    ) throws -> (lamp: HubHarness.Client, screen: HubHarness.Client, operations: [String]) {
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        house.send("SUB porch-light/* view=carplay", from: screen)
        let operations = try ["on", "off"].map { value in
            let reply = house.send("SET porch-light/front value=\(value)", from: screen).first
            return try #require(reply.flatMap { HubHarness.attribute("op", of: $0) })
        }
        return (lamp, screen, operations)
    }

    private func row(_ house: HubHarness) throws -> JSON {
        try HubHarness.tail(house.send("GET porch-light/front", from: house.connect()).first)
    }

    private func rev(_ house: HubHarness) throws -> String {
        try #require(
            house.send("GET porch-light/front", from: house.connect()).first.flatMap {
                HubHarness.attribute("rev", of: $0)
            })
    }
}
