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

    @Test func `what a tap is about to change is dimmed, and nothing else`() throws {
        let body = #"""
            {"presentation":"systemSmall","title":"Kitchen",INVALID"entries":[{"date":0,"view":{
             "title":"7 waiting","subtitle":"2 late","list":["Cup"],"progress":0.5}}]}
            """#
        let tapped = try Self.card(
            body.replacing("INVALID", with: #""invalid":["title","list","progress"],"#))
        let lines = tapped.widget(width: 26, at: Self.now).text(color: true)
        let dim = "\u{1B}[2m"
        #expect(lines[0].contains("changing"))
        #expect(lines[1].contains("\(dim)7 waiting"))
        #expect(lines[2].contains("2 late") && !lines[2].contains("\(dim)2 late"))
        #expect(lines[3].contains("[2;"), "\(lines[3])")
        #expect(lines[4].contains("\(dim)· Cup"))
        #expect(tapped.summary(at: Self.now).contains("(changing)"))
        let still = try Self.card(body.replacing("INVALID", with: "")).widget(width: 26, at: Self.now)
        #expect(still.text(color: true)[1].contains("\u{1B}[1m7 waiting"))
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
