import TelltaleModel
import Testing

/// How widgets are looked at: places, families, people and clients of today.
struct WidgetViewTests {
    @Test("W-V87: the same configuration is one key, one rev and the same entries for everybody")
    func shared() throws {
        let house = try WidgetTests.house()
        let (shop, start) = (house.connect(), house.time)
        let (alice, bob) = (house.connect(as: "alice"), house.connect(as: "bob"))
        WidgetTests.reply(house, "SUB sales/Hoegi view=phone", alice)
        WidgetTests.reply(house, "SUB sales/Hoegi view=phone", bob)
        WidgetTests.reply(house, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        let rows = (WidgetTests.rows(house, alice), WidgetTests.rows(house, bob))
        #expect(rows.0.count == 1 && rows.1.count == 1)
        let (first, second) = (try ServerText(rows.0[0]), try ServerText(rows.1[0]))
        #expect(first.rev == second.rev && first.body == second.body)
    }

    @Test("W-V95: a key without content shows the placeholder; then its last view, for however long nothing comes")
    func silence() throws {
        let house = try WidgetTests.house()
        let (shop, start) = (house.connect(), house.time)
        let before = WidgetTests.reply(house, "GET sales/Hoegi view=phone", shop).first
        #expect(try WidgetTests.entries(before, from: start) == ["0:-"])
        WidgetTests.reply(house, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        house.advance(by: .days(9))
        let after = WidgetTests.reply(house, "GET sales/Hoegi view=phone", shop).first
        #expect(try WidgetTests.entries(after, from: start) == ["0:0 at Hoegi"])
    }

    @Test("W-V97: OPEN of a part answers its link, and of any other the url")
    func opening() throws {
        let house = try WidgetTests.house()
        let screen = house.connect()
        WidgetTests.reply(house, "HELLO surface=phone", screen)
        func url(_ request: String) throws -> String? {
            try ServerText(try #require(WidgetTests.reply(house, request, screen).first)).body?["url"]?.string
        }
        #expect(try url("OPEN sales/Hoegi part=title") == "https://example.com/n")
        #expect(try url("OPEN sales/Hoegi part=nothing") == "https://example.com/Hoegi")
        #expect(try url("OPEN sales/Hoegi") == "https://example.com/Hoegi")
    }

    @Test("W-V99: a family that a place does not have is not_offered, and no row of SUB or LIST")
    func notOffered() throws {
        let house = try WidgetTests.house()
        let screen = house.connect()
        #expect(
            WidgetTests.reply(house, "GET sales/Hoegi view=carplay family=systemMedium", screen).first?.hasPrefix(
                "ERR code=not_offered") == true)
        #expect(
            WidgetTests.reply(house, "GET sales/Hoegi view=phone placement=lockScreen family=systemSmall", screen)
                .first?
                .hasPrefix("ERR code=not_offered") == true)
        #expect(WidgetTests.reply(house, "LIST sales/* view=watch family=systemSmall", screen) == ["OK count=0"])
        let lines = WidgetTests.reply(house, "SUB sales/* view=watch family=systemSmall", screen)
        #expect(lines.count == 2 && lines[1].hasPrefix("LIVE"))
        for wrong in ["family=systemTiny", "mode=sepia", "ahead=65", "placement=fridge"] {
            #expect(
                WidgetTests.reply(house, "GET sales/Hoegi view=phone \(wrong)", screen).first?.hasPrefix(
                    "ERR code=bad_attr")
                    == true, "\(wrong)")
            #expect(
                WidgetTests.reply(house, "SUB sales/Hoegi view=phone \(wrong)", screen).first?.hasPrefix(
                    "ERR code=bad_attr")
                    == true, "\(wrong)")
        }
    }

    @Test(
        "W-V111: a client of today that follows everything gets not one row of a widget, and the same bytes as before")
    func clientsOfToday() throws {
        func lines(_ kinds: [String], _ extra: (HubHarness, HubHarness.Client) -> Void) throws -> [String] {
            let house = try HubHarness(kinds: kinds)
            let (shop, screen) = (house.connect(), house.connect())
            WidgetTests.reply(house, "EVT coffee-order/1 type=start", shop)
            extra(house, shop)
            var lines = WidgetTests.reply(house, "SUB * view=carplay", screen)
            WidgetTests.reply(house, "EVT coffee-order/1 type=confirm", shop)
            extra(house, shop)
            lines += WidgetTests.rows(house, screen)
            lines +=
                WidgetTests.reply(house, "LIST view=carplay", screen)
                + WidgetTests.reply(house, "TRAIT locked=yes", screen)
            // Commit numbers differ with the number of commits, and nothing else.
            return lines.map { $0.replacing(#/(rev|cur)=[0-9a-f:]+/#) { "\($0.output.1)=" } }
        }
        let plain = try lines([HubHarness.coffee]) { _, _ in }
        let withWidgets = try lines([HubHarness.coffee, WidgetTests.sales, WidgetTests.hours, WidgetTests.fading]) {
            house, shop in
            WidgetTests.reply(house, WidgetTests.timeline("sales/Hoegi", [0], from: house.time), shop)
            WidgetTests.reply(house, WidgetTests.timeline("sales/Other", [0, 60], from: house.time), shop)
        }
        #expect(plain == withWidgets)
    }

    @Test(
        "W98: a client that knows widgets gets them with everything; a pattern that names the kind needs no capability")
    func capability() throws {
        let house = try WidgetTests.house()
        let (old, new) = (house.connect(), house.connect())
        let hello = WidgetTests.reply(house, "HELLO caps=widgets,rate surface=phone", new)
        #expect(hello.first?.contains("caps=rate,widgets") == true)
        let all = WidgetTests.reply(house, "SUB *", new)
        #expect(all.filter { $0.hasPrefix("SNAP") }.count == 3)
        #expect(WidgetTests.reply(house, "SUB sales/* view=phone", old).filter { $0.hasPrefix("SNAP") }.count == 1)
        #expect(WidgetTests.reply(house, "LIST view=phone", old) == ["OK count=0"])
        #expect(WidgetTests.reply(house, "LIST", new).last == "OK count=3")
        // The cursor of everything with widgets is none of everything without.
        let cursor = try #require(HubHarness.attribute("cur", of: all.last ?? ""))
        #expect(WidgetTests.reply(house, "SUB * view=phone from=\(cursor)", old)[1] == "RESET sub=2 why=selection")
    }

    @Test func `an ended widget goes from every view and is unknown, until a timeline brings it back`() throws {
        let house = try WidgetTests.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        WidgetTests.reply(house, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        WidgetTests.reply(house, "SUB sales/* view=phone", screen)
        WidgetTests.reply(house, "EVT sales/Hoegi type=end", shop)
        #expect(WidgetTests.rows(house, screen).first?.hasSuffix("why=removed") == true)
        #expect(WidgetTests.reply(house, "GET sales/Hoegi", shop).first?.contains("unknown_key") == true)
        #expect(WidgetTests.reply(house, "HISTORY sales/Hoegi", shop).last == "OK count=3")
        WidgetTests.reply(house, WidgetTests.timeline("sales/Hoegi", [0], from: start, first: 4), shop)
        #expect(try WidgetTests.entries(WidgetTests.rows(house, screen).first, from: start) == ["0:4 at Hoegi"])
        WidgetTests.reply(house, "EVT sales/Hoegi type=end", shop)
        house.advance(by: .days(8))
        #expect(WidgetTests.reply(house, "HISTORY sales/Hoegi", shop).first?.contains("unknown_key") == true)
    }

    @Test func `the history of a widget shows its timelines`() throws {
        let house = try WidgetTests.house()
        let (shop, start) = (house.connect(), house.time)
        WidgetTests.reply(house, WidgetTests.timeline("sales/Hoegi", [0], from: start, "src=pos eid=e1"), shop)
        let lines = WidgetTests.reply(house, "HISTORY sales/Hoegi", shop)
        #expect(lines.count == 3)
        #expect(lines[0].contains("type=created") && lines[0].contains(#""state":"placeholder""#))
        #expect(lines[1].contains("type=timeline verdict=applied") && lines[1].contains(#""entries":["#))
        #expect(!lines[1].contains("ignored"))
    }

    @Test func `a timeline for an account is told to nobody else`() throws {
        let house = try WidgetTests.house()
        let (shop, start) = (house.connect(), house.time)
        let (alice, bob) = (house.connect(as: "alice"), house.connect(as: "bob"))
        for screen in [alice, bob] { WidgetTests.reply(house, "SUB sales/* view=phone", screen) }
        WidgetTests.reply(house, WidgetTests.timeline("sales/Mine", [0], from: start, "for=alice"), shop)
        #expect(WidgetTests.rows(house, alice).count == 1 && WidgetTests.rows(house, bob) == [])
        #expect(WidgetTests.reply(house, "GET sales/Mine", bob).first?.contains("unknown_key") == true)
        #expect(WidgetTests.reply(house, "LIST sales/* view=phone", bob).count == 2)
        WidgetTests.reply(house, "EVT sales/Mine type=end", shop)
        #expect(WidgetTests.rows(house, alice).first?.hasPrefix("DEL") == true && WidgetTests.rows(house, bob) == [])
    }
}
