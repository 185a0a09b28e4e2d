import TelltaleModel
import Testing

/// How widgets are looked at: places, families, people and clients of today.
struct WidgetViewTests {
    @Test("W-V87: the same configuration is one key, one rev and the same entries for everybody")
    func shared() throws {
        let harness = try WidgetTests.harness()
        let (shop, start) = (harness.connect(), harness.time)
        let (alice, bob) = (harness.connect(as: "alice"), harness.connect(as: "bob"))
        WidgetTests.reply(harness, "SUB sales/Hoegi view=phone", alice)
        WidgetTests.reply(harness, "SUB sales/Hoegi view=phone", bob)
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        let rows = (WidgetTests.rows(harness, alice), WidgetTests.rows(harness, bob))
        #expect(rows.0.count == 1 && rows.1.count == 1)
        let (first, second) = (try ServerText(rows.0[0]), try ServerText(rows.1[0]))
        #expect(first.rev == second.rev && first.body == second.body)
    }

    @Test("W-V95: a key without content shows the placeholder; then its last view, for however long nothing comes")
    func silence() throws {
        let harness = try WidgetTests.harness()
        let (shop, start) = (harness.connect(), harness.time)
        let before = WidgetTests.reply(harness, "GET sales/Hoegi view=phone", shop).first
        #expect(try WidgetTests.entries(before, from: start) == ["0:-"])
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        harness.advance(by: .days(9))
        let after = WidgetTests.reply(harness, "GET sales/Hoegi view=phone", shop).first
        #expect(try WidgetTests.entries(after, from: start) == ["0:0 at Hoegi"])
    }

