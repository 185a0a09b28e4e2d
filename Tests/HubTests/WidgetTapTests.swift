import TelltaleModel
import Testing

/// Buttons and toggles in the views of widgets. Vectors W-V are those of Protocols/Widgets/rules.md.
struct WidgetTapTests {
    /// Pushed content, and a button in each family that a place may have.
    static let shop = """
        {"kind":"shop","type":"widget","version":1,"app":"com.example.coffee","title":"Shop","carApp":true,
         "families":["systemSmall","accessoryCircular","accessoryCorner","accessoryInline","accessoryRectangular"],
         "views":{
           "systemSmall":{"title":"{{content.n}}","subtitle":"{{content.m}}","invalidates":["subtitle","title"],
                          "buttons":["porch-light/front","log-coffee/1"]},
           "accessoryCircular":{"text":"{{content.n}}","buttons":["porch-light/front"]},
           "accessoryCorner":{"text":"{{content.n}}","buttons":["porch-light/front"]},
           "accessoryInline":{"text":"{{content.n}}","buttons":["porch-light/front"]},
           "accessoryRectangular":{"text":"{{content.n}}","buttons":["porch-light/front"]}}}
        """
    /// How many orders there are that wait for the shop; its button takes one.
    static let waiting = """
        {"kind":"waiting","type":"widget","version":1,"app":"com.example.coffee","title":"Waiting","audience":"all",
         "families":["systemSmall"],"source":{"over":"coffee-order","values":{"n":{"count":"in(placed)"}}},
         "views":{"systemSmall":{"title":"{{values.n}} waiting","invalidates":["title"],"buttons":["log-coffee/1"]}}}
        """

    private func harness(_ more: [String] = [Self.shop]) throws -> (HubHarness, lamp: HubHarness.Client) {
        let raises = #""raises":{"kind":"coffee-order","event":"confirm","id":"{{id}}"}"#
        let harness = try HubHarness(
            kinds: more + [HubHarness.coffee, HubHarness.porchLight(), HubHarness.logCoffee(raises)])
        let lamp = harness.connect()
        for kind in ["porch-light", "log-coffee"] { harness.send("SERVE \(kind)", from: lamp) }
        harness.send("REPORT porch-light/front value=off", from: lamp)
        harness.send("REPORT log-coffee/1", from: lamp)
        return (harness, lamp)
    }

    private func post(_ harness: HubHarness, _ lamp: HubHarness.Client) {
        harness.send(WidgetTests.timeline("shop/main", [0], from: harness.time), from: lamp)
    }

