import Kinds
import Surfaces
import TelltaleModel
import Testing

@testable import Hub

/// Widgets that come and go by themselves: W43, W44.
struct RelevanceTests {
    private static func kind(_ name: String, _ context: String) -> String {
        """
        {"kind":"\(name)","type":"widget","version":1,"app":"com.example.coffee","title":"Hint",
         "families":["accessoryRectangular","systemSmall"],"source":{"each":"coffee-order"},"relevance":[\(context)],
         "views":{"accessoryRectangular":{"title":"{{id}} {{state.title}}"},"systemSmall":{"title":"{{id}}"}}}
        """
    }

    private func harness(_ context: String) throws -> HubHarness {
        try HubHarness(kinds: [HubHarness.coffee, Self.kind("hint", context)])
    }

    private static let dates = #"{"date":{"from":"{{content.from}}","to":"{{content.to}}"}}"#

    private func start(_ id: String, _ from: Int64, _ to: Int64, of harness: HubHarness) {
        let second = harness.time.milliseconds / 1_000
        harness.send(
            #"EVT coffee-order/\#(id) type=start {"content-state":{"from":\#(second + from),"to":\#(second + to)}}"#,
            from: harness.connect())
    }

    /// How many of these rows draw something at a moment: what a watch without a connection does.
    private func drawnCount(_ rows: [String], at time: Timestamp) throws -> Int {
        try rows.filter { row in
            let entries = try HubHarness.tail(row)["entries"]?.array ?? []
            let shown = entries.last { ($0["date"]?.integer ?? 0) <= time.milliseconds }
            return shown?["view"].map { $0 != .null } ?? false
        }.count
    }

    @Test("W-V62: at each date a watch draws the instances that are relevant then, without a message")
    func dates() throws {
        let harness = try harness(Self.dates)
        let (watch, beginning) = (harness.connect(), harness.time)
        harness.send("SUB hint/* view=watch", from: watch)
        start("a", 0, 600, of: harness)
        start("b", 300, 900, of: harness)
        let rows = harness.lines(of: watch).filter { $0.hasPrefix("UPD") }
        #expect(rows.count == 2)
        for (second, count) in [(0, 1), (299, 1), (300, 2), (599, 2), (600, 1), (899, 1), (900, 0)] as [(Int64, Int)] {
            #expect(try drawnCount(rows, at: beginning + .seconds(second)) == count, "\(second)")
        }
        harness.advance(by: .seconds(900))
        #expect(!harness.lines(of: watch).contains { $0.contains("why=hidden") })
        let row = harness.send("GET hint/a view=watch", from: watch).filter { !$0.hasPrefix("MARK") }
        #expect(row.first?.contains(#""view":null"#) == true)
    }

    @Test("W-V63: a situation brings the row, and its end takes it away")
    func situations() throws {
        let harness = try harness(#"{"place":"work"},{"headphones":"on"}"#)
        let watch = harness.connect()
        harness.send("EVT coffee-order/a type=start {}", from: harness.connect())
        let begun = harness.send("SUB hint/* view=watch", from: watch)
        #expect(!begun.contains { $0.hasPrefix("UPD") || $0.hasPrefix("SNAP") })
        #expect(harness.send("TRAIT place=work", from: watch).contains { $0.hasPrefix("UPD sub=1 key=hint/a") })
        // One context that is true is enough.
        #expect(!harness.send("TRAIT headphones=on", from: watch).contains { $0.contains("why=hidden") })
        #expect(!harness.send("TRAIT place=none", from: watch).contains { $0.contains("why=hidden") })
        #expect(
            harness.send("TRAIT headphones=off", from: watch).contains {
                $0.hasPrefix("DEL sub=1 key=hint/a") && $0.contains("why=hidden")
            })
        #expect(harness.send("GET hint/a view=watch", from: watch).contains { $0.contains("not_offered") })
    }

