import Cards
import TelltaleModel
import Testing

/// Boards as the screens of devices show them.
struct BoardPictureTests {
    private static let now = Timestamp(milliseconds: 1_763_719_200_000)

    private static func card(_ id: String, _ text: String, rev: Int64 = 1, board: String = "@alice-car") throws -> Card
    {
        Card(key: "\(board)/\(id)", body: try #require(try JSONParser.parse("{\(text)}").object), rev: rev)
    }

    private static func tile(
        _ id: String, _ place: String, family: String = "systemSmall", title: String = "", entry: String = "",
        rev: Int64 = 1
    ) throws -> Card {
        try card(
            id,
            #"""
            "presentation":"\#(family)",\#(place),"widget":"kitchen/Hoegi","title":"Kitchen",
            "entries":[{"date":0,\#(entry)"view":{"title":"\#(title.isEmpty ? id : title)"}}]
            """#, rev: rev)
    }

    private func lines(
        _ cards: [Card], _ view: ViewName, width: Int = 80, after seconds: Int64 = 0, color: Bool = false
    ) -> [String] {
        let time = Timestamp(milliseconds: Self.now.milliseconds + seconds * 1000)
        return TerminalScreen.draw(cards, view: view, at: time, width: width).text(color: color)
    }

    private func drawing(_ cards: [Card], _ view: ViewName, width: Int = 80, after seconds: Int64 = 0) -> String {
        lines(cards, view, width: width, after: seconds).joined(separator: "\n")
    }

    // MARK: Stacks

    /// A stack of two whose second tile comes on top after a minute, and the first one again after two.
    private static func stack() throws -> [Card] {
        let turns =
            #""turns":[{"date":1763719260000,"key":"@alice-car/b"},{"date":1763719320000,"key":"@alice-car/a"}]"#
        return try [
            tile("b", #""order":1,"stack":"left","position":2,"top":false,\#(turns)"#),
            tile("a", #""order":1,"stack":"left","position":1,"top":true,\#(turns)"#),
            tile("c", #""order":2"#),
        ]
    }

    @Test func `a stack is one tile, with a dot for each of its tiles`() throws {
        let text = drawing(try Self.stack(), .surface(.carplay), width: 60)
        #expect(
            text.contains(
                """
                ┃╭─ Kitchen ──────╮ ╭─ Kitchen ──────╮                     ┃
                ┃│ a              │ │ c              │                     ┃
                """), "\(text)")
        #expect(text.contains("╰─ ↻1:00 ─── ●○ ─╯"), "\(text)")
        #expect(!text.contains("│ b "))
    }

    @Test func `a stack turns at the dates of its rows, without a row`() throws {
        let stack = try Self.stack()
        func top(after seconds: Int64) -> (shown: String?, dots: Bool) {
            let text = drawing(stack, .surface(.carplay), width: 60, after: seconds)
            return (["a", "b"].first { text.contains("│ \($0) ") }, text.contains("○●"))
        }
        #expect(top(after: 59) == ("a", false))
        #expect(top(after: 60) == ("b", true))
        #expect(top(after: 119) == ("b", true))
        #expect(top(after: 120) == ("a", false))
    }

    @Test func `while the rows of a stack disagree, the newest one is right`() throws {
        let rows = try [
            Self.tile("a", #""order":1,"stack":"left","position":1,"top":true"#, rev: 4),
            Self.tile("b", #""order":1,"stack":"left","position":2,"top":true"#, rev: 5),
        ]
        #expect(drawing(rows, .surface(.carplay)).contains("│ b "))
        // A row that says of none that it is on top is the first one's.
        let none = try [Self.tile("a", #""order":1,"stack":"left","position":1,"top":false"#)]
        #expect(drawing(none, .surface(.carplay)).contains("│ a "))
    }

    @Test func `a suggestion has a place while it has a picture`() throws {
        let turns =
            #""turns":[{"date":1763719260000,"key":"@alice-car/~1"},{"date":1763719320000,"key":"@alice-car/a"}]"#
        let suggested = try Self.card(
            "~1",
            #"""
            "presentation":"systemSmall","order":1,"stack":"left","position":2,"top":false,"suggested":true,"widget":"a/b",
            "entries":[{"date":0,"view":null},{"date":1763719260000,"view":{"title":"new"}},
            {"date":1763719320000,"view":null}],\#(turns)
            """#)
        let rows = try [suggested, Self.tile("a", #""order":1,"stack":"left","position":1,"top":true,\#(turns)"#)]
        func top(after seconds: Int64) -> (shown: String?, isStack: Bool) {
            let text = drawing(rows, .surface(.carplay), width: 60, after: seconds)
            return (["a", "new"].first { text.contains("│ \($0) ") }, text.contains("○"))
        }
        #expect(top(after: 0) == ("a", false))
        #expect(top(after: 60) == ("new", true))
        #expect(top(after: 120) == ("a", false))
    }

    @Test func `many tiles have numbers instead of dots`() throws {
        let rows = try (1...10).map {
            try Self.tile("t\($0)", #""order":1,"stack":"left","position":\#($0),"top":\#($0 == 3)"#)
        }
        #expect(drawing(rows, .surface(.carplay)).contains(" 3/10 ─╯"))
    }

    // MARK: Grids

    @Test func `families take their room in the order of their places`() throws {
        let rows = try [
            Self.tile("large", #""order":4"#, family: "systemLarge"), Self.tile("one", #""order":1"#),
            Self.tile("wide", #""order":2"#, family: "systemMedium"), Self.tile("three", #""order":3"#),
        ]
        let text = lines(rows, .surface(.phone))
        func row(_ name: String) throws -> Int { try #require(text.firstIndex { $0.contains("│ \(name) ") }) }
        // A tile that does not fit beside the one before it begins a new line; later tiles do not go back.
        #expect(try row("wide") == row("one") + 7)
        #expect(try row("three") == row("wide") + 7)
        #expect(try row("large") == row("three") + 7)
        // A large tile is as wide as two small ones and as high as two.
        let top = try row("large") - 1
        #expect(text[top].contains("╭─ Kitchen " + String(repeating: "─", count: 25) + "╮"), "\(text[top])")
        #expect(text[top + 13].contains("╰" + String(repeating: "─", count: 35) + "╯"), "\(text[top + 13])")
    }

    @Test func `widgets of the Lock Screen stand above the others`() throws {
        let rows = try [
            Self.tile("home", #""order":1"#),
            Self.tile("ring", #""order":2"#, family: "accessoryCircular", title: "412"),
            Self.tile("wide", #""order":3"#, family: "accessoryRectangular"),
            Self.tile("line", #""order":4"#, family: "accessoryInline", title: "412 cups"),
        ]
        let text = drawing(rows, .surface(.phone))
        #expect(
            text.contains(
                """
                ┃               412 cups               ┃
                ┃╭──────╮ ╭─ Kitchen ─────╮            ┃
                ┃│      │ │ wide          │            ┃
                ┃│ 412  │ │               │            ┃
                ┃│      │ │               │            ┃
                ┃╰──────╯ ╰───────────────╯            ┃
                ┃┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┃
                ┃╭─ Kitchen ──────╮                    ┃
                """), "\(text)")
    }

    @Test func `what has no room in a tile is reported by an ellipsis`() throws {
        let row = try Self.card(
            "t1",
            #"""
            "presentation":"systemSmall","order":1,"widget":"kitchen/Hoegi","title":"Kitchen","entries":[{"date":0,"view":{
            "title":"A","subtitle":"B","text":"C","progress":0.5,"list":["D","E"]}}]
            """#)
        let text = lines([row], .surface(.carplay))
        #expect(text.filter { $0.contains("│") }.count == 5)
        #expect(text.contains { $0.contains("│ … ") })
    }

    // MARK: A watch

    @Test func `a watch lists its tiles, and moves them at their dates`() throws {
        let family = "accessoryRectangular"
        let rows = try [
            Self.tile("late", #""order":0,"orders":[{"date":1763719260000,"order":1}]"#, family: family),
            Self.tile("b", #""order":2"#, family: family),
            Self.tile("a", #""order":1,"orders":[{"date":1763719260000,"order":3}],"pinned":1"#, family: family),
        ]
        func order(after seconds: Int64) -> [String] {
            lines(rows, .surface(.watch), after: seconds).compactMap { line in
                ["late", "a", "b"].first { line.contains("│ \($0) ") }
            }
        }
        #expect(order(after: 0) == ["a", "b"])
        #expect(order(after: 60) == ["late", "b", "a"])
        #expect(drawing(rows, .surface(.watch)).contains("╰─ pinned 1 ─"))
    }

    // MARK: States

    @Test(arguments: [
        (#""order":1,"unavailable":true"#, "", "unavailable"), (#""order":1"#, #""stale":true,"#, "stale"),
        (#""order":1,"suggested":true"#, "", "suggested"), (#""order":1,"invalid":["title"]"#, "", "changing"),
    ])
    func `the state of a tile is reported below it`(place: String, entry: String, word: String) throws {
        let text = drawing([try Self.tile("t1", place, entry: entry)], .surface(.carplay))
        #expect(text.contains("╰─ \(word) ─"), "\(text)")
    }

    @Test func `what is stale or unavailable is dimmed, and nothing else`() throws {
        for (place, entry, isDim) in [
            (#""order":1"#, "", false), (#""order":1"#, #""stale":true,"#, true),
            (#""order":1,"unavailable":true"#, "", true), (#""order":1,"luminance":"reduced""#, "", true),
        ] {
            let text = lines([try Self.tile("t1", place, entry: entry)], .surface(.carplay), color: true)
            let title = try #require(text.first { $0.contains("t1") })
            #expect(title.contains(isDim ? "\u{1B}[1;2mt1" : "\u{1B}[1mt1"), "\(title)")
        }
    }

    // MARK: The full view, pipes, small terminals

    private static let holder = #""state":"stack","family":"systemSmall","smart":true,"suggest":false,"order":2"#

    @Test func `the full view reports places, stacks and what is in them`() throws {
        let inStack = #""family":"systemSmall","stack":"left""#
        let rows = try [
            Self.card(
                "t2",
                #"""
                "state":"placed","widget":"kitchen/Hoegi","configuration":{"shop":"Hoegi"},\#(inStack),"position":2,"pinned":2
                """#),
            Self.card(
                "t1", #""state":"placed","widget":"sales/Hoegi","configuration":{},\#(inStack),"position":1"#),
            Self.card(
                "t3",
                #"""
                "state":"placed","widget":"weather/main","configuration":{},"family":"systemMedium","order":1,
                "placement":"home"
                """#),
            Self.card("left", Self.holder),
        ]
        #expect(
            drawing(rows, .full, width: 60) == """
                ╭─ @alice-car ─────────────────────────────────────────────╮
                │ 1  t3  weather/main · systemMedium · home                │
                │ 2  left  stack · systemSmall · smart                     │
                │    1  t1  sales/Hoegi · systemSmall                      │
                │    2  t2  kitchen/Hoegi · systemSmall · shop Hoegi · pi… │
                ╰──────────────────────────────────────────────────────────╯
                """)
    }

    @Test func `a line of a pipe reports the place of a tile`() throws {
        let stack = try Self.stack()
        func line(_ card: Card, after seconds: Int64 = 0) -> String {
            card.summary(at: Timestamp(milliseconds: Self.now.milliseconds + seconds * 1000))
        }
        #expect(line(stack[0]) == "systemSmall: b (place 1; below in left; turns in 1:00)")
        #expect(line(stack[0], after: 90) == "systemSmall: b (place 1; top of left; turns in 0:30)")
        #expect(line(stack[2]) == "systemSmall: c (place 2)")
        let away = try Self.tile("t1", #""order":0,"unavailable":true"#)
        #expect(line(away) == "systemSmall: t1 (not shown now; unavailable)")
        let full = try Self.card("left", Self.holder)
        #expect(line(full) == "stack systemSmall smart (place 2)")
    }

    @Test func `however small the terminal, no line is wider`() throws {
        let families = [
            "systemSmall", "systemMedium", "systemLarge", "systemExtraLarge", "systemExtraLargePortrait",
            "accessoryCircular", "accessoryRectangular", "accessoryInline", "accessoryCorner",
        ]
        let rows = try families.enumerated().map {
            try Self.tile("t\($0)", #""order":\#($0 + 1),"pinned":1"#, family: $1)
        }
        for view in Surface.allCases.map(ViewName.surface) + [.full] {
            for width in [1, 10, 20, 33, 40, 79, 200] {
                let widest = lines(rows + (try Self.stack()), view, width: width).map(\.count).max() ?? 0
                #expect(widest <= max(24, width), "\(view) \(width)")
            }
        }
    }

    @Test func `boards beside each other are reported by their names, and activities stand above`() throws {
        let rows = try [
            Self.tile("t1", #""order":1"#),
            Self.card(
                "t1", #""presentation":"systemSmall","order":1,"widget":"sales/Hoegi","title":"Sales","entries":[]"#,
                board: "@bob-car"),
            Card(
                key: "coffee-order/7",
                body: try #require(
                    try JSONParser.parse(
                        #"{"presentation":"small","order":1,"lifecycle":"active","view":{"title":"Ready"}}"#
                    ).object)),
        ]
        let text = lines(rows, .surface(.carplay))
        let places = try ["Ready", "@alice-car", "Kitchen", "@bob-car", "Sales"].map { word in
            try #require(text.firstIndex { $0.contains(word) })
        }
        #expect(places == places.sorted())
    }

    @Test func `a widget kind of before whose name begins with an at sign is no tile`() throws {
        let row = try Self.card(
            "main", #""presentation":"systemSmall","title":"Old","entries":[{"date":0,"view":{"title":"x"}}]"#)
        #expect(row.summary(at: Self.now) == "systemSmall: x")
    }

    @Test func `hostile rows trap nothing`() throws {
        for text in [
            #""widget":"a/b","order":-9007199254740991,"position":9007199254740991"#,
            #""widget":"a/b","order":9007199254740991,"stack":"s","turns":[1,null,{"date":"x"},{"date":-1,"key":7}]"#,
            #""widget":"a/b","order":1,"orders":[{"date":0,"order":1e300}],"presentation":"systemMedium""#,
            #""state":"stack","smart":true"#, #""widget":"a/b","state":"placed""#,
        ] {
            let card = try Self.card("t1", text)
            for view in [ViewName.full, .surface(.phone), .surface(.watch)] { _ = lines([card], view, width: 30) }
            _ = card.summary(at: Self.now)
        }
        _ = lines([Card(key: "@", body: try #require(try JSONParser.parse(#"{"widget":"a"}"#).object))], .full)
    }
}
