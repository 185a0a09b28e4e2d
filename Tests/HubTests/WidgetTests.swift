import Hub
import TelltaleModel
import Testing

/// Widgets whose timelines are posted, and those by schedule, over the line. Vectors W-V are those of
/// Protocols/Widgets/rules.md.
struct WidgetTests {
    static let sales = """
        {"kind":"sales","type":"widget","version":1,"app":"com.example.coffee","title":"Sales",
         "families":["systemSmall","accessoryRectangular"],"parameters":{"shop":{}},"recommended":[{"shop":"Hoegi"}],
         "views":{"systemSmall":{"title":"{{content.n}} at {{config.shop}}","private":["title"],
                    "links":{"title":"https://example.com/n"}},
                  "accessoryRectangular":{"title":"{{content.n}}"}},
         "url":"https://example.com/{{id}}"}
        """
    static let hours = """
        {"kind":"hours","type":"widget","version":1,"app":"com.example.coffee","title":"Hours","families":["systemSmall"],
         "source":{"schedule":[{"at":"00:00","set":{"is":"night"}},{"at":"12:00","set":{"is":"day"}}]},
         "views":{"systemSmall":{"title":"{{content.is}}"}}}
        """
    static let fading = """
        {"kind":"fading","type":"widget","version":1,"app":"com.example.coffee","title":"Fading",
         "families":["systemSmall"],"stale":"10m","views":{"systemSmall":{"title":"{{content.n}}"}}}
        """

    /// Without the signs of life.
    static func rows(_ house: HubHarness, _ client: HubHarness.Client) -> [String] {
        house.lines(of: client).filter { !$0.hasPrefix("MARK") }
    }

    @discardableResult
    static func reply(_ house: HubHarness, _ line: String, _ client: HubHarness.Client) -> [String] {
        house.send(line, from: client).filter { !$0.hasPrefix("MARK") }
    }

    static func house() throws -> HubHarness { try HubHarness(kinds: [HubHarness.coffee, sales, hours, fading]) }

    /// `EVT … type=timeline` with entries at these seconds from `start`, whose content counts them.
    static func timeline(
        _ key: String, _ seconds: [Int64], from start: Timestamp, _ attributes: String = "", first: Int = 0
    ) -> String {
        let entries = seconds.enumerated().map { index, second in
            #"{"date":\#((start + .seconds(second)).milliseconds / 1_000),"content-state":{"n":\#(first + index)}}"#
        }
        return
            #"EVT \#(key) type=timeline \#(attributes.isEmpty ? "" : attributes + " "){"entries":[\#(entries.joined(separator: ","))]}"#
    }

    /// The entries of the row in a line: seconds from `start`, and the title, with `!` behind what is stale.
    static func entries(_ line: String?, from start: Timestamp) throws -> [String] {
        let text = try ServerText(try #require(line))
        return (text.body?["entries"]?.array ?? []).map { entry in
            let date = Timestamp(milliseconds: entry["date"]?.integer ?? 0)
            let title = entry["placeholder"] == true ? "-" : entry["view"]?["title"]?.string ?? "?"
            return "\((date - start).count / 1_000):\(title)\(entry["stale"] == true ? "!" : "")"
        }
    }

    @Test("W-V1: posted at +0, +60, +120; at +90 the row begins with +60, and one is ahead")
    func newest() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        let answer = Self.reply(house, Self.timeline("fading/main", [0, 60, 120], from: start), shop)
        #expect(answer == ["OK verdict=applied rev=\(house.records.count) state=fresh"])
        house.advance(by: .seconds(90))
        let row = Self.reply(house, "GET fading/main view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["60:1", "120:2", "600:2!"])
    }

    @Test("W-V2: with ahead=0 a row comes at each date; with ahead=4 none does, and a new GET begins with the date")
    func ahead() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        let (near, far) = (house.connect(), house.connect())
        Self.reply(house, Self.timeline("sales/Hoegi", [0, 60, 120], from: start), shop)
        Self.reply(house, "SUB sales/Hoegi view=phone ahead=0", near)
        Self.reply(house, "SUB sales/Hoegi view=phone", far)
        house.advance(by: .seconds(60))
        #expect(try Self.entries(Self.rows(house, near).first, from: start) == ["60:1 at Hoegi"])
        house.advance(by: .seconds(60))
        let rows = Self.rows(house, near)
        #expect(rows.count == 1)
        #expect(try Self.entries(rows.first, from: start) == ["120:2 at Hoegi"])
        #expect(Self.rows(house, far) == [])
        let row = Self.reply(house, "GET sales/Hoegi view=phone", far).first
        #expect(try Self.entries(row, from: start) == ["120:2 at Hoegi"])
        house.advance(by: .hours(9))
        #expect(Self.rows(house, near) == [])
    }

