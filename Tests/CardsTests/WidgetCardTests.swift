import Cards
import TelltaleModel
import Testing

/// Widgets, and the previews of the gallery.
struct WidgetCardTests {
    private static let now = Timestamp(milliseconds: 1_763_719_200_000)

    private static func card(_ text: String) throws -> Card {
        Card(key: "kitchen/Hoegi", body: try #require(try JSONParser.parse(text).object))
    }

    private func drawing(_ block: Block) -> String {
        block.text(color: false).map { $0.replacing(/[ ]+$/, with: "") }.joined(separator: "\n")
    }

    @Test("W-V40: a list that is cut tells how much it leaves out")
    func list() throws {
        let items = (1...5).map { #"{"item":"Cup \#($0)","is":"Ready"}"# }.joined(separator: ",")
        let card = try Self.card(
            #"""
            {"presentation":"systemMedium","title":"Kitchen","entries":[
             {"date":0,"view":{"title":"7 waiting","list":[\#(items)],"more":2}}]}
            """#)
        #expect(
            drawing(card.widget(width: 24, at: Self.now)) == """
                ╭─ Kitchen ────────────╮
                │ 7 waiting            │
                │ · Ready Cup 1        │
                │ · Ready Cup 2        │
                │ · Ready Cup 3        │
                │ · Ready Cup 4        │
                │ and 3 more           │
                ╰──────────────────────╯
                """)
    }

    @Test func `the previews of a kind stand beside each other under the names of their families`() throws {
        let previews = try [
            #"{"presentation":"systemSmall","title":"Kitchen","sample":true,"entries":[{"date":0,"view":{"title":"7"}}]}"#,
            #"{"presentation":"accessoryInline","title":"Kitchen","entries":[{"date":0,"placeholder":true,"view":{"text":{"block":3}}}]}"#,
        ].map { try #require(try JSONParser.parse($0).object) }
        #expect(
            drawing(Gallery.draw(previews, at: Self.now, width: 60)) == """
                systemSmall                  accessoryInline
                ╭─ Kitchen ────────────────╮ ╭─ Kitchen ────────────────╮
                │ 7                        │ │ ░░░                      │
                ╰──────────────────────────╯ ╰──────────────────────────╯
                """)
        #expect(Gallery.draw(previews, at: Self.now, width: 30).text(color: false).count == 8)
    }
}