    /// Whether the first button of a row takes taps, and what it shows.
    private func button(_ line: String?) throws -> JSON? {
        try ServerText(try #require(line)).body?["entries"]?.array?.first?["view"]?["buttons"]?.array?.first
    }

    @Test("While an operation of a control in the view is under way, the row names what is in doubt, to everybody")
    func invalid() throws {
        let (harness, lamp) = try harness()
        post(harness, lamp)
        let (phone, other) = (harness.connect(), harness.connect())
        for screen in [phone, other] { WidgetTests.reply(harness, "SUB shop/main view=phone", screen) }
        let tapped = WidgetTests.reply(harness, "SET porch-light/front value=on", phone)
        #expect(try ServerText(try #require(tapped.last)).body?["invalid"] == ["subtitle", "title"])
        #expect(try button(tapped.last)?["shown"] == true)
        let row = try #require(WidgetTests.rows(harness, other).last)
        #expect(try ServerText(row).body?["invalid"] == ["subtitle", "title"])
        #expect(try button(row)?["shown"] == false)
        harness.send("DONE op=\(try #require(harness.operation(askedOf: lamp)))", from: lamp)
        for screen in [phone, other] {
            let rows = WidgetTests.rows(harness, screen)
            #expect(rows.count == 1)
            #expect(try ServerText(rows[0]).body?["invalid"] == nil)
            #expect(try button(rows[0])?["shown"] == true)
        }
    }

    @Test("A control that fails, or whose provider leaves, ends the doubt as well")
    func failures() throws {
        let (harness, lamp) = try harness()
        post(harness, lamp)
        let phone = harness.connect()
        WidgetTests.reply(harness, "SUB shop/main view=phone", phone)
        WidgetTests.reply(harness, "SET porch-light/front value=on", phone)
        harness.send("FAIL op=\(try #require(harness.operation(askedOf: lamp)))", from: lamp)
        let failed = WidgetTests.rows(harness, phone)
        #expect(try ServerText(try #require(failed.last)).body?["invalid"] == nil)
        WidgetTests.reply(harness, "SET porch-light/front value=on", phone)
        harness.advance(by: .minutes(1))
        let late = WidgetTests.rows(harness, phone)
        #expect(try ServerText(try #require(late.last)).body?["invalid"] == nil)
    }

    @Test("A button that changes the order which a widget counts brings the new count with the end of its operation")
    func derived() throws {
        let (harness, lamp) = try harness([Self.waiting])
        harness.send("EVT coffee-order/1 type=start", from: lamp)
        let phone = harness.connect()
        WidgetTests.reply(harness, "SUB waiting/main view=phone", phone)
        let pressed = WidgetTests.reply(harness, "PRESS log-coffee/1", phone)
        #expect(try ServerText(try #require(pressed.last)).body?["invalid"] == ["title"])
        #expect(try WidgetTests.entries(pressed.last, from: harness.time) == ["0:1 waiting"])
        harness.send("DONE op=\(try #require(harness.operation(askedOf: lamp)))", from: lamp)
        let rows = WidgetTests.rows(harness, phone)
        #expect(rows.count == 1)
        #expect(try WidgetTests.entries(rows.last, from: harness.time) == ["0:0 waiting"])
        #expect(try ServerText(rows[0]).body?["invalid"] == nil)
    }

    @Test(
        "W-V98: a button in circular acts on a phone; in corner, inline and on a locked phone it is dead",
        arguments: [
            ("view=phone placement=lockScreen family=accessoryCircular", "", true),
            ("view=watch placement=complications family=accessoryCorner", "", false),
            ("view=phone placement=lockScreen family=accessoryInline", "", false),
            ("view=phone placement=lockScreen family=accessoryCircular", "TRAIT locked=yes", false),
            ("view=phone", "", true), ("view=phone", "TRAIT luminance=reduced", false), ("view=watch", "", false),
        ])
    func dead(look: String, trait: String, acts: Bool) throws {
        let (harness, lamp) = try harness()
        post(harness, lamp)
        let screen = harness.connect()
        if !trait.isEmpty { WidgetTests.reply(harness, trait, screen) }
        let line = WidgetTests.reply(harness, "GET shop/main \(look)", screen).last
        #expect(try ServerText(try #require(line)).body?["interactive"] == .bool(acts))
        #expect(try button(line)?["interactive"] == .bool(acts))
    }

    @Test("W-V100: in a car a button acts with touch=yes; with touch=no, and where the car is disfavoured, it is dead")
    func car() throws {
        let disfavoured = Self.shop.replacing(#""carApp":true"#, with: #""places":{"disfavoured":["carplay"]}"#)
        for (kind, trait, acts) in [
            (Self.shop, "touch=yes", true), (Self.shop, "touch=no", false), (disfavoured, "touch=yes", false),
        ] {
            let (harness, lamp) = try harness([kind])
            post(harness, lamp)
            let car = harness.connect()
            WidgetTests.reply(harness, "TRAIT \(trait)", car)
            #expect(
                try button(WidgetTests.reply(harness, "GET shop/main view=carplay", car).last)?["interactive"]
                    == .bool(acts))
        }
    }

    @Test("OPEN of a part on a place with one target answers the url alone")
    func oneTarget() throws {
        let harness = try WidgetTests.harness()
        let screen = harness.connect()
        WidgetTests.reply(harness, "HELLO surface=watch", screen)
        let line = WidgetTests.reply(harness, "OPEN sales/Hoegi part=title", screen).first
        #expect(try ServerText(try #require(line)).body?["url"]?.string == "https://example.com/Hoegi")
    }
}
