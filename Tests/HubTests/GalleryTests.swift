import TelltaleModel
import Testing

/// The gallery of widgets, over the line. Vectors W-V are those of Protocols/Widgets/rules.md.
struct GalleryTests {
    static let kitchen = """
        {"kind":"kitchen","type":"widget","version":1,"app":"com.example.coffee","title":"Kitchen","description":"See what waits",
         "editTint":"brown","families":["systemSmall","systemMedium","accessoryRectangular"],
         "parameters":{"shop":{"title":"Shop"}},"recommended":[{"shop":"Hoegi"}],"audience":"all",
         "source":{"over":"coffee-order","by":{"shop":"attributes.shop"},"values":{"open":"count"}},
         "views":{"systemSmall":{"symbol":"cup","title":"{{values.open}} waiting","private":["title"]},
                  "systemMedium":{"title":"{{config.shop}}: {{values.open}}"},
                  "accessoryRectangular":{"title":"{{values.open}} waiting here"}},
         "preview":{"values":{"open":7},"config":{"shop":"Centre"}},"url":"https://example.com"}
        """
    static let secret = """
        {"kind":"secret","type":"widget","version":1,"app":"com.example.coffee","title":"Secret","families":["systemSmall"],
         "protection":"complete","views":{"systemSmall":{"title":"{{content.n}}"}}}
        """
    static let card = """
        {"kind":"card","type":"widget","version":1,"app":"com.example.coffee","title":"Card","families":["systemSmall"],
         "source":{"each":"coffee-order"},"views":{"systemSmall":{"title":"{{state.title}}"}}}
        """
    static let mine = """
        {"kind":"mine","type":"widget","version":1,"app":"com.example.coffee","title":"Mine","families":["systemSmall"],
         "parameters":{"shop":{}},"source":{"over":"coffee-order","by":{"shop":"attributes.shop"},"values":{"n":"count"}},
         "views":{"systemSmall":{"title":"{{values.n}}"}}}
        """
    static let kinds = [DerivedWidgetTests.coffee, kitchen, secret, card, mine]

    private static func ask(
        _ harness: HubHarness, _ line: String, _ client: HubHarness.Client
    ) throws -> [ServerText] {
        try WidgetTests.reply(harness, line, client).map { try ServerText($0) }
    }

    private static func widget(_ name: String, _ lines: [ServerText]) throws -> ServerText {
        try #require(lines.first { $0.verb == "WIDGET" && $0.attributes["name"] == name })
    }

    private static func parameter(_ line: ServerText) -> JSON? { line.body?["parameters"]?.array?.first }

    private static func titles(_ line: ServerText) -> [JSON?] {
        (line.body?["previews"]?.array ?? []).map { $0["entries"]?.array?.first?["view"]?["title"] }
    }

