import Kinds
import Machines
import Surfaces
import TelltaleModel
import Testing

struct SurfaceRowTests {
    @Test func `CarPlay without the small family joins the compact halves, and takes no taps`() throws {
        let row = try row(.carplay, kind: plain)
        #expect(row["presentation"] == "compact")
        #expect(row["order"] == 1 && row["interactive"] == false && row["joined"] == true)
        #expect(row["lifecycle"] == "active" && row["stale"] == false)
        #expect(row["app"] == "com.example.coffee" && row["title"] == "Coffee order")
        #expect(row["appName"] == nil)
        #expect(row["view"]?["leading"]?["symbol"] == "cup")
        #expect(row["view"]?["trailing"]?["text"] == "placed")
        #expect(row["url"] == "https://example.com/orders/1042")
    }

    @Test func `the watch adds the app's name where it joins`() throws {
        #expect(try row(.watch, kind: plain)["appName"] == "Coffee")
        let small = try row(.watch, kind: withSmall)
        #expect(small["presentation"] == "small" && small["appName"] == nil)
        #expect(small["view"]?["title"] == "placed" && small["interactive"] == true)
    }

    @Test func `a phone has an object for each place`() throws {
        let row = try row(.phone, kind: plain)
        #expect(row["presentation"] == nil)
        #expect(row["lockScreen"]?["presentation"] == "lockScreen")
        #expect(row["lockScreen"]?["view"]?["title"] == "Hoegi")
        #expect(row["island"]?["presentation"] == "compact")
        #expect(row["island"]?["view"]?["leading"]?["symbol"] == "cup")
        #expect(row["island"]?["expanded"]?["view"] != nil)
        #expect(row["banner"] == nil)

        let locked = try self.row(.phone, kind: plain, traits: [("locked", "yes")])
        #expect(locked["island"] == nil && locked["lockScreen"] != nil)
    }

    @Test func `the pad has a banner with an alert alone`() throws {
        #expect(try row(.pad, kind: plain)["banner"] == nil)
        let row = try row(.pad, kind: plain, type: "ready")
        #expect(row["banner"]?["presentation"] == "lockScreen")
        #expect(row["banner"]?["view"]?["title"] == "Hoegi")
        #expect(row["island"] == nil)
    }

    @Test func `an alert without a place on the island has its expanded view beside it`() throws {
        let row = try row(
            .phone, kind: plain, placement: Placement(.lockScreen, order: 2, options: [.interactive, .expanded]))
        #expect(row["island"] == nil)
        #expect(row["expanded"]?["presentation"] == "expanded" && row["expanded"]?["interactive"] == true)
        #expect(row["expanded"]?["view"]?["leading"] != nil)
    }

