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
    static func rows(_ harness: HubHarness, _ client: HubHarness.Client) -> [String] {
        harness.lines(of: client).filter { !$0.hasPrefix("MARK") }
    }

    @discardableResult
    static func reply(_ harness: HubHarness, _ line: String, _ client: HubHarness.Client) -> [String] {
        harness.send(line, from: client).filter { !$0.hasPrefix("MARK") }
    }

    static func harness() throws -> HubHarness { try HubHarness(kinds: [HubHarness.coffee, sales, hours, fading]) }

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
        let harness = try Self.harness()
        let (shop, start) = (harness.connect(), harness.time)
        let answer = Self.reply(harness, Self.timeline("fading/main", [0, 60, 120], from: start), shop)
        #expect(answer == ["OK verdict=applied rev=\(harness.records.count) state=fresh"])
        harness.advance(by: .seconds(90))
        let row = Self.reply(harness, "GET fading/main view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["60:1", "120:2", "600:2!"])
    }

    @Test("W-V2: with ahead=0 a row comes at each date; with ahead=4 none does, and a new GET begins with the date")
    func ahead() throws {
        let harness = try Self.harness()
        let (shop, start) = (harness.connect(), harness.time)
        let (near, far) = (harness.connect(), harness.connect())
        Self.reply(harness, Self.timeline("sales/Hoegi", [0, 60, 120], from: start), shop)
        Self.reply(harness, "SUB sales/Hoegi view=phone ahead=0", near)
        Self.reply(harness, "SUB sales/Hoegi view=phone", far)
        harness.advance(by: .seconds(60))
        #expect(try Self.entries(Self.rows(harness, near).first, from: start) == ["60:1 at Hoegi"])
        harness.advance(by: .seconds(60))
        let rows = Self.rows(harness, near)
        #expect(rows.count == 1)
        #expect(try Self.entries(rows.first, from: start) == ["120:2 at Hoegi"])
        #expect(Self.rows(harness, far) == [])
        let row = Self.reply(harness, "GET sales/Hoegi view=phone", far).first
        #expect(try Self.entries(row, from: start) == ["120:2 at Hoegi"])
        harness.advance(by: .hours(9))
        #expect(Self.rows(harness, near) == [])
    }

    /// A schedule like that of the shipped shop hours: nothing from Saturday 15:00 to Monday 07:00.
    static let weekend = """
        {"kind":"shop","type":"widget","version":1,"app":"com.example.coffee","title":"Hours","families":["systemSmall"],
         "source":{"schedule":[
           {"at":"07:00","days":["mon","tue","wed","thu","fri"],"set":{"is":"open"}},
           {"at":"19:00","days":["mon","tue","wed","thu","fri"],"set":{"is":"closed"}},
           {"at":"09:00","days":["sat"],"set":{"is":"open"}},{"at":"15:00","days":["sat"],"set":{"is":"closed"}}]},
         "views":{"systemSmall":{"title":"{{content.is}}"}}}
        """

    @Test(
        "Over a gap of days a follower is sent a row when the next slot becomes known, where it wants one, and at its date",
        arguments: [
            ("SUB shop/* view=phone", ["15h -1:closed 39:open"]), ("SUB shop/* view=phone ahead=0", []),
            ("SUB shop/* view=phone ahead=1", ["15h -1:closed 39:open"]),
            ("SUB @a/* view=phone", ["15h -1:closed 39:open"]),
            ("SUB @a/* view=standby ahead=0", []), ("SUB @a/* view=carplay", ["15h -1:closed 39:open"]),
        ], [false, true])
    func gap(of subscription: (request: String, known: [String]), hasUnit: Bool) throws {
        let harness = try HubHarness(kinds: [Self.weekend])
        // Saturday 2026-11-28 16:00.
        harness.time = Timestamp(milliseconds: 1_795_881_600_000)
        harness.turn()
        let start = harness.time
        let screen = harness.connect()
        Self.reply(harness, "HELLO account=alice caps=widgets" + (hasUnit ? " unit=u1" : ""), screen)
        #expect(Self.reply(harness, "TILE @a/t1 do=add widget=shop/main", screen).first?.hasPrefix("OK") == true)
        let snapshot = Self.reply(harness, subscription.request, screen).filter { $0.hasPrefix("SNAP") }
        #expect(try snapshot.map { try Self.entries($0, from: start).count } == [1])
        var rows: [String] = []
        for hour in 1...38 as ClosedRange<Int64> {
            harness.advance(by: .hours(1))
            // Nothing is due within a moment of it either.
            if let next = harness.hub.nextDeadline { #expect(next - harness.time > .seconds(1), "hour \(hour)") }
            rows += try Self.rows(harness, screen).map { line in
                let entries = try Self.entries(line, from: start).map { entry -> String in
                    let parts = entry.split(separator: ":")
                    return "\((Int64(parts[0]) ?? 0) / 3_600):\(parts[1])"
                }
                return "\(hour)h " + entries.joined(separator: " ")
            }
        }
        #expect(rows == subscription.known)
        harness.advance(by: .hours(1))
        let opening = Self.rows(harness, screen)
        #expect(opening.count == 1)
        #expect(try Self.entries(opening.first, from: start).first == "\(39 * 3_600):open")
    }

    @Test("A widget turns beside another one that has the same entry now, and nothing behind it")
    func sameEntryElsewhere() throws {
        let harness = try Self.harness()
        let (shop, screen, start) = (harness.connect(), harness.connect(), harness.time)
        Self.reply(harness, Self.timeline("sales/Hoegi", [0], from: start), shop)
        Self.reply(harness, Self.timeline("sales/Central", [0, 60], from: start), shop)
        Self.reply(harness, "SUB sales/* view=phone ahead=0", screen)
        harness.advance(by: .seconds(60))
        let rows = Self.rows(harness, screen)
        #expect(rows.count == 1)
        #expect(try Self.entries(rows.first, from: start) == ["60:1 at Central"])
    }

    @Test("A timeline that is too far ahead makes no widget, and what it has is not told as unknown")
    func farAhead() throws {
        let harness = try Self.harness()
        let (shop, start) = (harness.connect(), harness.time)
        let late = (start + .hours(9)).milliseconds
        let lines = Self.reply(harness, Self.timeline("sales/Late", [0], from: start, "at=\(late)"), shop)
        #expect(lines.first?.hasPrefix("OK verdict=ignored") == true, "\(lines)")
        #expect(lines.first?.contains("ignored=") == false, "\(lines)")
        #expect(Self.reply(harness, "GET sales/Late", shop).first?.contains("unknown_key") == true)
    }

    @Test("W-V3: the journal gives the same rows, revs and states again, with and without a snapshot")
    func replay() throws {
        let harness = try Self.harness()
        let (shop, start) = (harness.connect(), harness.time)
        Self.reply(harness, Self.timeline("sales/Hoegi", [0, 60], from: start, "eid=e1 src=s"), shop)
        Self.reply(harness, Self.timeline("sales/Central", [0], from: start, "for=alice"), shop)
        Self.reply(harness, Self.timeline("fading/main", [60], from: start), shop)
        Self.reply(harness, "EVT sales/Central type=end", shop)
        let kinds = [HubHarness.coffee, Self.sales, Self.hours, Self.fading]
        func rows() -> [String] {
            let reader = harness.connect()
            Self.reply(harness, "HELLO caps=widgets", reader)
            return Self.reply(harness, "LIST view=phone", reader) + Self.reply(harness, "LIST", reader)
        }
        let (before, hash) = (rows(), harness.hub.stateHash)
        #expect(before.count == 2 * 3 + 2)
        let copy = try harness.recovered()
        #expect(copy.stateHash == hash)
        for fromSnapshot in [true, false] {
            try harness.restart(kinds: kinds, fromSnapshot: fromSnapshot)
            #expect(rows() == before)
        }
        let again = harness.send(
            Self.timeline("sales/Hoegi", [0, 60], from: start, "eid=e1 src=s"), from: harness.connect())
        #expect(again.first?.contains("verdict=duplicate") == true)
    }

    @Test("W-V4: of ten entries a minute apart five are sent, and at the fifth's date five more; none before")
    func usedUp() throws {
        let harness = try Self.harness()
        let (shop, start, screen) = (harness.connect(), harness.time, harness.connect())
        Self.reply(harness, Self.timeline("sales/Hoegi", (0..<10).map { $0 * 60 }, from: start), shop)
        let rows = Self.reply(harness, "SUB sales/Hoegi view=phone", screen)
        #expect(try Self.entries(rows.dropFirst().first, from: start).count == 5)
        for _ in 0..<3 {
            harness.advance(by: .seconds(60))
            #expect(Self.rows(harness, screen) == [])
        }
        #expect(harness.hub.nextDeadline == start + .seconds(240))
        harness.advance(by: .seconds(60))
        let more = Self.rows(harness, screen).filter { $0.hasPrefix("UPD") }
        #expect(more.count == 1)
        #expect(
            try Self.entries(more.first, from: start) == (4..<9).map { "\($0 * 60):\($0) at Hoegi" })
        #expect(try ServerText(try #require(more.first)).rev == ServerText(rows[1]).rev)
        harness.advance(by: .seconds(240))
        #expect(try Self.entries(Self.rows(harness, screen).last, from: start).last == "540:9 at Hoegi")
        // Nothing more is known, and nothing more is looked at.
        #expect(harness.hub.nextDeadline == nil)
    }

    @Test(
        "W-V5: entries of one date are bad_json with their path, and W-V6: 65 entries are too_large; what was shown stays"
    )
    func refusals() throws {
        let harness = try Self.harness()
        let (shop, start) = (harness.connect(), harness.time)
        Self.reply(harness, Self.timeline("sales/Hoegi", [0], from: start), shop)
        let count = harness.records.count
        let same = Self.reply(harness, Self.timeline("sales/Hoegi", [60, 60], from: start), shop)
        #expect(same.first?.hasPrefix(#"ERR code=bad_json retry=no {"#) == true)
        #expect(same.first?.contains(#""path":"entries[1].date""#) == true)
        let many = Self.reply(harness, Self.timeline("sales/Hoegi", (0..<65).map { $0 }, from: start), shop)
        #expect(many.first?.hasPrefix("ERR code=too_large") == true)
        #expect(harness.records.count == count)
        let row = Self.reply(harness, "GET sales/Hoegi view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["0:0 at Hoegi"])
    }

    @Test("W-V7: nothing yet, and a first date ahead: the placeholder and then the entry, in one row")
    func placeholderFirst() throws {
        let harness = try Self.harness()
        let (shop, start, screen) = (harness.connect(), harness.time, harness.connect())
        Self.reply(harness, "SUB sales/Hoegi view=phone", screen)
        Self.reply(harness, Self.timeline("sales/Hoegi", [60], from: start), shop)
        #expect(try Self.entries(Self.rows(harness, screen).first, from: start) == ["0:-", "60:0 at Hoegi"])
        harness.advance(by: .seconds(60))
        #expect(Self.rows(harness, screen) == [])
    }

    @Test("W-V8: what is shown stays until the first date of a timeline that lies ahead")
    func stays() throws {
        let harness = try Self.harness()
        let (shop, start) = (harness.connect(), harness.time)
        Self.reply(harness, Self.timeline("sales/Hoegi", [0], from: start), shop)
        Self.reply(harness, Self.timeline("sales/Hoegi", [60], from: start, first: 7), shop)
        let row = Self.reply(harness, "GET sales/Hoegi view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["0:0 at Hoegi", "60:7 at Hoegi"])
    }

    @Test("W-V9: an older at= is stale, and no row comes")
    func older() throws {
        let harness = try Self.harness()
        let (shop, start, screen) = (harness.connect(), harness.time, harness.connect())
        harness.send(
            Self.timeline("sales/Hoegi", [0], from: start, "at=\((start + .seconds(10)).milliseconds)"), from: shop)
        Self.reply(harness, "SUB sales/Hoegi view=phone", screen)
        let answer = harness.send(
            Self.timeline("sales/Hoegi", [0], from: start, "at=\((start + .seconds(5)).milliseconds)", first: 3),
            from: shop)
        #expect(answer.first?.contains("verdict=stale") == true)
        #expect(Self.rows(harness, screen) == [])
    }

    @Test("W-V10: the same eid again is a duplicate; with other entries it is a mismatch")
    func once() throws {
        let harness = try Self.harness()
        let (shop, start) = (harness.connect(), harness.time)
        let line = Self.timeline("sales/Hoegi", [0], from: start, "eid=e1")
        let first = Self.reply(harness, line, shop).first
        let again = Self.reply(harness, line, shop).first
        #expect(again == first?.replacing("applied", with: "duplicate"))
        let other = Self.reply(harness, Self.timeline("sales/Hoegi", [0], from: start, "eid=e1", first: 5), shop).first
        #expect(other?.hasPrefix("ERR code=dup_mismatch") == true)
    }

    @Test("W-V11: what shows the same from now on is a noop, and no row comes")
    func same() throws {
        let harness = try Self.harness()
        let (shop, start, screen) = (harness.connect(), harness.time, harness.connect())
        Self.reply(harness, Self.timeline("sales/Hoegi", [0, 60, 120], from: start), shop)
        Self.reply(harness, "SUB sales/Hoegi view=phone", screen)
        harness.advance(by: .seconds(70))
        let answer = Self.reply(harness, Self.timeline("sales/Hoegi", [60, 120], from: start, first: 1), shop)
        #expect(answer.first?.contains("verdict=noop") == true)
        #expect(Self.rows(harness, screen) == [])
    }

    @Test("W-V12: other types, SET, PRESS, SEEN and DISMISS are bad_action; an alert in a timeline is ignored")
    func actions() throws {
        let harness = try Self.harness()
        let shop = harness.connect(as: "alice")
        Self.reply(harness, "SUB sales/* view=phone", shop)
        let requests = [
            "EVT sales/Hoegi type=ready", "SET sales/Hoegi value=on", "PRESS sales/Hoegi", "DISMISS sales/Hoegi",
            "SEEN sales/Hoegi rev=1", "SERVE sales", "EVT sales/Hoegi type=start",
            #"EVT hours/main type=timeline {"entries":[{"date":1,"content-state":{}}]}"#, "EVT hours/main type=end",
        ]
        for request in requests {
            #expect(Self.reply(harness, request, shop).first?.hasPrefix("ERR code=bad_action") == true, "\(request)")
        }
        let lines = harness.send(
            #"EVT sales/Hoegi type=timeline colour=red {"alert":{"title":"x"},"entries":[{"date":1,"content-state":{"n":1}}]}"#,
            from: shop)
        #expect(lines.first?.contains("ignored=colour,alert") == true, "\(lines)")
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("UPD") })
        #expect(Self.reply(harness, "EVT sales/Hoegi type=reload", shop).first?.contains("verdict=noop") == true)
        #expect(
            Self.reply(harness, "EVT sales/h-0123456789abcdef type=end", shop).first?.contains("unknown_key") == true)
    }

    @Test("W-V13: content that is to count as out of date after 10 min has an entry that says so")
    func staleness() throws {
        let harness = try Self.harness()
        let (shop, start) = (harness.connect(), harness.time)
        Self.reply(harness, Self.timeline("fading/main", [0], from: start), shop)
        let row = Self.reply(harness, "GET fading/main view=phone", shop).first
        #expect(try Self.entries(row, from: start) == ["0:0", "600:0!"])
        let renewed = Self.reply(harness, Self.timeline("fading/main", [0], from: start), shop).first
        #expect(renewed?.contains("verdict=noop") == true)
        harness.advance(by: .seconds(60))
        #expect(
            Self.reply(harness, Self.timeline("fading/main", [0], from: start), shop).first?.contains("applied") == true
        )
        let later = Self.reply(harness, "GET fading/main view=phone", shop).first
        #expect(try Self.entries(later, from: start) == ["0:0", "660:0!"])
    }
}