    @Test("W-V97: OPEN of a part answers its link, and of any other the url")
    func opening() throws {
        let harness = try WidgetTests.harness()
        let screen = harness.connect()
        WidgetTests.reply(harness, "HELLO surface=phone", screen)
        func url(_ request: String) throws -> String? {
            try ServerText(try #require(WidgetTests.reply(harness, request, screen).first)).body?["url"]?.string
        }
        #expect(try url("OPEN sales/Hoegi part=title") == "https://example.com/n")
        #expect(try url("OPEN sales/Hoegi part=nothing") == "https://example.com/Hoegi")
        #expect(try url("OPEN sales/Hoegi") == "https://example.com/Hoegi")
    }

    @Test("W-V99: a family that a place does not have is not_offered, and no row of SUB or LIST")
    func notOffered() throws {
        let harness = try WidgetTests.harness()
        let screen = harness.connect()
        #expect(
            WidgetTests.reply(harness, "GET sales/Hoegi view=carplay family=systemMedium", screen).first?.hasPrefix(
                "ERR code=not_offered") == true)
        #expect(
            WidgetTests.reply(harness, "GET sales/Hoegi view=phone placement=lockScreen family=systemSmall", screen)
                .first?
                .hasPrefix("ERR code=not_offered") == true)
        #expect(WidgetTests.reply(harness, "LIST sales/* view=watch family=systemSmall", screen) == ["OK count=0"])
        let lines = WidgetTests.reply(harness, "SUB sales/* view=watch family=systemSmall", screen)
        #expect(lines.count == 2 && lines[1].hasPrefix("LIVE"))
        for wrong in ["family=systemTiny", "mode=sepia", "ahead=65", "placement=fridge"] {
            #expect(
                WidgetTests.reply(harness, "GET sales/Hoegi view=phone \(wrong)", screen).first?.hasPrefix(
                    "ERR code=bad_attr")
                    == true, "\(wrong)")
            #expect(
                WidgetTests.reply(harness, "SUB sales/Hoegi view=phone \(wrong)", screen).first?.hasPrefix(
                    "ERR code=bad_attr")
                    == true, "\(wrong)")
        }
    }

    @Test(
        "W-V111: a client of today that follows everything gets not one row of a widget, and the same bytes as before")
    func clientsOfToday() throws {
        func lines(_ kinds: [String], _ extra: (HubHarness, HubHarness.Client) -> Void) throws -> [String] {
            let harness = try HubHarness(kinds: kinds)
            let (shop, screen) = (harness.connect(), harness.connect())
            WidgetTests.reply(harness, "EVT coffee-order/1 type=start", shop)
            extra(harness, shop)
            var lines = WidgetTests.reply(harness, "SUB * view=carplay", screen)
            WidgetTests.reply(harness, "EVT coffee-order/1 type=confirm", shop)
            extra(harness, shop)
            lines += WidgetTests.rows(harness, screen)
            lines +=
                WidgetTests.reply(harness, "LIST view=carplay", screen)
                + WidgetTests.reply(harness, "TRAIT locked=yes", screen)
            // Commit numbers differ with the number of commits, and nothing else.
            return lines.map { $0.replacing(#/(rev|cur)=[0-9a-f:]+/#) { "\($0.output.1)=" } }
        }
        let plain = try lines([HubHarness.coffee]) { _, _ in }
        let withWidgets = try lines([HubHarness.coffee, WidgetTests.sales, WidgetTests.hours, WidgetTests.fading]) {
            harness, shop in
            WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: harness.time), shop)
            WidgetTests.reply(harness, WidgetTests.timeline("sales/Other", [0, 60], from: harness.time), shop)
        }
        #expect(plain == withWidgets)
    }

    @Test(
        "W98: a client that knows widgets gets them with everything; a pattern that names the kind needs no capability")
    func capability() throws {
        let harness = try WidgetTests.harness()
        let (old, new) = (harness.connect(), harness.connect())
        let hello = WidgetTests.reply(harness, "HELLO caps=widgets,rate surface=phone", new)
        #expect(hello.first?.contains("caps=rate,widgets") == true)
        let all = WidgetTests.reply(harness, "SUB *", new)
        #expect(all.filter { $0.hasPrefix("SNAP") }.count == 3)
        #expect(WidgetTests.reply(harness, "SUB sales/* view=phone", old).filter { $0.hasPrefix("SNAP") }.count == 1)
        #expect(WidgetTests.reply(harness, "LIST view=phone", old) == ["OK count=0"])
        #expect(WidgetTests.reply(harness, "LIST", new).last == "OK count=3")
        // The cursor of everything with widgets is none of everything without.
        let cursor = try #require(HubHarness.attribute("cur", of: all.last ?? ""))
        #expect(WidgetTests.reply(harness, "SUB * view=phone from=\(cursor)", old)[1] == "RESET sub=2 why=selection")
    }

    @Test func `an ended widget goes from every view and is unknown, until a timeline brings it back`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start, screen) = (harness.connect(), harness.time, harness.connect())
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        WidgetTests.reply(harness, "SUB sales/* view=phone", screen)
        WidgetTests.reply(harness, "EVT sales/Hoegi type=end", shop)
        #expect(WidgetTests.rows(harness, screen).first?.hasSuffix("why=removed") == true)
        #expect(WidgetTests.reply(harness, "GET sales/Hoegi", shop).first?.contains("unknown_key") == true)
        #expect(WidgetTests.reply(harness, "HISTORY sales/Hoegi", shop).last == "OK count=3")
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start, first: 4), shop)
        #expect(try WidgetTests.entries(WidgetTests.rows(harness, screen).first, from: start) == ["0:4 at Hoegi"])
        WidgetTests.reply(harness, "EVT sales/Hoegi type=end", shop)
        harness.advance(by: .days(8))
        #expect(WidgetTests.reply(harness, "HISTORY sales/Hoegi", shop).first?.contains("unknown_key") == true)
    }

    @Test func `the history of a widget shows its timelines`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start) = (harness.connect(), harness.time)
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start, "src=pos eid=e1"), shop)
        let lines = WidgetTests.reply(harness, "HISTORY sales/Hoegi", shop)
        #expect(lines.count == 3)
        #expect(lines[0].contains("type=created") && lines[0].contains(#""state":"placeholder""#))
        #expect(lines[1].contains("type=timeline verdict=applied") && lines[1].contains(#""entries":["#))
        #expect(!lines[1].contains("ignored"))
    }

    @Test func `a timeline for an account is reported to nobody else`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start) = (harness.connect(), harness.time)
        let (alice, bob) = (harness.connect(as: "alice"), harness.connect(as: "bob"))
        for screen in [alice, bob] { WidgetTests.reply(harness, "SUB sales/* view=phone", screen) }
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Mine", [0], from: start, "for=alice"), shop)
        #expect(WidgetTests.rows(harness, alice).count == 1 && WidgetTests.rows(harness, bob) == [])
        #expect(WidgetTests.reply(harness, "GET sales/Mine", bob).first?.contains("unknown_key") == true)
        #expect(WidgetTests.reply(harness, "LIST sales/* view=phone", bob).count == 2)
        WidgetTests.reply(harness, "EVT sales/Mine type=end", shop)
        #expect(
            WidgetTests.rows(harness, alice).first?.hasPrefix("DEL") == true && WidgetTests.rows(harness, bob) == [])
    }
}
