import Cards
import TelltaleModel
import Testing

/// Rows as the daemon sends them for the shipped kinds, and how they are drawn.
private enum Example {
    static let now = Timestamp(milliseconds: 1_795_264_107_880)

    static func card(_ key: String, _ body: String) throws -> Card {
        Card(key: key, body: try JSONParser.parse(body).object ?? JSONObject())
    }

    static func coffee(_ extra: String = "", order: Int = 1, lifecycle: String = "active") throws -> Card {
        try card(
            "coffee-order/1042",
            #"""
            {"presentation":"small","order":\#(order),"interactive":false,"lifecycle":"\#(lifecycle)","stale":false,
             "app":"com.example.coffee","title":"Coffee order",\#(extra)
             "view":{"progress":0.6,"timer":1795264407000,"title":"Brewing"}}
            """#)
    }

    static func parcel(order: Int = 2) throws -> Card {
        try card(
            "parcel/7",
            #"""
            {"presentation":"small","order":\#(order),"interactive":false,"lifecycle":"stale","stale":true,
             "app":"com.example.store","title":"Parcel",
             "view":{"symbol":"shippingbox.fill","title":"Handed to the carrier","progress":{"segments":4,"value":0.5}}}
            """#)
    }

    static func light(_ phase: String = #""phase":"pending","wanted":true"#) throws -> Card {
        try card(
            "porch-light/front",
            #"""
            {"control":"toggle","value":false,"assumed":false,\#(phase),"shown":true,"available":true,
             "placement":"controlCenterMedium","symbol":"lightbulb.fill","title":"Porch light","text":"On","tint":"yellow"}
            """#)
    }
}

private func drawing(_ block: Block) -> String {
    block.text(color: false).map { $0.replacing(/[ ]+$/, with: "") }.joined(separator: "\n")
}

struct CardsTests {
    @Test func `a control that is not offered is on no screen and no bar, and in the full view`() throws {
        let tip = try Example.card(
            "coffee-tip/1",
            #"{"control":"button","phase":"idle","available":true,"offered":false,"title":"Leave a tip"}"#)
        func drawn(_ view: ViewName) -> String {
            drawing(TerminalScreen.draw([tip], view: view, at: Example.now, width: 60))
        }
        for surface in [Surface.phone, .watch, .carplay] { #expect(!drawn(.surface(surface)).contains("tip")) }
        #expect(drawn(.full).contains("Leave a tip"))
        #expect(BarItem.items([tip], titles: KindTitles(), at: Example.now).isEmpty)
    }

    /// A row that was sent once, drawn at three moments.
    @Test func `a widget turns at the dates in its row`() throws {
        let now = Example.now.milliseconds
        let card = try Example.card(
            "sales/Hoegi",
            #"""
            {"presentation":"systemSmall","order":1,"mode":"fullColor","title":"Sales","appName":"Coffee","entries":[
             {"date":\#(now - 5),"placeholder":true,"view":{"title":{"block":7}}},
             {"date":\#(now + 60_000),"view":{"symbol":"cup","title":"4 cups","progress":0.5}},
             {"date":\#(now + 90_000),"stale":true,"view":{"symbol":"cup","title":"4 cups"}}]}
            """#)
        func drawn(after seconds: Int64) -> String {
            drawing(card.widget(width: 30, at: Example.now + .seconds(seconds)))
        }
        #expect(
            drawn(after: 0) == """
                ╭─ Coffee · next in 1:00 ────╮
                │ ░░░░░░░                    │
                ╰────────────────────────────╯
                """)
        #expect(
            drawn(after: 60) == """
                ╭─ Coffee · next in 0:30 ────╮
                │ ☕ 4 cups                  │
                │ ██████████▌░░░░░░░░░░  50% │
                ╰────────────────────────────╯
                """)
        #expect(
            drawn(after: 3_600) == """
                ╭─ Coffee · stale ───────────╮
                │ ☕ 4 cups                  │
                ╰────────────────────────────╯
                """)
        #expect(card.summary(at: Example.now + .seconds(61)) == "systemSmall: ☕ 4 cups 50% (next in 0:29)")
        let schedule = try Example.card(
            "shop-hours/main", #"{"kind":"shop-hours","source":"schedule","phase":"fresh","configuration":{}}"#)
        #expect(schedule.summary(at: Example.now) == "fresh: ")
        let screen = TerminalScreen.draw(
            [card, try Example.coffee()], view: .surface(.watch), at: Example.now, width: 28)
        #expect(screen.text(color: false).firstIndex { $0.contains("Brewing") } == 2)
    }

    @Test func `a car shows small cards in two columns, and alerts at the bottom`() throws {
        let block = TerminalScreen.draw(
            [try Example.light(), try Example.parcel(), try Example.coffee()], view: .surface(.carplay),
            at: Example.now, width: 80,
            notices: [Notice(title: "Ready", body: "Shelf B")])
        #expect(
            drawing(block) == """
                ┏━ CarPlay ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
                ┃╭──────────────────────────╮ ╭─ stale ──────────────────╮ ┃
                ┃│ Brewing             5:00 │ │ 📦 Handed to the carrier │ ┃
                ┃│ ███████████▍░░░░░░░  60% │ │ ████ ████ ░░░░ ░░░░  50% │ ┃
                ┃╰──────────────────────────╯ ╰──────────────────────────╯ ┃
                ┃╭──────────────────────────╮                              ┃
                ┃│ 💡 Porch light     [ ─●] │                              ┃
                ┃│ On · → on …              │                              ┃
                ┃╰──────────────────────────╯                              ┃
                ┃                                                          ┃
                ┃                                                          ┃
                ┃ 🔔 Ready Shelf B                                         ┃
                ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                """)
    }

    @Test func `a watch shows them one below the other`() throws {
        let block = TerminalScreen.draw(
            [try Example.coffee(#""appName":"Coffee","highlighted":true,"#), try Example.parcel()],
            view: .surface(.watch),
            at: Example.now, width: 80, label: "alice", notices: [Notice(title: "Ready", body: "Shelf B")])
        #expect(
            drawing(block) == """
                ┏━ Watch · alice ━━━━━━━━━━┓
                ┃ 🔔 Ready Shelf B         ┃
                ┃╭─ Coffee ───────────────╮┃
                ┃│ Brewing           5:00 │┃
                ┃│ ██████████▎░░░░░░  60% │┃
                ┃╰────────────────────────╯┃
                ┃╭─ stale ────────────────╮┃
                ┃│ 📦 Handed to the carr… │┃
                ┃│ ████ ████ ░░░ ░░░  50% │┃
                ┃╰────────────────────────╯┃
                ┃                          ┃
                ┃                          ┃
                ┗━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                """)
    }

    @Test func `a desktop shows a menu bar, its items at the right`() throws {
        let compact = try Example.card(
            "coffee-order/1042",
            #"""
            {"presentation":"compact","order":1,"lifecycle":"active","stale":false,"app":"a",
             "view":{"leading":{"symbol":"cup.and.saucer.fill"},"trailing":{"timer":1795264407000}}}
            """#)
        let minimal = try Example.card(
            "parcel/7",
            #"{"presentation":"minimal","order":2,"view":{"symbol":"shippingbox.fill","progress":0.5}}"#)
        let block = TerminalScreen.draw([minimal, compact], view: .surface(.desktop), at: Example.now, width: 80)
        #expect(
            drawing(block) == """
                ┏━ Mac ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
                ┃                                               ☕ 5:00 │ 📦 50% ┃
                ┃────────────────────────────────────────────────────────────────┃
                ┃                                                                ┃
                ┃                                                                ┃
                ┃                                                                ┃
                ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                """)
    }

    @Test func `a phone shows its island and its Lock Screen`() throws {
        let card = try Example.card(
            "coffee-order/1042",
            #"""
            {"order":1,"lifecycle":"active","stale":false,"app":"com.example.coffee","title":"Coffee order",
             "lockScreen":{"presentation":"lockScreen","order":1,"interactive":true,
               "view":{"buttons":[{"key":"coffee-tip/1042","control":"button","title":"Tip","interactive":true}],
                       "progress":0.6,"subtitle":"Brewing","title":"Hoegi"}},
             "island":{"presentation":"compact","order":1,"attached":true,
               "view":{"leading":{"symbol":"cup.and.saucer.fill"},"trailing":{"timer":1795264407000}}}}
            """#)
        let block = TerminalScreen.draw([card], view: .surface(.phone), at: Example.now, width: 80)
        #expect(
            drawing(block) == """
                ┏━ iPhone ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
                ┃           (☕    ●  5:00)            ┃
                ┃                                      ┃
                ┃╭────────────────────────────────────╮┃
                ┃│ Hoegi                              │┃
                ┃│ Brewing                            │┃
                ┃│ █████████████████▍░░░░░░░░░░░  60% │┃
                ┃│ [Tip]                              │┃
                ┃╰────────────────────────────────────╯┃
                ┃                                      ┃
                ┃                                      ┃
                ┃                                      ┃
                ┃                                      ┃
                ┃                                      ┃
                ┃                                      ┃
                ┃                                      ┃
                ┃                                      ┃
                ┃                                      ┃
                ┃                                      ┃
                ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                """)
    }

    @Test func `the camera stays in the middle of the island, whatever stands beside it`() throws {
        func island(_ key: String, _ order: Int, _ presentation: String, _ view: String) throws -> Card {
            try Example.card(
                key, #"{"island":{"presentation":"\#(presentation)","order":\#(order),"view":\#(view)}}"#)
        }
        func upper(_ cards: [Card]) -> String {
            TerminalScreen.draw(cards, view: .surface(.phone), at: Example.now, width: 80).text(color: false)[1]
        }
        for text in ["5", "In the kitchen", "Waiting for the very last rider of the day"] {
            let line = upper([
                try island(
                    "a/1", 1, "compact", #"{"leading":{"symbol":"fork"},"trailing":{"text":"\#(text)"}}"#),
                try island("b/1", 2, "compact", #"{"leading":{"symbol":"cup"}}"#),
            ])
            let camera = try #require(line.firstIndex(of: "●"))
            let before = line[..<camera].reduce(0) { $0 + $1.displayWidth }
            let after = line[camera...].reduce(0) { $0 + $1.displayWidth } - 1
            #expect(abs(before - after) <= 1, "\(line)")
            #expect(!line.contains("☕") && before + after + 1 == 40)
        }
        let circles = upper([
            try island("a/1", 1, "minimal", #"{"symbol":"cup","progress":0.6}"#),
            try island("b/1", 2, "minimal", #"{"symbol":"airplane"}"#),
        ])
        #expect(circles == "┃          ( ☕ 60% )  ( ✈ )           ┃")
    }

    @Test func `StandBy has circles at its upper edge, and dark below`() throws {
        let cards = try [("a/1", "cup", 0.6), ("b/1", "airplane", 0.1)].map { key, symbol, progress in
            try Example.card(
                key, #"{"presentation":"minimal","order":1,"view":{"symbol":"\#(symbol)","progress":\#(progress)}}"#)
        }
        let lines = drawing(TerminalScreen.draw(cards, view: .surface(.standby), at: Example.now, width: 44))
            .split(separator: "\n")
        #expect(lines[2] == "┃          ( ☕ 60% )  ( ✈ 10% )           ┃")
        #expect(lines.dropFirst(3).dropLast().allSatisfy { $0.allSatisfy { "┃ ".contains($0) } })
    }

    @Test func `controls inside an activity show their state, below each other where they do not fit`() throws {
        let card = try Example.card(
            "coffee-order/1042",
            #"""
            {"presentation":"lockScreen","order":1,"lifecycle":"active","view":{"title":"Hoegi","buttons":[
              {"key":"porch-light/front","control":"toggle","title":"Porch light","symbol":"lightbulb.fill",
               "shown":true,"phase":"settled","available":true,"interactive":true},
              {"key":"store/main","control":"toggle","title":"Store","shown":false,"phase":"pending","wanted":true,
               "available":true,"interactive":true},
              {"key":"log-coffee/a","control":"button","title":"Log","phase":"idle","available":false,"interactive":true},
              {"key":"coffee-tip/1042","interactive":false},
              {"link":"tel:030","title":"Call","interactive":false},{"interactive":false}]}}
            """#)
        let block = TerminalScreen.draw([card], view: .surface(.standby), at: Example.now, width: 44)
        #expect(
            drawing(block).hasPrefix(
                """
                ┏━ StandBy ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
                ┃╭────────────────────────────────────────╮┃
                ┃│ Hoegi                                  │┃
                ┃│ [◉ 💡 Porch light] [◌ Store] [Log]     │┃
                ┃│ [Call ↗]                               │┃
                ┃╰────────────────────────────────────────╯┃
                """))
        let line = try #require(block.text(color: true).first { $0.contains("Porch light") })
        #expect(line.contains("\u{1B}[36m[◉ 💡 Porch light]"))
        #expect(line.contains("\u{1B}[33m[◌ Store]"))
        #expect(line.contains("\u{1B}[2m[Log]"), "nobody would act on it")
        #expect(block.text(color: true).contains { $0.contains("\u{1B}[2m[Call ↗]") })
    }

    @Test func `the full view shows the state itself`() throws {
        let card = try Example.card(
            "coffee-order/1042",
            #"""
            {"kind":"coffee-order","state":"brewing","configuration":["brewing"],"lifecycle":"active",
             "attributes":{"item":"Flat white","shop":"Hoegi"},"content":{"eta":1795264407},"progress":0.6,
             "startedAt":1795264107880,"updatedAt":1795264108181,"staleAt":1795264348181}
            """#)
        var titles = KindTitles()
        titles.add(
            "coffee-order",
            try #require(
                try JSONParser.parse(
                    #"""
                    {"title":"Coffee order","machine":{"states":{"brewing":{"title":"Brewing"}}},
                     "views":{"small":{"timer":"{{content.eta}}"}}}
                    """#
                ).object))
        let cards = [card, try Example.light()]
        let block = TerminalScreen.cards(cards, titles: titles, at: Example.now, width: 110)
        #expect(
            drawing(block) == """
                ╭─ coffee-order/1042 ────────────────────────────────╮ ╭────────────────────────────────────────────────────╮
                │ Brewing                             stale in 5 min │ │ 💡 Porch light                               [ ─●] │
                │ item Flat white · shop Hoegi                       │ │ On · → on …                                        │
                │ eta in 5 min                                       │ ╰────────────────────────────────────────────────────╯
                │ ███████████████████████████░░░░░░░░░░░░░░░░░░  60% │
                ╰────────────────────────────────────────────────────╯
                """)
        let table = TerminalScreen.table(cards.reversed(), titles: titles, at: Example.now + .seconds(90), width: 90)
        #expect(
            drawing(table) == """
                KEY                  STATE    DONE  CHANGED    DETAILS
                Coffee order
                  coffee-order/1042  Brewing  60%   1 min ago  eta in 4 min · item Flat white · shop Hoeg…
                Porch light
                  porch-light/front  ◉ On                      → on …
                """)
    }

    @Test func `text too long for its place is cut, not wrapped`() throws {
        let card = try Example.card(
            "a/b",
            #"{"presentation":"small","order":1,"view":{"title":"寿司ができました、お受け取りください","subtitle":"A subtitle that is far too long for it"}}"#
        )
        let block = TerminalScreen.draw([card], view: .surface(.watch), at: Example.now, width: 30)
        #expect(
            drawing(block) == """
                ┏━ Watch ━━━━━━━━━━━━━━━━━━┓
                ┃╭────────────────────────╮┃
                ┃│ 寿司ができました、お…  │┃
                ┃│ A subtitle that is fa… │┃
                ┃╰────────────────────────╯┃
                ┃                          ┃
                ┃                          ┃
                ┃                          ┃
                ┃                          ┃
                ┃                          ┃
                ┃                          ┃
                ┃                          ┃
                ┗━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                """)
        #expect(block.lines.allSatisfy { $0.width == block.width })
    }

    @Test func `nothing in a row can move the cursor or change the colours`() throws {
        let card = try Example.card(
            "a/b",
            #"{"presentation":"small","order":1,"view":{"title":"\u001b[2J\u0007evil\u202e","text":"\u009b31m"}}"#)
        for view in [ViewName.full, .surface(.watch), .surface(.phone), .surface(.carplay), .surface(.desktop)] {
            let text = TerminalScreen.draw([card], view: view, at: Example.now, width: 80).text(color: false).joined()
            #expect(
                !text.unicodeScalars.contains {
                    $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) || $0.value == 0x202E
                })
        }
    }

    @Test("Every width gives a rectangle", arguments: 0...130)
    func anyWidth(width: Int) throws {
        let cards = [try Example.light(), try Example.parcel(), try Example.coffee(), try Example.card("x/y", "{}")]
        for view in [ViewName.full] + Surface.allCases.map(ViewName.surface) {
            let block = TerminalScreen.draw(cards, view: view, at: Example.now, width: width, label: "a label")
            #expect(block.lines.allSatisfy { $0.width == block.width })
            if width >= 24 { #expect(block.width <= width) }
        }
    }

    @Test("Colour only where it is asked for")
    func color() throws {
        let block = TerminalScreen.draw([try Example.coffee()], view: .surface(.watch), at: Example.now, width: 80)
        #expect(!block.text(color: false).joined().contains("\u{1B}"))
        #expect(block.text(color: true).joined().contains("\u{1B}[1mBrewing\u{1B}[0m"))
    }

    @Test(
        "Time left counts down to nothing",
        arguments: [
            (0, "0:00"), (-1, "0:00"), (1, "0:01"), (1000, "0:01"), (1001, "0:02"), (300_000, "5:00"),
            (3_599_000, "59:59"),
            (3_600_000, "1:00:00"), (86_400_000, "24:00:00"), (172_800_000, "2 d 0 h"),
            (Int64.max, "106751991167 d 7 h"),
            (.min, "0:00"),
        ] as [(Int64, String)])
    func countdown(_ example: (left: Int64, text: String)) {
        let date = Timestamp(milliseconds: 0) + Milliseconds(example.left)
        #expect(Countdown.text(until: date, at: Timestamp(milliseconds: 0)) == example.text)
    }

    @Test func `only the lines that changed are written again`() {
        var painter = Painter()
        #expect(painter.paint(["a", "b", "c"]).contains("\u{1B}[2;1Hb\u{1B}[K"))
        #expect(painter.paint(["a", "b", "c"]) == "")
        #expect(painter.paint(["a", "x", "c"]) == "\u{1B}[?2026h\u{1B}[2;1Hx\u{1B}[K\u{1B}[?2026l")
        #expect(painter.paint(["a"]) == "\u{1B}[?2026h\u{1B}[2;1H\u{1B}[J\u{1B}[?2026l")
        #expect(painter.forget() == "\u{1B}[2J")
        #expect(painter.paint(["a"]).contains("\u{1B}[1;1Ha"))
    }

    @Test func `surfaces stand side by side`() throws {
        let watch = TerminalScreen.draw([try Example.coffee()], view: .surface(.watch), at: Example.now, width: 80)
        let desktop = TerminalScreen.draw([], view: .surface(.desktop), at: Example.now, width: 80)
        let both = Block.beside([watch, desktop], gap: 2)
        #expect(both.width == watch.width + 2 + desktop.width)
        #expect(both.height == max(watch.height, desktop.height))
        #expect(both.cut(toHeight: 5).height == 5)
    }
}