    @Test("W-V3: the journal gives the same rows, revs and states again, with and without a snapshot")
    func replay() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        Self.reply(house, Self.timeline("sales/Hoegi", [0, 60], from: start, "eid=e1 src=s"), shop)
        Self.reply(house, Self.timeline("sales/Central", [0], from: start, "for=alice"), shop)
        Self.reply(house, Self.timeline("fading/main", [60], from: start), shop)
        Self.reply(house, "EVT sales/Central type=end", shop)
        let kinds = [HubHarness.coffee, Self.sales, Self.hours, Self.fading]
        func rows() -> [String] {
            let reader = house.connect()
            Self.reply(house, "HELLO caps=widgets", reader)
            return Self.reply(house, "LIST view=phone", reader) + Self.reply(house, "LIST", reader)
        }
        let (before, hash) = (rows(), house.hub.stateHash)
        #expect(before.count == 2 * 3 + 2)
        let copy = try house.recovered()
        #expect(copy.stateHash == hash)
        for fromSnapshot in [true, false] {
            try house.restart(kinds: kinds, fromSnapshot: fromSnapshot)
            #expect(rows() == before)
        }
        let again = house.send(
            Self.timeline("sales/Hoegi", [0, 60], from: start, "eid=e1 src=s"), from: house.connect())
        #expect(again.first?.contains("verdict=duplicate") == true)
    }

    @Test("W-V4: of ten entries a minute apart five are sent, and at the fifth's date five more; none before")
    func usedUp() throws {
        let house = try Self.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        Self.reply(house, Self.timeline("sales/Hoegi", (0..<10).map { $0 * 60 }, from: start), shop)
        let rows = Self.reply(house, "SUB sales/Hoegi view=phone", screen)
        #expect(try Self.entries(rows.dropFirst().first, from: start).count == 5)
        for _ in 0..<3 {
            house.advance(by: .seconds(60))
            #expect(Self.rows(house, screen) == [])
        }
        #expect(house.hub.nextDeadline == start + .seconds(240))
        house.advance(by: .seconds(60))
        let more = Self.rows(house, screen).filter { $0.hasPrefix("UPD") }
        #expect(more.count == 1)
        #expect(
            try Self.entries(more.first, from: start) == (4..<9).map { "\($0 * 60):\($0) at Hoegi" })
        #expect(try ServerText(try #require(more.first)).rev == ServerText(rows[1]).rev)
        house.advance(by: .seconds(240))
        #expect(try Self.entries(Self.rows(house, screen).last, from: start).last == "540:9 at Hoegi")
        // Nothing more is known, and nothing more is looked at.
        #expect(house.hub.nextDeadline == nil)
    }

    @Test(
        "W-V5: entries of one date are bad_json with their path, and W-V6: 65 entries are too_large; what was shown stays"
    )
    func refusals() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        let count = house.records.count
        let same = Self.reply(house, Self.timeline("sales/Hoegi", [60, 60], from: start), shop)
        #expect(same.first?.hasPrefix(#"ERR code=bad_json retry=no {"#) == true)
        #expect(same.first?.contains(#""path":"entries[1].date""#) == true)
        let many = Self.reply(house, Self.timeline("sales/Hoegi", (0..<65).map { $0 }, from: start), shop)
        #expect(many.first?.hasPrefix("ERR code=too_large") == true)
        #expect(house.records.count == count)
        let row = Self.reply(house, "GET sales/Hoegi view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["0:0 at Hoegi"])
    }

    @Test("W-V7: nothing yet, and a first date ahead: the placeholder and then the entry, in one row")
    func placeholderFirst() throws {
        let house = try Self.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        Self.reply(house, "SUB sales/Hoegi view=phone", screen)
        Self.reply(house, Self.timeline("sales/Hoegi", [60], from: start), shop)
        #expect(try Self.entries(Self.rows(house, screen).first, from: start) == ["0:-", "60:0 at Hoegi"])
        house.advance(by: .seconds(60))
        #expect(Self.rows(house, screen) == [])
    }

    @Test("W-V8: what is shown stays until the first date of a timeline that lies ahead")
    func stays() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        Self.reply(house, Self.timeline("sales/Hoegi", [60], from: start, first: 7), shop)
        let row = Self.reply(house, "GET sales/Hoegi view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["0:0 at Hoegi", "60:7 at Hoegi"])
    }

    @Test("W-V9: an older at= is stale, and no row comes")
    func older() throws {
        let house = try Self.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        house.send(
            Self.timeline("sales/Hoegi", [0], from: start, "at=\((start + .seconds(10)).milliseconds)"), from: shop)
        Self.reply(house, "SUB sales/Hoegi view=phone", screen)
        let answer = house.send(
            Self.timeline("sales/Hoegi", [0], from: start, "at=\((start + .seconds(5)).milliseconds)", first: 3),
            from: shop)
        #expect(answer.first?.contains("verdict=stale") == true)
        #expect(Self.rows(house, screen) == [])
    }

    @Test("W-V10: the same eid again is a duplicate; with other entries it is a mismatch")
    func once() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        let line = Self.timeline("sales/Hoegi", [0], from: start, "eid=e1")
        let first = Self.reply(house, line, shop).first
        let again = Self.reply(house, line, shop).first
        #expect(again == first?.replacing("applied", with: "duplicate"))
        let other = Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start, "eid=e1", first: 5), shop).first
        #expect(other?.hasPrefix("ERR code=dup_mismatch") == true)
    }

    @Test("W-V11: what shows the same from now on is a noop, and no row comes")
    func same() throws {
        let house = try Self.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        Self.reply(house, Self.timeline("sales/Hoegi", [0, 60, 120], from: start), shop)
        Self.reply(house, "SUB sales/Hoegi view=phone", screen)
        house.advance(by: .seconds(70))
        let answer = Self.reply(house, Self.timeline("sales/Hoegi", [60, 120], from: start, first: 1), shop)
        #expect(answer.first?.contains("verdict=noop") == true)
        #expect(Self.rows(house, screen) == [])
    }

    @Test("W-V12: other types, SET, PRESS, SEEN and DISMISS are bad_action; an alert in a timeline is ignored")
    func actions() throws {
        let house = try Self.house()
        let shop = house.connect(as: "alice")
        Self.reply(house, "SUB sales/* view=phone", shop)
        let requests = [
            "EVT sales/Hoegi type=ready", "SET sales/Hoegi value=on", "PRESS sales/Hoegi", "DISMISS sales/Hoegi",
            "SEEN sales/Hoegi rev=1", "SERVE sales", "EVT sales/Hoegi type=start",
            #"EVT hours/main type=timeline {"entries":[{"date":1,"content-state":{}}]}"#, "EVT hours/main type=end",
        ]
        for request in requests {
            #expect(Self.reply(house, request, shop).first?.hasPrefix("ERR code=bad_action") == true, "\(request)")
        }
        let lines = house.send(
            #"EVT sales/Hoegi type=timeline colour=red {"alert":{"title":"x"},"entries":[{"date":1,"content-state":{"n":1}}]}"#,
            from: shop)
        #expect(lines.first?.contains("ignored=colour,alert") == true, "\(lines)")
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("UPD") })
        #expect(Self.reply(house, "EVT sales/Hoegi type=reload", shop).first?.contains("verdict=noop") == true)
        #expect(Self.reply(house, "EVT sales/h-0123456789abcdef type=end", shop).first?.contains("unknown_key") == true)
    }

    @Test("W-V13: content that is to count as out of date after 10 min has an entry that says so")
    func staleness() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        Self.reply(house, Self.timeline("fading/main", [0], from: start), shop)
        let row = Self.reply(house, "GET fading/main view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["0:0", "600:0!"])
        let renewed = Self.reply(house, Self.timeline("fading/main", [0], from: start), shop).first
        #expect(renewed?.contains("verdict=noop") == true)
        house.advance(by: .seconds(60))
        #expect(
            Self.reply(house, Self.timeline("fading/main", [0], from: start), shop).first?.contains("applied") == true)
        let later = Self.reply(house, "GET fading/main view=phone", shop).first
        #expect(try Self.entries(later, from: start) == ["0:0", "660:0!"])
    }

    @Test("W-V87: the same configuration is one key, one rev and the same entries for everybody")
    func shared() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        let (alice, bob) = (house.connect(as: "alice"), house.connect(as: "bob"))
        Self.reply(house, "SUB sales/Hoegi view=phone", alice)
        Self.reply(house, "SUB sales/Hoegi view=phone", bob)
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        let rows = (Self.rows(house, alice), Self.rows(house, bob))
        #expect(rows.0.count == 1 && rows.1.count == 1)
        let (first, second) = (try ServerText(rows.0[0]), try ServerText(rows.1[0]))
        #expect(first.rev == second.rev && first.body == second.body)
    }

    @Test("W-V95: a key without content shows the placeholder; then its last view, for however long nothing comes")
    func silence() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        let before = Self.reply(house, "GET sales/Hoegi view=phone", shop).first
        #expect(try Self.entries(before, from: start) == ["0:-"])
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        house.advance(by: .days(9))
        let after = Self.reply(house, "GET sales/Hoegi view=phone", shop).first
        #expect(try Self.entries(after, from: start) == ["0:0 at Hoegi"])
    }

    @Test("W-V97: OPEN of a part answers its link, and of any other the url")
    func opening() throws {
        let house = try Self.house()
        let screen = house.connect()
        Self.reply(house, "HELLO surface=phone", screen)
        func url(_ request: String) throws -> String? {
            try ServerText(try #require(Self.reply(house, request, screen).first)).body?["url"]?.string
        }
        #expect(try url("OPEN sales/Hoegi part=title") == "https://example.com/n")
        #expect(try url("OPEN sales/Hoegi part=nothing") == "https://example.com/Hoegi")
        #expect(try url("OPEN sales/Hoegi") == "https://example.com/Hoegi")
    }

    @Test("W-V99: a family that a place does not have is not_offered, and no row of SUB or LIST")
    func notOffered() throws {
        let house = try Self.house()
        let screen = house.connect()
        #expect(
            Self.reply(house, "GET sales/Hoegi view=carplay family=systemMedium", screen).first?.hasPrefix(
                "ERR code=not_offered") == true)
        #expect(
            Self.reply(house, "GET sales/Hoegi view=phone placement=lockScreen family=systemSmall", screen).first?
                .hasPrefix("ERR code=not_offered") == true)
        #expect(Self.reply(house, "LIST sales/* view=watch family=systemSmall", screen) == ["OK count=0"])
        let lines = Self.reply(house, "SUB sales/* view=watch family=systemSmall", screen)
        #expect(lines.count == 2 && lines[1].hasPrefix("LIVE"))
        for wrong in ["family=systemTiny", "mode=sepia", "ahead=65", "placement=fridge"] {
            #expect(
                Self.reply(house, "GET sales/Hoegi view=phone \(wrong)", screen).first?.hasPrefix("ERR code=bad_attr")
                    == true, "\(wrong)")
            #expect(
                Self.reply(house, "SUB sales/Hoegi view=phone \(wrong)", screen).first?.hasPrefix("ERR code=bad_attr")
                    == true, "\(wrong)")
        }
    }

    @Test(
        "W-V111: a client of today that follows everything gets not one row of a widget, and the same bytes as before")
    func clientsOfToday() throws {
        func lines(_ kinds: [String], _ extra: (HubHarness, HubHarness.Client) -> Void) throws -> [String] {
            let house = try HubHarness(kinds: kinds)
            let (shop, screen) = (house.connect(), house.connect())
            Self.reply(house, "EVT coffee-order/1 type=start", shop)
            extra(house, shop)
            var lines = Self.reply(house, "SUB * view=carplay", screen)
            Self.reply(house, "EVT coffee-order/1 type=confirm", shop)
            extra(house, shop)
            lines += Self.rows(house, screen)
            lines += Self.reply(house, "LIST view=carplay", screen) + Self.reply(house, "TRAIT locked=yes", screen)
            // Commit numbers differ with the number of commits, and nothing else.
            return lines.map { $0.replacing(#/(rev|cur)=[0-9a-f:]+/#) { "\($0.output.1)=" } }
        }
        let plain = try lines([HubHarness.coffee]) { _, _ in }
        let withWidgets = try lines([HubHarness.coffee, Self.sales, Self.hours, Self.fading]) { house, shop in
            Self.reply(house, Self.timeline("sales/Hoegi", [0], from: house.time), shop)
            Self.reply(house, Self.timeline("sales/Other", [0, 60], from: house.time), shop)
        }
        #expect(plain == withWidgets)
    }

    @Test(
        "W98: a client that knows widgets gets them with everything; a pattern that names the kind needs no capability")
    func capability() throws {
        let house = try Self.house()
        let (old, new) = (house.connect(), house.connect())
        let hello = Self.reply(house, "HELLO caps=widgets,rate surface=phone", new)
        #expect(hello.first?.contains("caps=rate,widgets") == true)
        let all = Self.reply(house, "SUB *", new)
        #expect(all.filter { $0.hasPrefix("SNAP") }.count == 3)
        #expect(Self.reply(house, "SUB sales/* view=phone", old).filter { $0.hasPrefix("SNAP") }.count == 1)
        #expect(Self.reply(house, "LIST view=phone", old) == ["OK count=0"])
        #expect(Self.reply(house, "LIST", new).last == "OK count=3")
        // The cursor of everything with widgets is none of everything without.
        let cursor = try #require(HubHarness.attribute("cur", of: all.last ?? ""))
        #expect(Self.reply(house, "SUB * view=phone from=\(cursor)", old)[1] == "RESET sub=2 why=selection")
    }

    @Test func `an ended widget goes from every view and is unknown, until a timeline brings it back`() throws {
        let house = try Self.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        Self.reply(house, "SUB sales/* view=phone", screen)
        Self.reply(house, "EVT sales/Hoegi type=end", shop)
        #expect(Self.rows(house, screen).first?.hasSuffix("why=removed") == true)
        #expect(Self.reply(house, "GET sales/Hoegi", shop).first?.contains("unknown_key") == true)
        #expect(Self.reply(house, "HISTORY sales/Hoegi", shop).last == "OK count=3")
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start, first: 4), shop)
        #expect(try Self.entries(Self.rows(house, screen).first, from: start) == ["0:4 at Hoegi"])
        Self.reply(house, "EVT sales/Hoegi type=end", shop)
        house.advance(by: .days(8))
        #expect(Self.reply(house, "HISTORY sales/Hoegi", shop).first?.contains("unknown_key") == true)
    }

    @Test func `the history of a widget shows its timelines`() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start, "src=pos eid=e1"), shop)
        let lines = Self.reply(house, "HISTORY sales/Hoegi", shop)
        #expect(lines.count == 3)
        #expect(lines[0].contains("type=created") && lines[0].contains(#""state":"placeholder""#))
        #expect(lines[1].contains("type=timeline verdict=applied") && lines[1].contains(#""entries":["#))
        #expect(!lines[1].contains("ignored"))
    }

    @Test func `a timeline for an account is told to nobody else`() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        let (alice, bob) = (house.connect(as: "alice"), house.connect(as: "bob"))
        for screen in [alice, bob] { Self.reply(house, "SUB sales/* view=phone", screen) }
        Self.reply(house, Self.timeline("sales/Mine", [0], from: start, "for=alice"), shop)
        #expect(Self.rows(house, alice).count == 1 && Self.rows(house, bob) == [])
        #expect(Self.reply(house, "GET sales/Mine", bob).first?.contains("unknown_key") == true)
        #expect(Self.reply(house, "LIST sales/* view=phone", bob).count == 2)
        Self.reply(house, "EVT sales/Mine type=end", shop)
        #expect(Self.rows(house, alice).first?.hasPrefix("DEL") == true && Self.rows(house, bob) == [])
    }

    @Test func `a trait sends the rows that look different, and no others`() throws {
        let house = try Self.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        Self.reply(house, "SUB sales/Hoegi view=phone", screen)
        let tinted = Self.reply(house, "TRAIT tint=blue", screen)
        #expect(tinted.count == 2 && tinted[1].contains(#""mode":"accented""#))
        #expect(Self.reply(house, "TRAIT desktop=behind", screen) == ["OK"])
        let locked = Self.reply(house, "TRAIT locked=yes", screen)
        #expect(locked.count == 2 && locked[1].contains(#""redacted":["title"]"#))
        let wide = house.connect()
        Self.reply(house, "HELLO caps=widgets surface=phone", wide)
        Self.reply(house, "SUB *", wide)
        let dark = Self.reply(house, "TRAIT appearance=dark", wide)
        #expect(dark.filter { $0.hasPrefix("UPD") && $0.contains(#""appearance":"dark""#) }.count == 3)
        let competing = house.connect(as: "alice")
        Self.reply(house, "SUB sales/* view=phone", competing)
        #expect(Self.reply(house, "TRAIT motion=reduced", competing).count == 2)
    }

    @Test func `a resume sends nothing that the client has, and a row where its entries may be used up`() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        Self.reply(house, Self.timeline("sales/Hoegi", [0, 60], from: start), shop)
        Self.reply(house, Self.timeline("sales/Long", (0..<10).map { $0 * 60 }, from: start), shop)
        for account in ["", " for=alice"] {
            let cursor = try house.cursor(of: "SUB sales/* view=phone\(account)", from: house.connect())
            let back = house.send("SUB sales/* view=phone\(account) from=\(cursor)", from: house.connect())
            let rows = try back.filter { $0.hasPrefix("UPD") }.map { try ServerText($0).key }
            #expect(rows == ["sales/Long"], "\(account)")
            #expect(back.contains { $0.contains("why=resume") } && back.last?.hasPrefix("LIVE") == true)
        }
    }

    @Test func `a resumed client is told what changes later, and that a widget goes`() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        for account in ["", " for=alice"] {
            let cursor = try house.cursor(of: "SUB sales/* view=phone\(account)", from: house.connect())
            let screen = house.connect()
            Self.reply(house, "SUB sales/* view=phone\(account) from=\(cursor)", screen)
            #expect(Self.reply(house, "TRAIT tint=red", screen).count == 2)
            Self.reply(house, "EVT sales/Hoegi type=end", shop)
            #expect(Self.rows(house, screen).first?.hasPrefix("DEL") == true)
            Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        }
    }

    @Test func `a schedule is there from load, goes on by itself, and makes no record`() throws {
        let house = try Self.house()
        // 2025-11-21 10:00 in UTC.
        let (screen, start) = (house.connect(), house.time)
        Self.reply(house, "SUB hours/main view=phone", screen)
        let row = Self.reply(house, "GET hours/main view=phone", screen).first
        #expect(try Self.entries(row, from: start) == ["-36000:night", "7200:day", "50400:night"])
        #expect(try ServerText(try #require(row)).body?["live"] == true)
        let count = house.records.count
        house.advance(by: .hours(14))
        let next = Self.rows(house, screen).filter { $0.hasPrefix("UPD") }
        #expect(try Self.entries(next.last, from: start) == ["50400:night", "93600:day", "136800:night"])
        #expect(house.records.count == count)
    }

    @Test func `a new version of a kind brings a row, and a kind that goes takes its widgets with it`() throws {
        let house = try Self.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        Self.reply(house, Self.timeline("sales/Hoegi", [0], from: start), shop)
        Self.reply(house, Self.timeline("fading/main", [0], from: start), shop)
        Self.reply(house, "HELLO caps=widgets surface=phone", screen)
        Self.reply(house, "SUB *", screen)
        let newer = Self.sales.replacing(#""version":1"#, with: #""version":2"#).replacing(" at ", with: " in ")
        try house.hub.adopt(try [HubHarness.coffee, newer, Self.hours].map { try HubHarness.kind($0) })
        house.turn()
        let lines = Self.rows(house, screen)
        #expect(try Self.entries(lines.first { $0.contains("sales/Hoegi") }, from: start) == ["0:0 in Hoegi"])
        #expect(lines.contains { $0.hasPrefix("DEL") && $0.contains("fading/main") && $0.hasSuffix("why=removed") })
        let plain = newer.replacing(#""version":2"#, with: #""version":3"#).replacing(
            #""parameters":{"shop":{}},"recommended":[{"shop":"Hoegi"}],"#, with: "")
        try house.hub.adopt(try [HubHarness.coffee, plain, Self.hours].map { try HubHarness.kind($0) })
        house.turn()
        let after = Self.rows(house, screen)
        #expect(after.contains { $0.hasPrefix("DEL") && $0.contains("sales/Hoegi") })
        #expect(after.contains { $0.hasPrefix("UPD") && $0.contains("sales/main") })
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `a batch that the disk refuses leaves no widget behind`() throws {
        let house = try Self.house()
        let (shop, start, screen) = (house.connect(), house.time, house.connect())
        Self.reply(house, "SUB sales/* view=phone", screen)
        let hash = house.hub.stateHash
        house.isFull = true
        let answer = Self.reply(house, Self.timeline("sales/New", [0], from: start, "for=alice"), shop)
        #expect(answer.first?.hasPrefix("ERR code=storage_full") == true)
        #expect(Self.rows(house, screen) == [] && house.hub.stateHash == hash)
        house.isFull = false
        house.advance(by: .seconds(2))
        Self.reply(house, Self.timeline("sales/New", [0], from: start), shop)
        #expect(Self.rows(house, screen).count == 1)
    }

    @Test func `the full row of a rev is the same whenever it is told`() throws {
        let house = try Self.house()
        let (shop, start) = (house.connect(), house.time)
        Self.reply(house, Self.timeline("fading/main", [0, 60], from: start), shop)
        let before = Self.reply(house, "GET fading/main", shop)
        #expect(before.first?.contains(#""phase":"fresh""#) == true)
        house.advance(by: .hours(1))
        #expect(Self.reply(house, "GET fading/main", shop) == before)
    }

    @Test func `a widget shows a control, whose change brings the row again`() throws {
        let board = """
            {"kind":"board","type":"widget","version":1,"app":"a","families":["systemSmall"],
             "views":{"systemSmall":{"title":"{{content.n}}","buttons":["light/a"]}}}
            """
        let light = """
            {"kind":"light","type":"toggle","version":1,"app":"a","title":"Light","symbol":"bulb","instances":["a"]}
            """
        let house = try HubHarness(kinds: [board, light])
        let (shop, screen, provider) = (house.connect(), house.connect(), house.connect())
        Self.reply(house, Self.timeline("board/main", [0], from: house.time), shop)
        let rows = Self.reply(house, "SUB board/main view=phone", screen)
        #expect(rows[1].contains(#""key":"light/a""#) && rows[1].contains(#""interactive":true"#))
        Self.reply(house, "SERVE light", provider)
        Self.reply(house, "REPORT light/a value=on", provider)
        let changed = Self.rows(house, screen)
        #expect(changed.last?.contains(#""shown":true"#) == true)
        let cursor = try #require(HubHarness.attribute("cur", of: rows.last ?? ""))
        let back = house.send("SUB board/main view=phone from=\(cursor)", from: house.connect())
        #expect(back.contains { $0.hasPrefix("UPD") && $0.contains(#""shown":true"#) })
    }
}