    @Test("W-V90: a gallery offers the shops of the orders, and a watch's the recommended one alone")
    func options() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let shop = harness.connect()
        for (id, name) in [("1", "Hoegi"), ("2", "Central")] { AggregateTests.begin(harness, id, shop: name, shop) }
        for (line, expected) in [("GALLERY", ["Central", "Hoegi"]), ("GALLERY view=watch", ["Hoegi"])] {
            let kitchen = try Self.widget("kitchen", Self.ask(harness, line, shop))
            #expect(Self.parameter(kitchen)?["options"]?.array?.compactMap(\.string) == expected)
            #expect(kitchen.body?["recommended"] == [["key": "kitchen/Hoegi", "configuration": ["shop": "Hoegi"]]])
        }
        // The last order of a shop takes the shop along.
        WidgetTests.reply(harness, "EVT coffee-order/2 type=end", shop)
        harness.advance(by: .hours(1))
        let kitchen = try Self.widget("kitchen", Self.ask(harness, "GALLERY", shop))
        #expect(Self.parameter(kitchen)?["options"] == ["Hoegi"])
    }

    @Test("An account's values are distinct by their bytes, and have the order of these")
    func spellings() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let shop = harness.connect()
        let names = ["Caf\u{E9}", "Cafe\u{301}", "Bar"]
        for (number, name) in names.enumerated() { AggregateTests.begin(harness, "\(number)", shop: name, shop) }
        WidgetTests.reply(harness, "HELLO account=alice", shop)
        let options = try Self.parameter(Self.widget("mine", Self.ask(harness, "GALLERY", shop)))?["options"]?.array
        let found = options?.compactMap { $0.string.map { Array($0.utf8) } }
        #expect(found == ["Bar", "Cafe\u{301}", "Caf\u{E9}"].map { Array($0.utf8) })
    }

    @Test("W-V93: one entry a kind, with the families that the surface has")
    func families() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let screen = harness.connect()
        func families(_ line: String) throws -> [String: String] {
            let lines = try Self.ask(harness, line, screen)
            #expect(lines.last?.attributes["count"] == "\(lines.count - 1)")
            return Dictionary(
                uniqueKeysWithValues: lines.dropLast().map {
                    ($0.attributes["name"] ?? "", $0.attributes["families"] ?? "")
                })
        }
        #expect(try families("GALLERY view=watch") == ["kitchen": "accessoryRectangular"])
        // A kind that is hidden while the device is locked is not offered to desktops (W-V84).
        #expect(
            try families("GALLERY view=desktop") == ["kitchen": "systemSmall,systemMedium", "mine": "systemSmall"])
        #expect(
            try families("GALLERY") == [
                "kitchen": "systemSmall,systemMedium,accessoryRectangular", "mine": "systemSmall",
                "secret": "systemSmall",
            ])
        #expect(try families("GALLERY view=phone placement=lockScreen") == ["kitchen": "accessoryRectangular"])
        #expect(
            try families("GALLERY view=carplay") == [
                "kitchen": "systemSmall", "mine": "systemSmall", "secret": "systemSmall",
            ])
        // A place of controls alone.
        #expect(try families("GALLERY view=phone placement=controlCenterSmall") == [:])
    }

    @Test("W-V84: the gallery of a desktop does not list what a locked device must not show")
    func protected() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let phone = harness.connect()
        Self.reply(harness, "TRAIT locked=yes", phone)
        let lines = try Self.ask(harness, "GALLERY view=phone", phone)
        // A gallery is looked at with an unlocked device: nothing is redacted in it.
        let kitchen = try Self.widget("kitchen", lines)
        #expect(Self.titles(kitchen).first == "7 waiting")
        #expect(kitchen.body?["previews"]?.array?.first?["redacted"] == nil)
        #expect(try Self.ask(harness, "GALLERY view=desktop", phone).allSatisfy { $0.attributes["name"] != "secret" })
    }

    @discardableResult
    private static func reply(_ harness: HubHarness, _ line: String, _ client: HubHarness.Client) -> [String] {
        WidgetTests.reply(harness, line, client)
    }

    @Test("W-V94: a placeholder is as long as the preview, and the gallery shows the sample")
    func sample() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let screen = harness.connect()
        let lines = try Self.ask(harness, "GALLERY view=phone", screen)
        let kitchen = try Self.widget("kitchen", lines)
        let previews = try #require(kitchen.body?["previews"]?.array)
        #expect(previews.allSatisfy { $0["sample"] == true && $0["interactive"] == false })
        #expect(Self.titles(kitchen) == ["7 waiting", "Centre: 7", "7 waiting here"])
        #expect(previews.map { $0["presentation"] } == ["systemSmall", "systemMedium", "accessoryRectangular"])
        #expect(previews.allSatisfy { $0["background"] == "kept" && $0["url"] == nil && $0["asOf"] == nil })
        #expect(kitchen.body?["description"] == "See what waits" && kitchen.body?["editTint"] == "brown")
        // Without a preview it is the placeholder.
        let mine = try Self.widget("mine", lines)
        #expect(mine.body?["previews"]?.array?.first?["sample"] == nil)
        #expect(mine.body?["previews"]?.array?.first?["entries"]?.array?.first?["placeholder"] == true)
        // The placeholder itself.
        let sales = """
            {"kind":"sales","type":"widget","version":1,"app":"a","title":"Sales","families":["systemSmall"],
             "views":{"systemSmall":{"title":"{{content.n}} waiting","symbol":"cup"}},"preview":{"content":{"n":7}}}
            """
        let other = try HubHarness(kinds: [sales])
        let client = other.connect()
        let row = try #require(try Self.ask(other, "GET sales/main view=phone", client).first)
        #expect(row.body?["entries"]?.array?.first?["view"] == ["title": ["block": 9], "symbol": "cup"])
    }

    @Test func `a preview looks as it would in the place that is named`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let screen = harness.connect()
        let lines = try Self.ask(harness, "GALLERY view=phone placement=lockScreen", screen)
        let preview = try Self.widget("kitchen", lines).body?["previews"]?.array?.first
        #expect(preview?["mode"] == "vibrant" && preview?["background"] == "removed")
        let car = try Self.widget("kitchen", Self.ask(harness, "GALLERY view=carplay", screen)).body?["previews"]?.array
        #expect(car?.first?["scale"] == 2 && car?.first?["style"] == "standby" && car?.first?["interactive"] == false)
    }

    @Test func `the shops of another account are reported to nobody else`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (shop, alice) = (harness.connect(), harness.connect(as: "alice"))
        AggregateTests.begin(harness, "1", shop: "Hers", words: "for=alice", shop)
        AggregateTests.begin(harness, "2", shop: "Theirs", words: "for=bob", shop)
        AggregateTests.begin(harness, "3", shop: "Open", shop)
        func options(_ client: HubHarness.Client) throws -> [String] {
            let mine = try Self.widget("mine", Self.ask(harness, "GALLERY", client))
            return Self.parameter(mine)?["options"]?.array?.compactMap(\.string) ?? []
        }
        #expect(try options(alice) == ["Hers", "Open"])
        #expect(try options(shop) == ["Hers", "Open", "Theirs"])
        // A turn does not look at any number of them.
        for id in 4...1_026 { AggregateTests.begin(harness, "\(id)", shop: "Open", shop) }
        #expect(try options(alice) == [])
        #expect(try options(shop) == ["Hers", "Open", "Theirs"])
    }

    @Test func `64 values are reported, however they come and go, and how many more there are`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let shop = harness.connect()
        func name(_ number: Int) -> String { "s\(1_000 + number)" }
        func reported() throws -> (options: [String], more: Int64) {
            let kitchen = try Self.widget("kitchen", Self.ask(harness, "GALLERY", shop))
            let parameter = Self.parameter(kitchen)
            return (parameter?["options"]?.array?.compactMap(\.string) ?? [], parameter?["more"]?.integer ?? 0)
        }
        for number in (0..<300).reversed() {
            AggregateTests.begin(harness, "\(number)", shop: name(number), shop)
        }
        #expect(try reported() == ((0..<64).map(name), 236))
        // More of the first ones go than are kept in store.
        for number in 0..<200 { WidgetTests.reply(harness, "EVT coffee-order/\(number) type=end", shop) }
        harness.advance(by: .hours(1))
        #expect(try reported() == ((200..<264).map(name), 36))
        AggregateTests.begin(harness, "new", shop: name(5), shop)
        #expect(try reported() == ([name(5)] + (200..<263).map(name), 37))
    }

    @Test func `faults are reported, and many kinds come in several pieces`() throws {
        let many = (0..<600).map { number in
            """
            {"kind":"w\(1_000 + number)","type":"widget","version":1,"app":"a","title":"W","families":["systemSmall"],
             "views":{"systemSmall":{"title":"{{content.n}}","text":"\(String(repeating: "x", count: 200))"}}}
            """
        }
        let harness = try HubHarness(kinds: many)
        let screen = harness.connect()
        let lines = try Self.ask(harness, "GALLERY view=phone id=g", screen)
        #expect(lines.count == 601 && lines.last?.attributes["count"] == "600" && lines.last?.attributes["id"] == "g")
        let names = lines.dropLast().compactMap { $0.attributes["name"] }
        #expect(names == names.sorted())
        for line in ["GALLERY placement=nowhere", "GALLERY view=tv"] {
            #expect(try Self.ask(harness, line, screen).first?.attributes["code"] == "bad_attr")
        }
        let small = harness.connect()
        #expect(try Self.ask(harness, "GALLERY", small).last?.verb == "OK")
    }
}
