import TelltaleModel
import Testing

/// Controls that stand in the views of activities.
struct EmbeddedControlTests {
    private func makeHarness() throws -> (harness: HubHarness, lamp: HubHarness.Client, phone: HubHarness.Client) {
        let harness = try HubHarness(kinds: [HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee()])
        let (lamp, phone) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: lamp)
        harness.send("SUB coffee-order/* view=phone", from: phone)
        harness.send("SERVE porch-light", from: lamp)
        return (harness, lamp, phone)
    }

    private func controls(_ line: String?) throws -> [JSON] {
        try #require(try HubHarness.tail(line)["lockScreen"]?["view"]?["buttons"]?.array)
    }

    @Test func `a control arrives with its state, and its activity's row comes again whenever that changes`() throws {
        let (harness, lamp, phone) = try makeHarness()
        let first = try controls(harness.send("GET coffee-order/1 view=phone", from: phone).last)
        #expect(first.map { $0["key"] } == ["log-coffee/1", "porch-light/front"])
        #expect(first[1]["control"] == nil)
        harness.send("REPORT porch-light/front value=off", from: lamp)
        let rows = harness.lines(of: phone)
        #expect(rows.count == 1)
        let light = try controls(rows.last)[1]
        #expect(light["control"] == "toggle" && light["shown"] == false && light["interactive"] == true)
        #expect(light["available"] == true && light["symbol"] == "lightbulb" && light["title"] == "Porch light")

        // The tapped screen is shown its wish, the other one the truth.
        let other = harness.connect()
        harness.send("SUB coffee-order/* view=phone", from: other)
        let tapped = harness.send("SET porch-light/front value=on", from: phone)
        #expect(try controls(tapped.last)[1]["shown"] == true)
        #expect(try controls(tapped.last)[1]["phase"] == "pending")
        #expect(try controls(harness.lines(of: other).last)[1]["shown"] == false)
        harness.send("FAIL op=\(try #require(harness.operation(askedOf: lamp)))", from: lamp)
        for screen in [phone, other] {
            let rows = harness.lines(of: screen)
            #expect(rows.count == 1)
            #expect(try controls(rows.last)[1]["shown"] == false)
            #expect(try controls(rows.last)[1]["phase"] == "settled")
        }
        // An activity that is over embeds nothing any more.
        harness.send("EVT coffee-order/1 type=collect", from: lamp)
    }

    @Test func `a reader that gets every row is not sent a fold because its activity has a button`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"},"instances":["1"]"#
        let harness = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises),
        ])
        let (finger, phone) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: finger)
        harness.send("SUB coffee-order/* view=phone", from: phone)
        harness.send("PRESS log-coffee/1", from: finger)
        let rows = harness.lines(of: phone)
        #expect(!rows.isEmpty && rows.allSatisfy { $0.hasPrefix("UPD ") })
        for row in rows {
            #expect(HubHarness.attribute("skip", of: row) == nil && HubHarness.attribute("why", of: row) == nil)
        }
        #expect(try HubHarness.tail(rows.last)["lockScreen"]?["view"]?["title"] == "brewing")
        let conflated = try HubHarness.tail(harness.send("STATS", from: finger).last)["conflated"]
        #expect(conflated?["slow"] == 0)
    }

    @Test func `a control that is not interactive in its place takes no taps`() throws {
        let (harness, lamp, phone) = try makeHarness()
        let car = harness.connect()
        harness.send("REPORT porch-light/front value=off", from: lamp)
        harness.send("SERVE log-coffee", from: lamp)
        harness.send("REPORT log-coffee/1", from: lamp)
        let row = try HubHarness.tail(harness.lines(of: phone).last)
        #expect(row["island"]?["view"]?["leading"]?["buttons"]?.array?.first?["interactive"] == false)
        #expect(row["island"]?["expanded"]?["view"]?["bottom"]?["buttons"]?.array?.first?["interactive"] == true)
        let carRow = try HubHarness.tail(
            harness.send("SUB coffee-order/* view=carplay", from: car).first { $0.hasPrefix("SNAP") })
        let button = carRow["view"]?["leading"]?["buttons"]?.array?.first
        #expect(button?["interactive"] == false && button?["control"] == "button")
        let locked = try controls(harness.send("TRAIT locked=yes", from: phone).last)
        #expect(locked.map { $0["interactive"] } == [false, false])
        let unlocked = try controls(harness.send("TRAIT locked=no", from: phone).last)
        #expect(unlocked.map { $0["interactive"] } == [true, true])
    }

    @Test func `an event of the activity does not remove the tapped screen's wanted value`() throws {
        let (harness, lamp, phone) = try makeHarness()
        harness.send("REPORT porch-light/front value=off", from: lamp)
        let other = harness.connect()
        harness.send("SUB coffee-order/* view=phone", from: other)
        harness.send("SET porch-light/front value=on", from: phone)
        for screen in [phone, other] { _ = harness.lines(of: screen) }
        harness.send("EVT coffee-order/1 type=brew", from: lamp)
        #expect(try controls(harness.lines(of: phone).last)[1]["shown"] == true)
        #expect(try controls(harness.lines(of: other).last)[1]["shown"] == false)
    }

    @Test func `a locked watch is shown no private control in an activity any more`() throws {
        let secret = HubHarness.porchLight(#""privacySensitive":true"#)
        let coffee = HubHarness.tippedCoffee.replacing(
            #""views":{"#,
            with: #""supplementalFamilies":["small"],"views":{"small":{"buttons":["porch-light/front"]},"#)
        let harness = try HubHarness(kinds: [coffee, secret, HubHarness.logCoffee()])
        let (lamp, watch) = (harness.connect(), harness.connect())
        harness.serveLight(value: "on", from: lamp)
        harness.send("EVT coffee-order/1 type=start", from: lamp)
        harness.send("SUB coffee-order/* view=watch", from: watch)
        func shown(_ trait: String) throws -> JSON? {
            try HubHarness.tail(harness.send("TRAIT \(trait)", from: watch).last)["view"]?["buttons"]?.array?.first?[
                "shown"]
        }
        #expect(try shown("locked=yes") == .null)
        #expect(try shown("locked=no") == true)
    }

    @Test("E10: a private control in a card is hidden where the card hides what is private, and not by the lock alone")
    func redaction() throws {
        let secret = HubHarness.porchLight(#""privacySensitive":true"#)
        let coffee = HubHarness.tippedCoffee.replacing(
            #""symbol":"cup","buttons":["log-coffee/{{id}}"]"#, with: #""buttons":["porch-light/front"]"#)
        let harness = try HubHarness(kinds: [coffee, secret, HubHarness.logCoffee()])
        let (lamp, phone, car) = (harness.connect(), harness.connect(), harness.connect())
        harness.serveLight(value: "on", from: lamp)
        harness.send("EVT coffee-order/1 type=start", from: lamp)
        let first = harness.send("SUB coffee-order/* view=phone", from: phone).first { $0.hasPrefix("SNAP") }
        #expect(try controls(first)[1]["shown"] == true)
        let steps = [
            ("luminance=reduced", JSON.null, false), ("show=locked", true, false),
            ("luminance=normal locked=yes", true, true),
            ("show=unlocked", .null, true), ("locked=no", true, false),
        ]
        for (traits, shown, isLocked) in steps {
            let light = try controls(harness.send("TRAIT \(traits)", from: phone).last)[1]
            #expect(light["shown"] == shown && light["interactive"] == .bool(!isLocked), "\(traits)")
        }
        // A car's screen has a lock that the server does not know.
        func shownInCar(_ lines: [String]) throws -> JSON? {
            let row = try #require(lines.last { $0.contains(" key=coffee-order/1 ") })
            return try HubHarness.tail(row)["view"]?["leading"]?["buttons"]?.array?.first?["shown"]
        }
        #expect(try shownInCar(harness.send("SUB coffee-order/* view=carplay", from: car)) == .null)
        #expect(try shownInCar(harness.send("TRAIT show=locked", from: car)) == true)
    }

    @Test func `a resume brings the rows of activities whose controls changed meanwhile, and no others`() throws {
        let (harness, lamp, phone) = try makeHarness()
        harness.send("EVT coffee-order/2 type=start", from: lamp)
        harness.send("SERVE log-coffee", from: lamp)
        let cursor = try #require(
            harness.send("SUB coffee-order/* view=phone", from: phone).last.flatMap {
                HubHarness.attribute("cur", of: $0)
            })
        harness.disconnect(phone)
        harness.send("PRESS log-coffee/2", from: lamp)
        let again = harness.connect()
        let resumed = harness.send("SUB coffee-order/* view=phone from=\(cursor)", from: again)
        #expect(resumed.compactMap { HubHarness.attribute("key", of: $0) } == ["coffee-order/2"])
        #expect(try controls(resumed.first { $0.hasPrefix("UPD") })[0]["phase"] == "performing")
    }

    @Test func `a screen of one key resumes with its row where a control in it changed, and without where another did`()
        throws
    {
        let (harness, lamp, _) = try makeHarness()
        harness.send("EVT coffee-order/2 type=start", from: lamp)
        harness.send("SERVE log-coffee", from: lamp)
        let screens = try [1, 2].map { number in
            try harness.cursor(of: "SUB coffee-order/\(number) view=phone", from: harness.connect())
        }
        harness.send("PRESS log-coffee/2", from: lamp)
        for (number, cursor) in zip([1, 2], screens) {
            let resumed = harness.send("SUB coffee-order/\(number) view=phone from=\(cursor)", from: harness.connect())
            #expect(resumed.count { $0.hasPrefix("UPD") } == number - 1, "\(resumed)")
        }
    }

    @Test func `a control that changes twice in a batch brings the rows around it once, and a notice of the newest`()
        throws
    {
        let (harness, lamp, phone) = try makeHarness()
        let gateway = harness.connect()
        harness.send("SUB coffee-order/* view=phone deliver=notice", from: gateway)
        harness.send("LIST coffee-order/* view=phone", from: gateway)
        _ = harness.lines(of: phone)
        for value in ["off", "on"] { harness.post("REPORT porch-light/front value=\(value)", from: lamp) }
        harness.turn()
        let rows = harness.lines(of: phone)
        #expect(rows.count == 1)
        #expect(try controls(rows.last)[1]["shown"] == true)
        _ = harness.lines(of: lamp)
        let newest = try #require(
            HubHarness.attribute("rev", of: harness.send("GET porch-light/front", from: lamp).first ?? ""))
        #expect(harness.lines(of: gateway).compactMap { HubHarness.attribute("rev", of: $0) } == [newest])
    }

    @Test func `a row that was kept across a restart comes again when its control changes`() throws {
        let harness = try HubHarness(kinds: [HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee()])
        harness.send("EVT coffee-order/1 type=start", from: harness.connect())
        let cursor = try #require(
            harness.send("SUB coffee-order/* view=phone", from: harness.connect()).last.flatMap {
                HubHarness.attribute("cur", of: $0)
            })
        try harness.restart()
        let (lamp, phone) = (harness.connect(), harness.connect())
        let resumed = harness.send("SUB coffee-order/* view=phone from=\(cursor)", from: phone)
        #expect(resumed.allSatisfy { !$0.hasPrefix("UPD") })
        harness.send("SERVE log-coffee", from: lamp)
        harness.send("REPORT log-coffee/1", from: lamp)
        #expect(try controls(harness.lines(of: phone).last)[0]["control"] == "button")
    }

    @Test func `an activity row that a control changed is missing until it has left`() throws {
        let harness = try HubHarness(kinds: [HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee()])
        let (shop, phone) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: shop)
        harness.send("SERVE log-coffee", from: shop)
        harness.send("REPORT log-coffee/1", from: shop)
        var reported = harness.send("SUB coffee-order/* view=phone rate=1", from: phone)
        // The row has used up its rate when the control changes; the cursor must wait for it.
        harness.disconnect(shop)
        harness.turn()
        harness.advance(by: Milliseconds(100))
        harness.send("EVT coffee-order/2 type=start", from: harness.connect())
        reported += harness.lines(of: phone)
        let cursor = try #require(reported.compactMap { HubHarness.attribute("cur", of: $0) }.last)
        harness.disconnect(phone)
        let resumed = harness.send("SUB coffee-order/* view=phone from=\(cursor)", from: harness.connect())
        #expect(resumed.contains { $0.hasPrefix("UPD") && $0.contains("coffee-order/1") })
    }
}