    @Test func `buttons and links are inert on a locked device, and on CarPlay`() throws {
        let link = #"{"link":"tel:{{attributes.shop}}","title":"Call"}"#
        let buttons = #""buttons":["coffee-tip/{{id}}",\#(link)]"#
        func interactive(_ view: JSON?) -> [JSON?]? { view?["buttons"]?.array?.map { $0["interactive"] } }
        func written(_ key: String, _ isInteractive: Bool, _ writer: inout JSONWriter) -> Bool {
            writer.beginObject()
            writer.member("interactive", isInteractive)
            writer.endObject()
            return true
        }
        let phone = plain.replacing(#""buttons":["coffee-tip/{{id}}"]"#, with: buttons)
        let open = try row(.phone, kind: phone, control: written)["lockScreen"]
        #expect(interactive(open?["view"]) == [true, true])
        #expect(open?["view"]?["buttons"]?.array?.last == ["interactive": true, "link": "tel:Hoegi", "title": "Call"])
        let locked = try row(.phone, kind: phone, traits: [("locked", "yes")], control: written)["lockScreen"]
        #expect(interactive(locked?["view"]) == [false, false])
        let small = withSmall.replacing(#""buttons":["coffee-tip/{{id}}"]"#, with: buttons)
        #expect(interactive(try row(.carplay, kind: small, control: written)["view"]) == [false, false])
    }

    @Test func `the room of a control that does not exist stays empty, and is not interactive`() throws {
        let open = try row(.phone, kind: plain)["lockScreen"]
        #expect(open?["view"]?["buttons"] == [["key": "coffee-tip/1042", "interactive": false]])
    }

    @Test func `a control stands in its place when its state is known`() throws {
        let row = try row(.desktop, kind: plain, placement: Placement(.lockScreen, order: 1, options: .interactive)) {
            key, isInteractive, writer in
            guard key == "coffee-tip/1042" else { return false }
            writer.value("\(key) \(isInteractive)")
            return true
        }
        #expect(row["presentation"] == "lockScreen")
        #expect(row["view"]?["buttons"] == ["coffee-tip/1042 true"])
    }

    @Test func `text is cut to the limit of the surface`() throws {
        let item = "A flat white with oat milk, two shots and a little cinnamon on top"
        let car = try row(.carplay, kind: withSmall, item: item)
        let text = try #require(car["view"]?["subtitle"]?.string)
        #expect(text.count == Catalogue.textLimit(.small, on: .carplay, isJoined: false))
        #expect(text.hasSuffix("…") && item.hasPrefix(text.dropLast()))
        let symbol = try row(.desktop, kind: plain, item: item)["view"]?["leading"]?["symbol"]
        #expect(symbol == "cup")
        let phone = try row(.phone, kind: plain, item: item)
        #expect(phone["lockScreen"]?["view"]?["subtitle"]?.string == item)
    }

    @Test func `a stale row says so`() throws {
        let row = try row(.desktop, kind: plain, type: "update", staleDate: -1)
        #expect(row["lifecycle"] == "stale" && row["stale"] == true)
    }

    @Test func `a display in StandBy that was tapped is filled`() throws {
        let row = try row(.standby, kind: plain, traits: [("standby", "tapped")])
        #expect(row["presentation"] == "lockScreen" && row["fullScreen"] == true && row["scale"] == 2)
    }

    // MARK: Making rows

    private let plain = """
        {"kind":"coffee","type":"activity","version":1,"app":"com.example.coffee","title":"Coffee order",
         "machine":{"initial":"placed","states":{
           "placed":{"on":{"ready":"ready"}},
           "ready":{"alert":{"title":"Ready","body":""},"on":{"collect":"collected"}},
           "collected":{"type":"final"}}},
         "views":{
           "compact":{"leading":{"symbol":"cup"},"trailing":{"text":"{{state.title}}"}},
           "lockScreen":{"title":"{{attributes.shop}}","subtitle":"{{attributes.item}}","buttons":["coffee-tip/{{id}}"]}},
         "url":"https://example.com/orders/{{id}}"}
        """

    private var withSmall: String {
        plain.replacing(
            "\"views\":{",
            with: """
                "supplementalFamilies":["small"],
                "views":{"small":{"title":"{{state.title}}","subtitle":"{{attributes.item}}","buttons":["coffee-tip/{{id}}"]},
                """)
    }

    private func row(
        _ surface: Surface, kind text: String, type: String? = nil, item: String = "Flat white",
        staleDate: Int64? = nil,
        traits received: [(String, String)] = [], placement: Placement? = nil,
        control: SurfaceRow.ControlWriter = { _, _, _ in false }
    ) throws -> JSON {
        let (read, diagnostics) = KindSet.read(Array(text.utf8), file: "coffee.json")
        let kind = try #require(read, "\(diagnostics)")
        guard case .activity(let definition) = kind.body else { return .null }
        let now = Timestamp(milliseconds: 1_763_719_200_000)
        var start = ActivityEvent(type: "start")
        start.details.attributes = ["shop": "Hoegi", "item": .string(item)]
        let key = try #require(Key("coffee/1042"))
        var (activity, _) = try Activity.start(
            key: key, kind: definition, event: start, accounts: [],
            settings: ActivitySettings(), at: now)
        if let type {
            var event = ActivityEvent(type: type)
            if let staleDate { event.details.staleDate = now + .seconds(staleDate) }
            _ = try activity?.apply(event, settings: ActivitySettings(), at: now)
        }
        let shown = try #require(activity)
        var traits = Traits()
        for (name, value) in received { try traits.set(name, to: value) }
        let projected = Projection.project(
            surface: surface, traits: traits, activities: [VisibleActivity(shown, index: 0, app: 0)], competing: true)
        var writer = JSONWriter()
        SurfaceRow.write(
            shown, kind: kind, placement: placement ?? projected[0], surface: surface, control: control, to: &writer)
        return try JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))
    }
}
