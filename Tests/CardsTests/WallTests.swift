import Cards
import TelltaleModel
import Testing

struct ShelfTests {
    private static func shelf() -> Shelf {
        Shelf(places: 2, patience: Milliseconds(1000), patienceWhenOver: Milliseconds(100))
    }

    @Test func `a card keeps its place while others come, and the newest takes a free one`() {
        var shelf = Self.shelf()
        #expect(shelf.arranged(at: Milliseconds(0)) == [nil, nil])
        shelf.changed("a", isOver: false, at: Milliseconds(0))
        #expect(shelf.arranged(at: Milliseconds(0)) == ["a", nil])
        for (key, time) in [("b", 1), ("c", 2), ("d", 3)] {
            shelf.changed(key, isOver: false, at: Milliseconds(Int64(time)))
        }
        #expect(shelf.arranged(at: Milliseconds(3)) == ["a", "d"])
        shelf.changed("b", isOver: false, at: Milliseconds(4))
        #expect(shelf.arranged(at: Milliseconds(4)) == ["a", "d"])
        shelf.removed("a")
        #expect(shelf.arranged(at: Milliseconds(4)) == ["c", "d"])
    }

    @Test func `one that stands still makes room, one that is over sooner`() {
        var shelf = Self.shelf()
        shelf.changed("a", isOver: false, at: Milliseconds(0))
        shelf.changed("b", isOver: false, at: Milliseconds(0))
        #expect(shelf.arranged(at: Milliseconds(0)) == ["a", "b"])
        shelf.changed("b", isOver: true, at: Milliseconds(500))
        #expect(shelf.arranged(at: Milliseconds(600)) == ["a", "b"])
        #expect(shelf.arranged(at: Milliseconds(601)) == ["a", nil])
        #expect(shelf.arranged(at: Milliseconds(1001)) == [nil, nil])
        // When something happens to it again, it may have a place again.
        shelf.changed("a", isOver: false, at: Milliseconds(2000))
        #expect(shelf.arranged(at: Milliseconds(2000)) == ["a", nil])
    }
}

struct WallTests {
    private static let now = Timestamp(milliseconds: 1_795_264_107_880)

    private static func wall() throws -> Wall {
        func card(_ key: String, _ body: String) throws -> Card {
            Card(key: key, body: try JSONParser.parse(body).object ?? JSONObject())
        }
        let parcel = #""view":{"symbol":"shippingbox.fill","title":"On its way","progress":0.7}"#
        let small = try card("parcel/7", #"{"presentation":"small","order":1,"lifecycle":"active",\#(parcel)}"#)
        let compact = try card(
            "parcel/7",
            #"{"presentation":"compact","view":{"leading":{"symbol":"shippingbox"},"trailing":{"text":"On its way"}}}"#)
        let light = try card(
            "porch-light/front",
            #"""
            {"control":"toggle","value":false,"shown":true,"phase":"pending","wanted":true,"available":true,
             "symbol":"lightbulb.fill","title":"Porch light","text":"On"}
            """#)
        return Wall(
            title: "Real orders", carplay: .init(.carplay, cards: [small]), watch: .init(.watch, cards: [small]),
            desktop: .init(.desktop, cards: [compact], notices: [Notice(title: "On its way", body: "Order 7")]),
            control: light, controlTitle: "Home", controlNote: "1 tap, 0 failed", progress: 0.5,
            progressText: "10/20 events", foot: "ctrl-c ends")
    }

    @Test func `eighty columns by twenty-four lines hold three screens and a light`() throws {
        let block = try Self.wall().draw(at: Self.now, width: 80, height: 24)
        #expect(block.height <= 24)
        #expect(block.width <= 80)
        let text = block.text(color: false).map { $0.replacing(/[ ]+$/, with: "") }
        #expect(text.first == "Real orders")
        #expect(
            text[1]
                == "┏━ CarPlay ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓ ┏━ Watch ━━━━━━━━━━━━━━━━━━┓")
        #expect(text.contains { $0.contains("┏━ Mac ━") && $0.contains("┏━ Home ━") })
        #expect(text.contains { $0.contains("💡 Porch light   [ ─●]") })
        #expect(text.contains { $0.contains("On · → on …") })
        #expect(text.contains { $0.contains("🔔 On its way Order 7") })
        #expect(text.dropLast().last == "████████████████████░░░░░░░░░░░░░░░░░░░░ 10/20 events")
        #expect(text.last == "ctrl-c ends")
    }

    @Test func `where there is room, all three stand in one row`() throws {
        let block = try Self.wall().draw(at: Self.now, width: 160, height: 40)
        let first = try #require(block.text(color: false).dropFirst().first)
        #expect(first.contains("━ CarPlay ━") && first.contains("━ Watch ━") && first.contains("━ Mac ━"))
    }

    @Test(
        "However small the terminal, nothing is wider or higher",
        arguments: [(1, 1), (20, 5), (40, 12), (61, 24), (129, 20)])
    func small(width: Int, height: Int) throws {
        let block = try Self.wall().draw(at: Self.now, width: width, height: height)
        #expect(block.height <= max(4, height))
        #expect(block.text(color: false).allSatisfy { $0.count <= width })
    }
}
