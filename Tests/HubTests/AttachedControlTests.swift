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

    private func house(_ tip: String = tip()) throws -> (HubHarness, shop: HubHarness.Client) {
        let house = try HubHarness(kinds: [Self.order, tip, Self.door])
        return (house, house.connect())
    }

    private func keys(_ lines: [String], _ verb: String) -> [String] {
        lines.filter { $0.hasPrefix("\(verb) ") }.compactMap { HubHarness.attribute("key", of: $0) }
    }

    private func isUnknown(_ lines: [String]) -> Bool { lines.last?.hasPrefix("ERR code=unknown_key") == true }

    @Test func `controls begin and go with their activity, in rows and lists`() throws {
        let (house, shop) = try house()
        let screen = house.connect()
        house.send("SUB *", from: screen)
        house.send("EVT meal/1 type=start", from: shop)
        #expect(keys(house.lines(of: screen), "UPD") == ["meal/1", "tip/1", "door/1"])
        #expect(keys(house.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1", "door/1"])
        // The end of the activity is no end of its row, which still has its buttons.
        house.send("EVT meal/1 type=eat", from: shop)
        #expect(keys(house.lines(of: screen), "UPD") == ["meal/1"])
        house.advance(by: .minutes(11))
        let gone = house.lines(of: screen)
        #expect(keys(gone, "DEL") == ["meal/1", "tip/1", "door/1"])
        #expect(gone.filter { $0.hasPrefix("DEL") }.allSatisfy { $0.hasSuffix("why=dismissed") })
        #expect(keys(house.send("LIST", from: shop), "SNAP").isEmpty)
        #expect(isUnknown(house.send("GET tip/1", from: shop)))
        #expect(isUnknown(house.send("PRESS tip/1", from: shop)))
        let told = house.send("HISTORY tip/1", from: shop)
        #expect(told.compactMap { HubHarness.attribute("type", of: $0) } == ["attached", "detached"])
        #expect(try HubHarness.tail(told.first)["activity"] == "meal/1")
        // And both are forgotten together.
        house.advance(by: .days(8))
        #expect(isUnknown(house.send("HISTORY tip/1", from: shop)))
    }

    @Test func `the tip of an order works, and needs no provider after one has come and gone`() throws {
        let (house, shop) = try house()
        let phone = house.connect()
        house.send("SUB meal/* view=phone", from: phone)
        house.send("EVT meal/1 type=start", from: shop)
        let buttons = try HubHarness.tail(house.lines(of: phone).last)["lockScreen"]?["view"]?["buttons"]?.array
        #expect(buttons?.first?["available"] == true && buttons?.first?["interactive"] == true)
        let provider = house.connect()
        house.send("SERVE tip", from: provider)
        house.disconnect(provider)
        #expect(house.send("PRESS tip/1", from: phone).contains { $0.hasPrefix("OK op=") })
        #expect(try HubHarness.tail(house.send("GET meal/1 view=full", from: shop).last)["content"]?["tipped"] == true)
    }

    @Test func `controls are for the accounts of their activity`() throws {
        let (house, shop) = try house()
        let (alice, mallory) = (house.connect(as: "alice"), house.connect(as: "mallory"))
        for client in [alice, mallory] { house.send("SUB * view=phone\nSUB door/1\nSUB door/*", from: client) }
        house.send("SERVE door", from: shop)
        house.send("EVT meal/1 type=ordered for=alice", from: shop)
        #expect(Set(keys(house.lines(of: alice), "UPD")) == ["meal/1", "tip/1", "door/1"])
        house.send("REPORT door/1 value=off", from: shop)
        house.send("EVT meal/1 type=tip", from: shop)
        #expect(house.lines(of: mallory) == [])
        for request in ["SET door/1 value=on", "PRESS tip/1", "GET door/1", "HISTORY tip/1", "GET tip/1 view=phone"] {
            #expect(isUnknown(house.send(request, from: mallory)), "\(request)")
        }
        #expect(keys(house.send("LIST", from: mallory), "SNAP").isEmpty)
        #expect(house.send("SET door/1 value=on", from: alice).contains { $0.hasPrefix("OK op=") })
        let operation = try #require(house.operation(askedOf: shop))
        house.send("DONE op=\(operation)", from: shop)
        _ = house.lines(of: alice)
        house.send("EVT meal/1 type=cancel", from: shop)
        #expect(Set(keys(house.lines(of: alice), "DEL")) == ["meal/1", "tip/1", "door/1"])
        #expect(house.lines(of: mallory) == [])
        let late = house.connect(as: "mallory")
        #expect(keys(house.send("SUB *", from: late), "SNAP").isEmpty)
    }

    @Test func `an account that dismisses an order is shown its controls no more, and others are`() throws {
        let (house, shop) = try house()
        let (alice, bob) = (house.connect(as: "alice"), house.connect(as: "bob"))
        house.send("EVT meal/1 type=start for=alice,bob", from: shop)
        for client in [alice, bob] { house.send("SUB *", from: client) }
        let dismissed = house.send("DISMISS meal/1", from: alice)
        #expect(Set(keys(dismissed, "DEL")) == ["meal/1", "tip/1", "door/1"])
        #expect(dismissed.filter { $0.hasPrefix("DEL") }.allSatisfy { $0.hasSuffix("why=dismissed") })
        #expect(keys(house.lines(of: bob), "DEL").isEmpty)
        #expect(isUnknown(house.send("PRESS tip/1", from: alice)))
        #expect(house.send("PRESS tip/1", from: bob).contains { $0.hasPrefix("OK op=") })
        house.send("DISMISS meal/1", from: bob)
        #expect(keys(house.send("LIST", from: shop), "SNAP").isEmpty)
    }

    @Test func `the next activity under a key brings its own controls, and others' are no secret of the last one`()
        throws
    {
        let (house, shop) = try house()
        let (alice, bob) = (house.connect(as: "alice"), house.connect(as: "bob"))
        house.send("EVT meal/1 type=start for=alice", from: shop)
        let cursor = try house.cursor(of: "SUB *", from: alice)
        house.disconnect(alice)
        house.send("EVT meal/1 type=cancel", from: shop)
        house.send("EVT meal/1 type=start for=bob", from: shop)
        #expect(Set(keys(house.send("SUB *", from: bob), "SNAP")) == ["meal/1", "tip/1", "door/1"])
        let again = house.connect(as: "alice")
        let resumed = house.send("SUB * from=\(cursor)", from: again)
        #expect(Set(keys(resumed, "DEL")) == ["meal/1", "tip/1", "door/1"])
        #expect(keys(resumed, "UPD").isEmpty)
        #expect(isUnknown(house.send("PRESS tip/1", from: again)))
    }

    @Test func `a resume hears of controls that went while the client was away, without a reset`() throws {
        let (house, shop) = try house()
        let screen = house.connect()
        house.send("EVT meal/1 type=start\nEVT meal/2 type=start", from: shop)
        let cursor = try house.cursor(of: "SUB *", from: screen)
        house.disconnect(screen)
        house.send("EVT meal/1 type=cancel", from: shop)
        let resumed = house.send("SUB * from=\(cursor)", from: house.connect())
        #expect(!resumed.contains { $0.hasPrefix("RESET") })
        #expect(Set(keys(resumed, "DEL")) == ["meal/1", "tip/1", "door/1"])
        #expect(keys(resumed, "UPD").isEmpty)
    }

    @Test func `a button that ends its own order is answered once and again`() throws {
        let (house, _) = try house(Self.tip("cancel"))
        let phone = house.connect(as: "alice")
        house.send("EVT meal/1 type=start for=alice", from: house.connect())
        house.send("SUB *", from: phone)
        let first = house.send("PRESS tip/1 eid=t1", from: phone)
        #expect(first.first?.hasPrefix("OK op=") == true)
        #expect(Set(keys(first, "DEL")) == ["meal/1", "tip/1", "door/1"])
        let again = house.send("PRESS tip/1 eid=t1", from: phone)
        #expect(again.last?.contains("verdict=duplicate") == true)
        #expect(isUnknown(house.send("PRESS tip/1 eid=t2", from: phone)))
    }

    @Test func `a report of a control that has gone is ignored, and an operation goes with its control`() throws {
        let (house, shop) = try house()
        house.send("SERVE door", from: shop)
        house.send("EVT meal/1 type=start", from: shop)
        house.send("REPORT door/1 value=off", from: shop)
        house.send("SET door/1 value=on", from: house.connect())
        let operation = try #require(house.operation(askedOf: shop))
        house.send("EVT meal/1 type=cancel", from: shop)
        #expect(house.send("DONE op=\(operation)", from: shop).last == "OK verdict=ignored")
        #expect(house.send("REPORT door/1 value=on", from: shop).last?.contains("verdict=ignored") == true)
        #expect(keys(house.send("LIST", from: shop), "SNAP").isEmpty)
        house.advance(by: .minutes(5))
        #expect(keys(house.send("LIST", from: shop), "SNAP").isEmpty)
    }

    @Test func `a control that was reported before its order belongs to it from then on`() throws {
        let (house, shop) = try house()
        let (alice, mallory) = (house.connect(as: "alice"), house.connect(as: "mallory"))
        house.send("SERVE door", from: shop)
        house.send("REPORT door/1 value=on", from: shop)
        let cursor = try house.cursor(of: "SUB door/*", from: mallory)
        house.send("EVT meal/1 type=start for=alice", from: shop)
        #expect(keys(house.lines(of: mallory), "DEL") == ["door/1"])
        #expect(try HubHarness.tail(house.send("GET door/1", from: alice).last)["value"] == true)
        let resumed = house.send("SUB door/* from=\(cursor)", from: house.connect(as: "mallory"))
        #expect(keys(resumed, "DEL") == ["door/1"])
    }

    @Test func `a control belongs to one activity, and another one that names it shows an empty room`() throws {
        let shared = Self.order.replacing("\"meal\"", with: "\"party\"").replacing(
            "door/{{id}}", with: "door/{{attributes.of}}")
        let house = try HubHarness(kinds: [Self.order, shared, Self.tip(), Self.door])
        let shop = house.connect()
        house.send("EVT meal/1 type=start for=alice", from: shop)
        house.send(#"EVT party/2 type=start {"attributes":{"of":"1"}}"#, from: shop)
        let row = try HubHarness.tail(house.send("GET party/2 view=phone", from: shop).last)
        let door = row["lockScreen"]?["view"]?["buttons"]?.array?.last
        #expect(door == ["key": "door/1", "interactive": false])
        #expect(isUnknown(house.send("SET door/1 value=on", from: house.connect(as: "mallory"))))
        house.send("EVT party/2 type=cancel", from: shop)
        #expect(keys(house.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1", "door/1"])
    }

    @Test func `kinds that come later bring their controls to activities that are there`() throws {
        let house = try HubHarness(kinds: [Self.order, Self.tip()])
        let shop = house.connect()
        house.send("EVT meal/1 type=start for=alice", from: shop)
        #expect(keys(house.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1"])
        try house.hub.adopt([Self.order, Self.tip(), Self.door].map { try HubHarness.kind($0) })
        house.turn()
        #expect(Set(keys(house.send("LIST", from: shop), "SNAP")) == ["meal/1", "tip/1", "door/1"])
        #expect(isUnknown(house.send("GET door/1", from: house.connect(as: "mallory"))))
        try house.hub.adopt([Self.order, Self.tip()].map { try HubHarness.kind($0) })
        house.turn()
        #expect(keys(house.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1"])
    }

    @Test func `a batch that the disk refuses leaves neither controls nor their going`() throws {
        let (house, shop) = try house()
        house.send("EVT meal/1 type=start for=alice", from: shop)
        let before = house.hub.stateHash
        house.isFull = true
        house.send("EVT meal/2 type=start\nEVT meal/1 type=cancel\nEVT meal/1 type=start for=bob", from: shop)
        #expect(house.hub.stateHash == before)
        house.isFull = false
        house.time = house.time + .seconds(2)
        #expect(keys(house.send("LIST", from: shop), "SNAP") == ["meal/1", "tip/1", "door/1"])
        #expect(isUnknown(house.send("PRESS tip/1", from: house.connect(as: "bob"))))
        #expect(house.send("PRESS tip/1", from: house.connect(as: "alice")).last?.hasPrefix("OK") == true)
    }

    @Test func `a recovery and a snapshot know what belongs to which activity`() throws {
        let (house, shop) = try house()
        house.send("SERVE door", from: shop)
        house.send("EVT meal/1 type=start for=alice\nEVT meal/2 type=start\nEVT meal/3 type=start for=bob", from: shop)
        house.send("EVT meal/2 type=cancel", from: shop)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
        for isSnapshot in [false, true] {
            let hash = house.hub.stateHash
            if isSnapshot { try house.restartFromSnapshot() } else { try house.restart() }
            if isSnapshot { #expect(house.hub.stateHash == hash) }
            let mallory = house.connect(as: "mallory")
            #expect(keys(house.send("LIST", from: mallory), "SNAP").isEmpty)
            #expect(isUnknown(house.send("PRESS tip/1", from: mallory)))
            #expect(
                Set(keys(house.send("LIST", from: house.connect(as: "alice")), "SNAP")) == [
                    "meal/1", "tip/1", "door/1",
                ])
        }
        house.send("EVT meal/1 type=cancel", from: house.connect())
        #expect(keys(house.send("LIST", from: house.connect(as: "alice")), "SNAP").isEmpty)
    }

    @Test func `an activity brings at most 16 controls`() throws {
        let keys = (0..<20).map { "\"tip/{{id}}-\($0)\"" }.joined(separator: ",")
        let order = Self.order.replacing(
            #""buttons":["tip/{{id}}","door/{{id}}"]}}}"#, with: #""buttons":[\#(keys)]}}}"#)
        let house = try HubHarness(kinds: [order, Self.tip(), Self.door])
        house.send("EVT meal/1 type=start", from: house.connect())
        #expect(self.keys(house.send("LIST", from: house.connect()), "SNAP").count == 17)
    }
}
