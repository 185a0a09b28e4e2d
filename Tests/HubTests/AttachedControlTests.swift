import Hub
import TelltaleModel
import Testing

/// Controls that an activity names by keys of its own: they exist with it, for the same accounts, and go with it.
struct AttachedControlTests {
    private static let order = """
        {"kind":"meal","type":"activity","version":1,"app":"com.example.meal","title":"Meal","dismiss":"10m",
         "startsOn":["ordered"],
         "machine":{"initial":"placed","on":{"tip":{"actions":[{"assign":{"tipped":true}}]},"cancel":"cancelled"},
           "states":{"placed":{"on":{"ordered":{"actions":[]},"eat":"eaten"}},"eaten":{"type":"final"},
             "cancelled":{"type":"final","dismiss":"0s"}}},
         "views":{"compact":{"leading":{"symbol":"fork"},"trailing":{"text":"{{state.title}}"}},"minimal":{"symbol":"fork"},
           "expanded":{"bottom":{"buttons":["tip/{{id}}","door/{{id}}"]}},
           "lockScreen":{"title":"{{state.title}}","buttons":["tip/{{id}}","door/{{id}}"]}}}
        """
    private static func tip(_ event: String = "tip") -> String {
        """
        {"kind":"tip","type":"button","version":1,"app":"com.example.meal","title":"Tip",
         "raises":{"kind":"meal","event":"\(event)","id":"{{id}}"}}
        """
    }
    private static let door = """
        {"kind":"door","type":"toggle","version":1,"app":"com.example.meal","title":"Leave at the door"}
        """

    private func makeHarness(_ tip: String = tip()) throws -> (HubHarness, shop: HubHarness.Client) {
        let harness = try HubHarness(kinds: [Self.order, tip, Self.door])
        return (harness, harness.connect())
    }

    private func keys(_ lines: [String], _ verb: String) -> [String] {
        lines.filter { $0.hasPrefix("\(verb) ") }.compactMap { HubHarness.attribute("key", of: $0) }
    }

    private func isUnknown(_ lines: [String]) -> Bool { lines.last?.hasPrefix("ERR code=unknown_key") == true }

    @Test func `controls begin and go with their activity, in rows and lists`() throws {
        let (harness, shop) = try makeHarness()
        let screen = harness.connect()
        harness.send("SUB *", from: screen)
        harness.send("EVT meal/1 type=start", from: shop)
        #expect(keys(harness.lines(of: screen), "UPD") == ["meal/1", "tip/1", "door/1"])
        #expect(keys(harness.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1", "door/1"])
        // The end of the activity is no end of its row, which still has its buttons.
        harness.send("EVT meal/1 type=eat", from: shop)
        #expect(keys(harness.lines(of: screen), "UPD") == ["meal/1"])
        harness.advance(by: .minutes(11))
        let gone = harness.lines(of: screen)
        #expect(keys(gone, "DEL") == ["meal/1", "tip/1", "door/1"])
        #expect(gone.filter { $0.hasPrefix("DEL") }.allSatisfy { $0.hasSuffix("why=dismissed") })
        #expect(keys(harness.send("LIST", from: shop), "SNAP").isEmpty)
        #expect(isUnknown(harness.send("GET tip/1", from: shop)))
        #expect(isUnknown(harness.send("PRESS tip/1", from: shop)))
        let reported = harness.send("HISTORY tip/1", from: shop)
        #expect(reported.compactMap { HubHarness.attribute("type", of: $0) } == ["attached", "detached"])
        #expect(try HubHarness.tail(reported.first)["activity"] == "meal/1")
        // And both are forgotten together.
        harness.advance(by: .days(8))
        #expect(isUnknown(harness.send("HISTORY tip/1", from: shop)))
    }

    // MARK: Controls that are not always offered

