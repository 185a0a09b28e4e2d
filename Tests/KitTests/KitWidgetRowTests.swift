import TelltaleModel
import Testing

@testable import TelltaleKit

struct KitWidgetRowTests {
    private func object(_ text: String) throws -> JSONObject { try #require(try JSONParser.parse(text).object) }

    private func row() throws -> WidgetRow {
        try #require(
            WidgetRow(
                try object(
                    #"""
                    {"presentation":"systemSmall","order":1,"mode":"accented","background":"removed","margin":11,"behind":"glass",
                     "interactive":true,"app":"com.example.coffee","title":"Order","asOf":1000,"live":true,"accent":["symbol"],
                     "private":["title"],"url":"https://example.com/1","entries":[
                       {"date":1000,"placeholder":true,"view":{"title":{"block":7},"symbol":"cup","image":{"block":8}}},
                       {"date":2000,"stale":true,"view":{"title":"Flat white","subtitle":"Waiting","progress":0.5,"list":[{"id":"7"}],
                         "more":3,"image":{"name":"cup","treatment":"white"},"links":{"title":"https://example.com/t"},
                         "buttons":[{"key":"coffee-tip/1","interactive":true}]}},
                       {"date":3000,"view":null}]}
                    """#)))
    }

    private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    @Test func `a widget is drawn by its dates alone`() throws {
        let row = try row()
        #expect(row.family == "systemSmall" && !row.hasBackground && row.isLive && row.behind == "glass")
        #expect(row.entry(at: at(999)) == nil && row.nextDate(after: at(999)) == at(1_000))
        let first = try #require(row.entry(at: at(1_999)))
        #expect(first.isPlaceholder && first.parts?.title == .block(7) && first.parts?.symbol == .text("cup"))
        #expect(first.parts?.image?.name == .block(8))
        let second = try #require(row.entry(at: at(2_000)))
        #expect(second.isStale && second.parts?.title == .text("Flat white") && second.parts?.progress?.value == 0.5)
        #expect(second.parts?.moreCount == 3 && second.parts?.list == [["id": "7"]])
        #expect(second.parts?.image?.treatment == "white" && second.parts?.links == ["title": "https://example.com/t"])
        #expect(second.parts?.buttons.count == 1)
        #expect(row.entry(at: at(5_000))?.parts == nil && row.nextDate(after: at(3_000)) == nil)
    }

    @Test func `a row names what a tap is about to change`() throws {
        let body = #"{"presentation":"systemSmall","invalid":["title"],"entries":[]}"#
        #expect(WidgetRow(try object(body))?.invalid == ["title"])
        #expect(try row().invalid.isEmpty)
    }

    @Test("W-V14: a client draws the entries that it was given by itself, when the connection is lost")
    func connectionLost() async throws {
        let entries = [0, 60, 120].map { #"{"date":\#(1_000 * (1_000 + $0)),"view":{"title":"+\#($0)"}}"# }
        let server = ScriptedServer { stage in
            try await stage.show(
                #"SNAP sub=1 key=sales/main rev=1 {"presentation":"systemSmall","entries":[\#(entries.joined(separator: ","))]}"#,
                cursor: "\(FollowTests.cursor):1:b0e4")
            // The end of the script is the end of the connection.
        }
        let telltale = try Telltale.test(over: server)
        var iterator = telltale.follow("sales/*", view: .phone).makeAsyncIterator()
        var rows = Rows<PhoneRow>()
        while let change = try await iterator.next() {
            rows.apply(change)
            if case .disconnected = change { break }
        }
        let row = try #require(rows.widgets.first?.row)
        for (second, title) in [(0, "+0"), (59, "+0"), (60, "+60"), (120, "+120"), (9_999, "+120")] as [(Int64, String)]
        {
            #expect(row.entry(at: at(1_000 * (1_000 + second)))?.parts?.title == .text(title), "\(second)")
        }
        #expect(row.nextDate(after: at(1_000_000)) == at(1_060_000))
        #expect(row.nextDate(after: at(1_120_000)) == nil)
    }

    @Test("W-V83: a client hides what is private when its own device locks, in each entry that it holds")
    func locks() throws {
        let row = try row()
        for time in [1_000, 2_000] {
            #expect(row.entry(at: at(Int64(time)), isLocked: true)?.parts?.title == nil)
            #expect(row.entry(at: at(Int64(time)))?.parts?.title != nil)
        }
        #expect(row.entry(at: at(2_000), isLocked: true)?.parts?.subtitle == .text("Waiting"))
    }

    @Test func `activities and controls are no widgets, and widgets are neither`() throws {
        let widget = RowUpdate<WatchRow>(
            key: try #require(Key("kitchen/main")), rev: 1,
            body: try object(#"{"presentation":"accessoryInline","entries":[]}"#), isSnapshot: true, skipped: 0,
            why: nil)
        #expect(widget.activity == nil && widget.control == nil && widget.widget?.family == "accessoryInline")
        for text in [
            #"{"presentation":"small","order":1,"lifecycle":"active","view":{}}"#,
            #"{"control":"toggle","phase":"settled"}"#,
            #"{"kind":"sales","source":"pushed","entries":[]}"#,
        ] { #expect(WidgetRow(try object(text)) == nil, "\(text)") }
        var rows = Rows<WatchRow>()
        rows.apply(.update(widget))
        #expect(rows.widgets.map(\.key.text) == ["kitchen/main"] && rows.activities.isEmpty)
    }

    @Test func `a follower says how it draws widgets, and a faulty choice is reported before anything is sent`()
        async throws
    {
        let server = ScriptedServer { stage in
            try await stage.show(cursor: "\(FollowTests.cursor):1:b0e4")
            #expect(stage.heard.first?.contains(" caps=widgets") == true, "\(stage.heard)")
            let line = stage.heard.last ?? ""
            #expect(line.contains(" family=systemMedium") && line.contains(" ahead=0"), "\(line)")
            await stage.waitForEnd()
        }
        var options = Telltale.Options()
        options.showsWidgets = true
        let telltale = try Telltale(over: server, options: options)
        var iterator = telltale.follow(
            "kitchen/*", view: .watch, widgets: WidgetChoice(family: "systemMedium", ahead: 0)
        ).makeAsyncIterator()
        while let change = try await iterator.next(), change != .live {}
        await #expect(throws: TelltaleError.self) {
            for try await _ in telltale.follow("kitchen/*", view: .watch, widgets: WidgetChoice(ahead: 65)) {}
        }
    }

    @Test func `an entry of the gallery`() throws {
        let body = try object(
            #"""
            {"app":"a","title":"Kitchen","description":"See","editTint":"brown","more":true,
             "parameters":[{"name":"shop","title":"Shop","type":"text","options":["Hoegi"],"more":2}],
             "recommended":[{"key":"kitchen/Hoegi","configuration":{"shop":"Hoegi"}}],
             "previews":[{"presentation":"systemSmall","sample":true,"entries":[{"date":0,"view":{"title":"7"}}]}]}
            """#)
        let widget = try #require(GalleryWidget(name: "kitchen", families: "systemSmall,systemMedium", body))
        #expect(widget.families == ["systemSmall", "systemMedium"] && widget.editTint == "brown")
        #expect(widget.parameters.first?.options == ["Hoegi"] && widget.parameters.first?.moreCount == 2)
        #expect(widget.recommended.first?.key.text == "kitchen/Hoegi")
        #expect(widget.previews.first?.isSample == true)
        #expect(widget.previews.first?.entry(at: at(5))?.parts?.title == .text("7"))
        #expect(GalleryWidget(name: nil, families: nil, body) == nil)
    }
}
