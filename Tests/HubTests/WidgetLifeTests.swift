import TelltaleModel
import Testing

@testable import Hub

/// Rows of widgets as situations, resumes, kinds and controls change.
struct WidgetLifeTests {
    @Test func `a trait sends the rows that look different, and no others`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start, screen) = (harness.connect(), harness.time, harness.connect())
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        WidgetTests.reply(harness, "SUB sales/Hoegi view=phone", screen)
        let tinted = WidgetTests.reply(harness, "TRAIT tint=blue", screen)
        #expect(tinted.count == 2 && tinted[1].contains(#""mode":"accented""#))
        #expect(WidgetTests.reply(harness, "TRAIT desktop=behind", screen) == ["OK"])
        let locked = WidgetTests.reply(harness, "TRAIT locked=yes", screen)
        #expect(locked.count == 2 && locked[1].contains(#""redacted":["title"]"#))
        let wide = harness.connect()
        WidgetTests.reply(harness, "HELLO caps=widgets surface=phone", wide)
        WidgetTests.reply(harness, "SUB *", wide)
        let dark = WidgetTests.reply(harness, "TRAIT appearance=dark", wide)
        #expect(dark.filter { $0.hasPrefix("UPD") && $0.contains(#""appearance":"dark""#) }.count == 3)
        let competing = harness.connect(as: "alice")
        WidgetTests.reply(harness, "SUB sales/* view=phone", competing)
        #expect(WidgetTests.reply(harness, "TRAIT motion=reduced", competing).count == 2)
    }

    @Test func `a resume sends nothing that the client has, and a row where its entries may be used up`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start) = (harness.connect(), harness.time)
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0, 60], from: start), shop)
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Long", (0..<10).map { $0 * 60 }, from: start), shop)
        for account in ["", " for=alice"] {
            let cursor = try harness.cursor(of: "SUB sales/* view=phone\(account)", from: harness.connect())
            let back = harness.send("SUB sales/* view=phone\(account) from=\(cursor)", from: harness.connect())
            let rows = try back.filter { $0.hasPrefix("UPD") }.map { try ServerText($0).key }
            #expect(rows == ["sales/Long"], "\(account)")
            #expect(back.contains { $0.contains("why=resume") } && back.last?.hasPrefix("LIVE") == true)
        }
    }

    @Test func `a resume sends a row whose placeholder took the place of an entry`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start) = (harness.connect(), harness.time)
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [60], from: start), shop)
        let cursor = try harness.cursor(of: "SUB sales/Hoegi view=phone ahead=0", from: harness.connect())
        let screen = harness.connect()
        let back = harness.send("SUB sales/Hoegi view=phone ahead=0 from=\(cursor)", from: screen)
        #expect(back.contains { $0.hasPrefix("UPD") && $0.contains("why=resume") })
        harness.advance(by: .seconds(60))
        #expect(WidgetTests.rows(harness, screen).contains { $0.hasPrefix("UPD") })
    }

    @Test func `a resumed client is sent what changes later, and that a widget goes`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start) = (harness.connect(), harness.time)
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        for account in ["", " for=alice"] {
            let cursor = try harness.cursor(of: "SUB sales/* view=phone\(account)", from: harness.connect())
            let screen = harness.connect()
            WidgetTests.reply(harness, "SUB sales/* view=phone\(account) from=\(cursor)", screen)
            #expect(WidgetTests.reply(harness, "TRAIT tint=red", screen).count == 2)
            WidgetTests.reply(harness, "EVT sales/Hoegi type=end", shop)
            #expect(WidgetTests.rows(harness, screen).first?.hasPrefix("DEL") == true)
            WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        }
    }

    @Test func `a schedule is there from load, goes on by itself, and makes no record`() throws {
        let harness = try WidgetTests.harness()
        // 2025-11-21 10:00 in UTC.
        let (screen, start) = (harness.connect(), harness.time)
        WidgetTests.reply(harness, "SUB hours/main view=phone", screen)
        let row = WidgetTests.reply(harness, "GET hours/main view=phone", screen).first
        #expect(try WidgetTests.entries(row, from: start) == ["-36000:night", "7200:day", "50400:night"])
        #expect(try ServerText(try #require(row)).body?["live"] == true)
        let count = harness.records.count
        harness.advance(by: .hours(14))
        let next = WidgetTests.rows(harness, screen).filter { $0.hasPrefix("UPD") }
        #expect(try WidgetTests.entries(next.last, from: start) == ["50400:night", "93600:day", "136800:night"])
        #expect(harness.records.count == count)
    }

    @Test func `a new version of a kind brings a row, and a kind that goes takes its widgets with it`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start, screen) = (harness.connect(), harness.time, harness.connect())
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", [0], from: start), shop)
        WidgetTests.reply(harness, WidgetTests.timeline("fading/main", [0], from: start), shop)
        WidgetTests.reply(harness, "HELLO caps=widgets surface=phone", screen)
        WidgetTests.reply(harness, "SUB *", screen)
        let newer = WidgetTests.sales.replacing(#""version":1"#, with: #""version":2"#).replacing(" at ", with: " in ")
        try harness.hub.adopt(try [HubHarness.coffee, newer, WidgetTests.hours].map { try HubHarness.kind($0) })
        harness.turn()
        let lines = WidgetTests.rows(harness, screen)
        #expect(try WidgetTests.entries(lines.first { $0.contains("sales/Hoegi") }, from: start) == ["0:0 in Hoegi"])
        #expect(lines.contains { $0.hasPrefix("DEL") && $0.contains("fading/main") && $0.hasSuffix("why=removed") })
        let plain = newer.replacing(#""version":2"#, with: #""version":3"#).replacing(
            #""parameters":{"shop":{}},"recommended":[{"shop":"Hoegi"}],"#, with: "")
        try harness.hub.adopt(try [HubHarness.coffee, plain, WidgetTests.hours].map { try HubHarness.kind($0) })
        harness.turn()
        let after = WidgetTests.rows(harness, screen)
        #expect(after.contains { $0.hasPrefix("DEL") && $0.contains("sales/Hoegi") })
        #expect(after.contains { $0.hasPrefix("UPD") && $0.contains("sales/main") })
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `a batch that the disk refuses leaves no widget behind`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start, screen) = (harness.connect(), harness.time, harness.connect())
        WidgetTests.reply(harness, "SUB sales/* view=phone", screen)
        let hash = harness.hub.stateHash
        harness.isFull = true
        let answer = WidgetTests.reply(harness, WidgetTests.timeline("sales/New", [0], from: start, "for=alice"), shop)
        #expect(answer.first?.hasPrefix("ERR code=storage_full") == true)
        #expect(WidgetTests.rows(harness, screen) == [] && harness.hub.stateHash == hash)
        harness.isFull = false
        harness.advance(by: .seconds(2))
        WidgetTests.reply(harness, WidgetTests.timeline("sales/New", [0], from: start), shop)
        #expect(WidgetTests.rows(harness, screen).count == 1)
    }

    @Test func `the full row of a rev is the same whenever it is reported`() throws {
        let harness = try WidgetTests.harness()
        let (shop, start) = (harness.connect(), harness.time)
        WidgetTests.reply(harness, WidgetTests.timeline("fading/main", [0, 60], from: start), shop)
        let before = WidgetTests.reply(harness, "GET fading/main", shop)
        #expect(before.first?.contains(#""phase":"fresh""#) == true)
        harness.advance(by: .hours(1))
        #expect(WidgetTests.reply(harness, "GET fading/main", shop) == before)
    }

    @Test func `a widget shows a control, whose change brings the row again`() throws {
        let board = """
            {"kind":"board","type":"widget","version":1,"app":"a","families":["systemSmall"],
             "views":{"systemSmall":{"title":"{{content.n}}","buttons":["light/a"]}}}
            """
        let light = """
            {"kind":"light","type":"toggle","version":1,"app":"a","title":"Light","symbol":"bulb","instances":["a"]}
            """
        let harness = try HubHarness(kinds: [board, light])
        let (shop, screen, provider) = (harness.connect(), harness.connect(), harness.connect())
        WidgetTests.reply(harness, WidgetTests.timeline("board/main", [0], from: harness.time), shop)
        let rows = WidgetTests.reply(harness, "SUB board/main view=phone", screen)
        #expect(rows[1].contains(#""key":"light/a""#) && rows[1].contains(#""interactive":true"#))
        WidgetTests.reply(harness, "SERVE light", provider)
        WidgetTests.reply(harness, "REPORT light/a value=on", provider)
        let changed = WidgetTests.rows(harness, screen)
        #expect(changed.last?.contains(#""shown":true"#) == true)
        let cursor = try #require(HubHarness.attribute("cur", of: rows.last ?? ""))
        let back = harness.send("SUB board/main view=phone from=\(cursor)", from: harness.connect())
        #expect(back.contains { $0.hasPrefix("UPD") && $0.contains(#""shown":true"#) })
    }

    @Test func `subscriptions that are gone leave no moment behind for ever`() throws {
        let harness = try WidgetTests.harness()
        let shop = harness.connect()
        // Entries for a year.
        let days = (0..<12).map { Int64($0) * 30 * 86_400 }
        WidgetTests.reply(harness, WidgetTests.timeline("sales/Hoegi", days, from: harness.time), shop)
        for _ in 0..<3_000 {
            let screen = harness.connect()
            harness.post("SUB sales/Hoegi view=phone", from: screen)
            harness.turn()
            harness.disconnect(screen)
        }
        let count = harness.hub.subscriptions.changeTimelines { $0.count }
        #expect(count <= 1_024)
    }
}