    /// Its tip is offered until it was tipped, its door while it is placed.
    private static let conditional = order.replacing(
        #""lockScreen":{"title":"{{state.title}}","buttons":["tip/{{id}}","door/{{id}}"]}"#,
        with: #"""
            "lockScreen":{"title":"{{state.title}}","buttons":[{"control":"tip/{{id}}","when":{"unless":"content.tipped == true"}},
              {"control":"door/{{id}}","when":{"state":"placed"}}]}
            """#
    ).replacing(#""expanded":{"bottom":{"buttons":["tip/{{id}}","door/{{id}}"]}},"#, with: "")

    private func offers(_ lines: [String]) throws -> [String] {
        try lines.filter { $0.hasPrefix("UPD ") || $0.hasPrefix("SNAP ") }.compactMap { line in
            let body = try HubHarness.tail(line)
            guard body["control"] != nil else { return nil }
            return "\(HubHarness.attribute("key", of: line) ?? "") \(body["offered"] == false ? "no" : "yes")"
        }
    }

    @Test(
        "E6: a control's row tells when no view offers it, in each view and after a resume",
        arguments: ["full", "phone"])
    func offered(view: String) throws {
        let harness = try HubHarness(kinds: [Self.conditional, Self.tip(), Self.door])
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("SUB * view=\(view)", from: screen)
        harness.send("EVT meal/1 type=start", from: shop)
        #expect(try offers(harness.lines(of: screen)) == ["tip/1 yes", "door/1 yes"])
        // A change that leaves both as they are brings no row of them.
        harness.send(#"EVT meal/1 type=update {"content-state":{"n":1}}"#, from: shop)
        let lines = harness.lines(of: screen)
        #expect(try offers(lines) == [])
        let cursor = try #require(lines.last.flatMap { HubHarness.attribute("cur", of: $0) })
        harness.disconnect(screen)
        harness.send("EVT meal/1 type=eat", from: shop)
        let back = harness.connect()
        #expect(try offers(harness.send("SUB * view=\(view) from=\(cursor)", from: back)).contains("door/1 no"))
        #expect(try offers(harness.send("LIST door/* view=\(view)", from: shop)) == ["door/1 no"])
    }

    @Test func `E6: a tap on a control that is not offered is refused before its record, and its id is free`() throws {
        let harness = try HubHarness(kinds: [Self.conditional, Self.tip(), Self.door])
        let (shop, phone) = (harness.connect(), harness.connect())
        harness.send("EVT meal/1 type=start", from: shop)
        harness.send(#"EVT meal/1 type=update {"content-state":{"tipped":true}}"#, from: shop)
        let before = harness.send("HISTORY tip/1", from: shop).count
        #expect(harness.send("PRESS tip/1 eid=a", from: phone).last?.hasPrefix("ERR code=not_offered") == true)
        #expect(harness.send("HISTORY tip/1", from: shop).count == before)
        harness.send(#"EVT meal/1 type=update {"content-state":{}}"#, from: shop)
        #expect(harness.send("PRESS tip/1 eid=a", from: phone).contains { $0.hasPrefix("OK op=") })
        // The repeat of a tap that was taken is answered like it.
        #expect(harness.send("PRESS tip/1 eid=a", from: phone).last?.contains("verdict=duplicate") == true)
        #expect(harness.send("PRESS tip/1 eid=b", from: phone).last?.hasPrefix("ERR code=not_offered") == true)
    }

    // MARK: What they do

    @Test func `the tip of an order works, and needs no provider after one has come and gone`() throws {
        let (harness, shop) = try makeHarness()
        let phone = harness.connect()
        harness.send("SUB meal/* view=phone", from: phone)
        harness.send("EVT meal/1 type=start", from: shop)
        let buttons = try HubHarness.tail(harness.lines(of: phone).last)["lockScreen"]?["view"]?["buttons"]?.array
        #expect(buttons?.first?["available"] == true && buttons?.first?["interactive"] == true)
        let provider = harness.connect()
        harness.send("SERVE tip", from: provider)
        harness.disconnect(provider)
        #expect(harness.send("PRESS tip/1", from: phone).contains { $0.hasPrefix("OK op=") })
        #expect(
            try HubHarness.tail(harness.send("GET meal/1 view=full", from: shop).last)["content"]?["tipped"] == true)
    }

    @Test func `controls are for the accounts of their activity`() throws {
        let (harness, shop) = try makeHarness()
        let (alice, mallory) = (harness.connect(as: "alice"), harness.connect(as: "mallory"))
        for client in [alice, mallory] { harness.send("SUB * view=phone\nSUB door/1\nSUB door/*", from: client) }
        harness.send("SERVE door", from: shop)
        harness.send("EVT meal/1 type=ordered for=alice", from: shop)
        #expect(Set(keys(harness.lines(of: alice), "UPD")) == ["meal/1", "tip/1", "door/1"])
        harness.send("REPORT door/1 value=off", from: shop)
        harness.send("EVT meal/1 type=tip", from: shop)
        #expect(harness.lines(of: mallory) == [])
        for request in ["SET door/1 value=on", "PRESS tip/1", "GET door/1", "HISTORY tip/1", "GET tip/1 view=phone"] {
            #expect(isUnknown(harness.send(request, from: mallory)), "\(request)")
        }
        #expect(keys(harness.send("LIST", from: mallory), "SNAP").isEmpty)
        #expect(harness.send("SET door/1 value=on", from: alice).contains { $0.hasPrefix("OK op=") })
        let operation = try #require(harness.operation(askedOf: shop))
        harness.send("DONE op=\(operation)", from: shop)
        _ = harness.lines(of: alice)
        harness.send("EVT meal/1 type=cancel", from: shop)
        #expect(Set(keys(harness.lines(of: alice), "DEL")) == ["meal/1", "tip/1", "door/1"])
        #expect(harness.lines(of: mallory) == [])
        let late = harness.connect(as: "mallory")
        #expect(keys(harness.send("SUB *", from: late), "SNAP").isEmpty)
    }

    @Test func `an account that dismisses an order is shown its controls no more, and others are`() throws {
        let (harness, shop) = try makeHarness()
        let (alice, bob) = (harness.connect(as: "alice"), harness.connect(as: "bob"))
        harness.send("EVT meal/1 type=start for=alice,bob", from: shop)
        for client in [alice, bob] { harness.send("SUB *", from: client) }
        let dismissed = harness.send("DISMISS meal/1", from: alice)
        #expect(Set(keys(dismissed, "DEL")) == ["meal/1", "tip/1", "door/1"])
        #expect(dismissed.filter { $0.hasPrefix("DEL") }.allSatisfy { $0.hasSuffix("why=dismissed") })
        #expect(keys(harness.lines(of: bob), "DEL").isEmpty)
        #expect(isUnknown(harness.send("PRESS tip/1", from: alice)))
        #expect(harness.send("PRESS tip/1", from: bob).contains { $0.hasPrefix("OK op=") })
        harness.send("DISMISS meal/1", from: bob)
        #expect(keys(harness.send("LIST", from: shop), "SNAP").isEmpty)
    }

    @Test func `the next activity under a key brings its own controls, and others' are no secret of the last one`()
        throws
    {
        let (harness, shop) = try makeHarness()
        let (alice, bob) = (harness.connect(as: "alice"), harness.connect(as: "bob"))
        harness.send("EVT meal/1 type=start for=alice", from: shop)
        let cursor = try harness.cursor(of: "SUB *", from: alice)
        harness.disconnect(alice)
        harness.send("EVT meal/1 type=cancel", from: shop)
        harness.send("EVT meal/1 type=start for=bob", from: shop)
        #expect(Set(keys(harness.send("SUB *", from: bob), "SNAP")) == ["meal/1", "tip/1", "door/1"])
        let again = harness.connect(as: "alice")
        let resumed = harness.send("SUB * from=\(cursor)", from: again)
        #expect(Set(keys(resumed, "DEL")) == ["meal/1", "tip/1", "door/1"])
        #expect(keys(resumed, "UPD").isEmpty)
        #expect(isUnknown(harness.send("PRESS tip/1", from: again)))
    }

    @Test func `a resume hears of controls that went while the client was away, without a reset`() throws {
        let (harness, shop) = try makeHarness()
        let screen = harness.connect()
        harness.send("EVT meal/1 type=start\nEVT meal/2 type=start", from: shop)
        let cursor = try harness.cursor(of: "SUB *", from: screen)
        harness.disconnect(screen)
        harness.send("EVT meal/1 type=cancel", from: shop)
        let resumed = harness.send("SUB * from=\(cursor)", from: harness.connect())
        #expect(!resumed.contains { $0.hasPrefix("RESET") })
        #expect(Set(keys(resumed, "DEL")) == ["meal/1", "tip/1", "door/1"])
        #expect(keys(resumed, "UPD").isEmpty)
    }

    @Test func `a button that ends its own order is answered once and again`() throws {
        let (harness, _) = try makeHarness(Self.tip("cancel"))
        let phone = harness.connect(as: "alice")
        harness.send("EVT meal/1 type=start for=alice", from: harness.connect())
        harness.send("SUB *", from: phone)
        let first = harness.send("PRESS tip/1 eid=t1", from: phone)
        #expect(first.first?.hasPrefix("OK op=") == true)
        #expect(Set(keys(first, "DEL")) == ["meal/1", "tip/1", "door/1"])
        let again = harness.send("PRESS tip/1 eid=t1", from: phone)
        #expect(again.last?.contains("verdict=duplicate") == true)
        #expect(isUnknown(harness.send("PRESS tip/1 eid=t2", from: phone)))
    }

    @Test func `a report of a control that has gone is ignored, and an operation goes with its control`() throws {
        let (harness, shop) = try makeHarness()
        harness.send("SERVE door", from: shop)
        harness.send("EVT meal/1 type=start", from: shop)
        harness.send("REPORT door/1 value=off", from: shop)
        harness.send("SET door/1 value=on", from: harness.connect())
        let operation = try #require(harness.operation(askedOf: shop))
        harness.send("EVT meal/1 type=cancel", from: shop)
        #expect(harness.send("DONE op=\(operation)", from: shop).last == "OK verdict=ignored")
        #expect(harness.send("REPORT door/1 value=on", from: shop).last?.contains("verdict=ignored") == true)
        #expect(keys(harness.send("LIST", from: shop), "SNAP").isEmpty)
        harness.advance(by: .minutes(5))
        #expect(keys(harness.send("LIST", from: shop), "SNAP").isEmpty)
    }

    @Test func `a control that was reported before its order belongs to it from then on`() throws {
        let (harness, shop) = try makeHarness()
        let (alice, mallory) = (harness.connect(as: "alice"), harness.connect(as: "mallory"))
        harness.send("SERVE door", from: shop)
        harness.send("REPORT door/1 value=on", from: shop)
        let cursor = try harness.cursor(of: "SUB door/*", from: mallory)
        harness.send("EVT meal/1 type=start for=alice", from: shop)
        #expect(keys(harness.lines(of: mallory), "DEL") == ["door/1"])
        #expect(try HubHarness.tail(harness.send("GET door/1", from: alice).last)["value"] == true)
        let resumed = harness.send("SUB door/* from=\(cursor)", from: harness.connect(as: "mallory"))
        #expect(keys(resumed, "DEL") == ["door/1"])
    }

    @Test func `a control belongs to one activity, and another one that names it shows an empty room`() throws {
        let shared = Self.order.replacing("\"meal\"", with: "\"party\"").replacing(
            "door/{{id}}", with: "door/{{attributes.of}}")
        let harness = try HubHarness(kinds: [Self.order, shared, Self.tip(), Self.door])
        let shop = harness.connect()
        harness.send("EVT meal/1 type=start for=alice", from: shop)
        harness.send(#"EVT party/2 type=start {"attributes":{"of":"1"}}"#, from: shop)
        let row = try HubHarness.tail(harness.send("GET party/2 view=phone", from: shop).last)
        let door = row["lockScreen"]?["view"]?["buttons"]?.array?.last
        #expect(door == ["key": "door/1", "interactive": false])
        #expect(isUnknown(harness.send("SET door/1 value=on", from: harness.connect(as: "mallory"))))
        harness.send("EVT party/2 type=cancel", from: shop)
        #expect(keys(harness.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1", "door/1"])
    }

    @Test func `kinds that come later bring their controls to activities that are there`() throws {
        let harness = try HubHarness(kinds: [Self.order, Self.tip()])
        let shop = harness.connect()
        harness.send("EVT meal/1 type=start for=alice", from: shop)
        #expect(keys(harness.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1"])
        try harness.hub.adopt([Self.order, Self.tip(), Self.door].map { try HubHarness.kind($0) })
        harness.turn()
        #expect(Set(keys(harness.send("LIST", from: shop), "SNAP")) == ["meal/1", "tip/1", "door/1"])
        #expect(isUnknown(harness.send("GET door/1", from: harness.connect(as: "mallory"))))
        try harness.hub.adopt([Self.order, Self.tip()].map { try HubHarness.kind($0) })
        harness.turn()
        #expect(keys(harness.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1"])
    }

    @Test func `a batch that the disk refuses leaves neither controls nor their going`() throws {
        let (harness, shop) = try makeHarness()
        harness.send("EVT meal/1 type=start for=alice", from: shop)
        let before = harness.hub.stateHash
        harness.isFull = true
        harness.send("EVT meal/2 type=start\nEVT meal/1 type=cancel\nEVT meal/1 type=start for=bob", from: shop)
        #expect(harness.hub.stateHash == before)
        harness.isFull = false
        harness.time = harness.time + .seconds(2)
        #expect(keys(harness.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1", "door/1"])
        #expect(isUnknown(harness.send("PRESS tip/1", from: harness.connect(as: "bob"))))
        #expect(harness.send("PRESS tip/1", from: harness.connect(as: "alice")).last?.hasPrefix("OK") == true)
    }

    @Test func `a recovery and a snapshot know what belongs to which activity`() throws {
        let (harness, shop) = try makeHarness()
        harness.send("SERVE door", from: shop)
        harness.send(
            "EVT meal/1 type=start for=alice\nEVT meal/2 type=start\nEVT meal/3 type=start for=bob", from: shop)
        harness.send("EVT meal/2 type=cancel", from: shop)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
        for isSnapshot in [false, true] {
            let hash = harness.hub.stateHash
            if isSnapshot { try harness.restartFromSnapshot() } else { try harness.restart() }
            if isSnapshot { #expect(harness.hub.stateHash == hash) }
            let mallory = harness.connect(as: "mallory")
            #expect(keys(harness.send("LIST", from: mallory), "SNAP").isEmpty)
            #expect(isUnknown(harness.send("PRESS tip/1", from: mallory)))
            #expect(
                Set(keys(harness.send("LIST", from: harness.connect(as: "alice")), "SNAP")) == [
                    "meal/1", "tip/1", "door/1",
                ])
        }
        harness.send("EVT meal/1 type=cancel", from: harness.connect())
        #expect(keys(harness.send("LIST", from: harness.connect(as: "alice")), "SNAP").isEmpty)
    }

    @Test func `an activity brings at most 16 controls`() throws {
        let keys = (0..<20).map { "\"tip/{{id}}-\($0)\"" }.joined(separator: ",")
        let order = Self.order.replacing(
            #""buttons":["tip/{{id}}","door/{{id}}"]}}}"#, with: #""buttons":[\#(keys)]}}}"#)
        let harness = try HubHarness(kinds: [order, Self.tip(), Self.door])
        harness.send("EVT meal/1 type=start", from: harness.connect())
        #expect(self.keys(harness.send("LIST", from: harness.connect()), "SNAP").count == 17)
    }
}
