import Cards
import TelltaleModel
import Testing

/// What commands print for people on a terminal.
struct TableTests {
    private static let now = Timestamp(milliseconds: 1_795_264_107_880)

    private func object(_ text: String) throws -> JSONObject { try #require(try JSONParser.parse(text).object) }

    private func text(_ block: Block) -> [String] { block.text(color: false).map { $0.replacing(/[ ]+$/, with: "") } }

    @Test func `the widest column gives way first, and no line is wider than the terminal`() {
        var table = Table(["ID", "NAME", "SCOPES"])
        table.append(["k3v9q2ma", "寿司", "post:coffee-order/* read:* act:* stats"])
        table.append(["-", "a\u{1B}[2J", "admin"])
        #expect(
            text(table.draw()) == [
                "ID        NAME   SCOPES", "k3v9q2ma  寿司   post:coffee-order/* read:* act:* stats",
                "-         a [2J  admin",
            ])
        #expect(text(table.draw(width: 30))[1] == "k3v9q2ma  寿司   post:coffee-…")
        for width in 1...60 { #expect(table.draw(width: width).width <= width) }
    }

    @Test(
        "A date is the span to it, in its largest unit",
        arguments: [
            (0, "now"), (-999, "now"), (-12_000, "12 s ago"), (-119_000, "1 min ago"), (-7_200_000, "2 h ago"),
            (-172_800_000, "2 d ago"), (1, "in 1 s"), (59_001, "in 1 min"), (181_000, "in 4 min"),
            (900_000, "in 15 min"), (10_800_000, "in 3 h"), (7_776_000_000, "in 90 d"),
        ] as [(Int64, String)])
    func relative(milliseconds: Int64, expected: String) {
        #expect(RelativeTime.text(Self.now + Milliseconds(milliseconds), at: Self.now) == expected)
    }

    @Test(arguments: [Int64.min, .max])
    func `a date at the end of time is no trap`(milliseconds: Int64) {
        for now in [Self.now, Timestamp(milliseconds: -1_000), Timestamp(milliseconds: .max)] {
            #expect(!RelativeTime.text(Timestamp(milliseconds: milliseconds), at: now).isEmpty)
        }
    }

    @Test func `states have the titles of their kind, and without one their name in words`() throws {
        var titles = KindTitles()
        #expect(titles.title(of: "coffee-tip") == "Coffee tip")
        #expect(titles.title(ofState: "handed_to_carrier", of: "parcel") == "Handed to carrier")
        titles.add(
            "bistro-order",
            try object(
                #"""
                {"title":"Bistro","machine":{"states":{"new":{"title":"At {{content.shelf}}"},"preparing":{
                 "title":"In the kitchen","regions":[
                  {"id":"main","states":{"cooking":{"title":"Cooking"}}},{"id":"dessert","states":{"done":{}}}]}}}}
                """#))
        #expect(titles.title(of: "bistro-order") == "Bistro")
        func state(_ path: String) -> String { titles.title(ofState: path, of: "bistro-order") }
        #expect(state("preparing.main.cooking") == "Cooking")
        #expect(state("preparing.main.cooking,preparing.dessert.done") == "In the kitchen")
        #expect(state("preparing.dessert.done") == "Done")
        #expect(state("new") == "New", "only the server can fill a template")
        #expect(state("") == "")
    }

    @Test func `figures are lines, with what has changed, and a histogram in words`() throws {
        func figures(_ rows: Int, _ noop: Int) throws -> JSONObject {
            try object(
                """
                {"rows":\(rows),"sessionBytes":2560,"certificateExpires":1795350507880,
                 "verdicts":{"applied":3,"noop":\(noop)},
                 "sync":{"buckets":[[250,1],[500,98],[1000,100]],"count":100,"maxMicroseconds":904}}
                """)
        }
        let (before, after) = (try figures(7, 0), try figures(9, 2))
        #expect(
            text(FigureTable.draw(after, since: before, at: Self.now, width: 120)) == [
                "FIGURE              VALUE                                                        CHANGE",
                "certificateExpires  in 24 h",
                "rows                9                                                            +2",
                "sessionBytes        2.5 KiB",
                "sync                50% within 0.5 ms, 99% within 1 ms · count 100 · max 0.9 ms",
                "verdicts            applied 3 · noop 2                                           +2 noop",
            ])
        #expect(text(FigureTable.draw(try object("{}"), since: nil, at: Self.now, width: 20)) == ["FIGURE  VALUE"])
    }
}