    @Test("W-V65: other places do not show it by itself, and it is not in the gallery")
    func otherPlaces() throws {
        let harness = try harness(Self.dates)
        start("a", 0, 600, of: harness)
        let phone = harness.connect()
        #expect(
            !harness.send("SUB hint/* view=phone", from: phone).contains { $0.hasPrefix("SNAP") || $0.hasPrefix("UPD") }
        )
        #expect(harness.send("GET hint/a view=phone", from: phone).contains { $0.contains("not_offered") })
        #expect(
            harness.send("GET hint/a view=watch placement=complications", from: phone).contains {
                $0.contains("not_offered")
            })
        #expect(harness.send("GALLERY view=watch", from: phone).contains("OK count=0"))
    }

    @Test("W44: a setting names places beside the watch, where they come and go in the families of the place")
    func morePlaces() throws {
        var configuration = HubConfiguration()
        configuration.surfaces.relevancePlaces = [.home]
        let harness = try HubHarness(
            kinds: [HubHarness.coffee, Self.kind("hint", #"{"place":"work"}"#)], configuration: configuration)
        harness.send("EVT coffee-order/a type=start {}", from: harness.connect())
        let (phone, watch) = (harness.connect(), harness.connect())
        for (screen, view) in [(phone, "phone"), (watch, "watch")] {
            harness.send("SUB hint/* view=\(view)", from: screen)
            let came = harness.send("TRAIT place=work", from: screen)
            #expect(came.contains { $0.hasPrefix("UPD sub=1 key=hint/a") }, "\(view)")
            let gone = harness.send("TRAIT place=none", from: screen)
            #expect(gone.contains { $0.hasPrefix("DEL sub=1 key=hint/a") && $0.contains("why=hidden") }, "\(view)")
        }
        harness.send("TRAIT place=work", from: phone)
        #expect(
            harness.send("GET hint/a view=phone placement=lockScreen", from: phone).contains {
                $0.contains("not_offered")
            })
        #expect(harness.send("GALLERY view=phone", from: phone).contains("OK count=0"))
    }

    @Test func `another set of places is another selection, and a cursor of the default one stays good`() throws {
        func cursor(_ places: Set<WidgetPlace>) throws -> String {
            var configuration = HubConfiguration()
            configuration.surfaces.relevancePlaces = places
            let harness = try HubHarness(configuration: configuration)
            return try harness.cursor(of: "SUB hint/* view=phone", from: harness.connect())
        }
        #expect(try cursor([.home]) != cursor([]))
        #expect(try cursor([.home, .lockScreen]) != cursor([.home]))
    }

    @Test func `a change of the dates is a row, and a resume is sent what its entries may have used up`() throws {
        let harness = try harness(Self.dates)
        start("a", 300, 600, of: harness)
        let watch = harness.connect()
        let cursor = try harness.cursor(of: "SUB hint/* view=watch", from: watch)
        let second = harness.time.milliseconds / 1_000
        harness.send(
            #"EVT coffee-order/a type=update {"content-state":{"from":\#(second),"to":\#(second + 60)}}"#,
            from: harness.connect())
        let row = harness.lines(of: watch).last { $0.hasPrefix("UPD") }
        #expect(try drawnCount([try #require(row)], at: harness.time) == 1)
        harness.advance(by: .seconds(700))
        let back = harness.send("SUB hint/* view=watch from=\(cursor)", from: harness.connect())
        #expect(back.contains { $0.hasPrefix("UPD") && $0.contains("why=resume") })
        _ = try harness.recovered()
    }

    @Test func `what is no pair of rising dates is never relevant`() throws {
        let harness = try harness(Self.dates)
        for content in [#"{}"#, #"{"from":"x","to":5}"#, #"{"from":9e99,"to":1}"#, #"{"from":20,"to":10}"#] {
            harness.send(#"EVT coffee-order/n type=start {"content-state":\#(content)}"#, from: harness.connect())
            let row = harness.send("GET hint/n view=watch", from: harness.connect()).first ?? ""
            #expect(try drawnCount([row], at: harness.time) == 0, "\(content)")
        }
    }
}
