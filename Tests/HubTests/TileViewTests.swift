import TelltaleModel
import Testing

/// The tiles of a board in each place. Vectors W-V are those of Protocols/Widgets/rules.md.
struct TileViewTests {
    private static func kind(_ name: String, _ families: [String], _ more: String = "") -> String {
        let views = families.map {
            #""\#($0)":{"title":"{{content.n}}","buttons":["press/1"],"background":{"tint":"red"}}"#
        }
        let names = families.map { #""\#($0)""# }.joined(separator: ",")
        return """
            {"kind":"\(name)","type":"widget","version":1,"app":"a.b","title":"\(name)","families":[\(names)],\(more)
             "views":{\(views.joined(separator: ","))}}
            """
    }

    private static let hint = """
        {"kind":"hint","type":"widget","version":1,"app":"a.b","title":"Hint","families":["accessoryRectangular"],
         "source":{"each":"coffee-order"},"relevance":[{"place":"work"}],
         "views":{"accessoryRectangular":{"title":"{{id}}"}}}
        """
    private static let kinds = [
        DerivedWidgetTests.coffee, hint, kind("news", ["systemSmall", "systemMedium"]),
        kind("wall", ["systemSmall", "systemExtraLargePortrait"]),
        kind("raised", ["systemSmall"], #""mounting":["elevated"],"#),
        kind("sunk", ["systemSmall"], #""mounting":["recessed"],"texture":"paper","#),
        kind("lit", ["systemSmall"], #""backgroundRemovable":false,"#),
        kind("line", ["systemSmall", "accessoryRectangular", "accessoryCircular"]),
    ]

    private let harness: HubHarness
    private let phone: HubHarness.Client

    init() throws {
        harness = try HubHarness(kinds: Self.kinds)
        phone = harness.connect(as: "alice")
    }

    private func say(_ line: String, _ client: HubHarness.Client? = nil) -> String {
        TileTests.reply(harness, line, client ?? phone)
    }

    private func body(_ line: String) throws -> JSON { try TileTests.body(say(line)) }

    @Test("W-V53: a stack takes ten tiles of its family")
    func stackLimit() {
        for number in 1...10 {
            #expect(say("TILE @b/t\(number) do=add widget=news stack=s").contains("verdict=applied"))
        }
        #expect(say("TILE @b/t11 do=add widget=news stack=s").contains("code=limit_tiles retry=later"))
        _ = say("TILE @b/t10 do=remove")
        #expect(say("TILE @b/t11 do=add widget=news family=systemMedium stack=s").contains("code=not_offered"))
        // Without a family it is that of the stack.
        #expect(say("TILE @b/t11 do=add widget=news stack=s").contains("verdict=applied"))
    }

    @Test("W-V54: the Lock Screen has no stack, and shows no tile of one")
    func lockScreen() throws {
        #expect(say("TILE @b/s do=stack placement=lockScreen").contains("code=not_offered"))
        #expect(
            say("TILE @b/t1 do=add widget=line family=accessoryRectangular placement=lockScreen stack=s")
                .contains("code=not_offered"))
        #expect(say("TILE @b/t1 do=add widget=line family=accessoryRectangular stack=s").hasPrefix("OK"))
        #expect(say("GET @b/t1 view=phone placement=lockScreen").contains("code=not_offered"))
        #expect(say("GET @b/t1 view=watch").hasPrefix("OK"))
    }

    @Test("W-V65: a widget that comes by itself is not placed")
    func relevance() {
        #expect(say("TILE @b/t1 do=add widget=hint family=accessoryRectangular").contains("code=not_offered"))
        #expect(say("GET @b/t1").contains("code=unknown_key"))
    }

    @Test("W-V79: StandBy shows two tiles side by side, the tops of the first two places that it has")
    func standBy() throws {
        let bedside = harness.connect(as: "alice")
        for (id, words) in [("t1", "widget=news"), ("t2", "widget=news"), ("t3", "widget=line")] {
            _ = say("TILE @b/\(id) do=add \(words)")
        }
        let lines = harness.send("SUB @b/* view=standby", from: bedside)
        let rows = lines.filter { $0.hasPrefix("SNAP") }
        #expect(rows.count == 2)
        for (row, order) in zip(rows, 1...2) {
            let body = try TileTests.body(row)
            #expect(body["order"] == .integer(Int64(order)) && body["scale"] == 2 && body["background"] == "removed")
        }
        // A tile that StandBy does not show leaves its room to the next.
        _ = say("TILE @b/t0 do=add widget=lit pos=1")
        #expect(try body("GET @b/t1 view=standby")["order"] == 1)
        #expect(say("GET @b/t3 view=standby").contains("code=not_offered"))
        _ = harness.lines(of: bedside)
        _ = say("TILE @b/t1 do=remove")
        let changes = WidgetTests.rows(harness, bedside)
        #expect(changes.contains { $0.hasPrefix("DEL") && $0.contains("@b/t1 ") && $0.contains("why=removed") })
        let third = changes.first { $0.contains("@b/t3 ") }
        #expect(try TileTests.body(third)["order"] == 2)
        // A stack is one place; its top is shown.
        _ = say("TILE @b/t4 do=add widget=news stack=s pos=1")
        _ = say("TILE @b/t5 do=add widget=news stack=s")
        _ = say("TILE @b/s do=move pos=1")
        _ = say("TILE @b/t5 do=show")
        let top = try body("GET @b/t5 view=standby")
        #expect(top["order"] == 1 && top["stack"] == "s" && top["top"] == true)
        #expect(say("GET @b/t4 view=standby").contains("code=not_offered"))
        #expect(say("GET @b/t3 view=standby").contains("code=not_offered"))
    }

    @Test("W56: a place that begins to show something moves the next one, for a follower and for one that was away")
    func standByNumbers() throws {
        let (bedside, other, again) = (
            harness.connect(as: "alice"), harness.connect(as: "alice"), harness.connect(as: "alice")
        )
        _ = say("TILE @b/s do=stack")
        _ = say("TILE @b/t1 do=add widget=news")
        let rows = harness.send("SUB @b/* view=standby", from: bedside).filter { $0.hasPrefix("SNAP") }
        #expect(try TileTests.body(rows.first)["order"] == 1)
        let cursor = try harness.cursor(of: "SUB @b/* view=standby", from: other)
        harness.disconnect(other)
        _ = say("TILE @b/t2 do=add widget=news stack=s")
        let resumed = WidgetTests.reply(harness, "SUB @b/* view=standby from=\(cursor)", again)
        for lines in [WidgetTests.rows(harness, bedside), resumed] {
            let moved = lines.last { $0.contains("@b/t1 ") }
            #expect(try TileTests.body(moved)["order"] == 2)
        }
    }

    @Test("W-V80: at night StandBy is tinted")
    func night() throws {
        let bedside = harness.connect(as: "alice")
        _ = say("TILE @b/t1 do=add widget=news")
        harness.send("SUB @b/* view=standby", from: bedside)
        let lines = WidgetTests.reply(harness, "TRAIT light=low", bedside)
        let body = try TileTests.body(lines.last { $0.hasPrefix("UPD") })
        #expect(body["night"] == true && body["mode"] == "vibrant")
    }

    @Test("W-V99: CarPlay has no systemMedium, of a tile either")
    func carPlay() throws {
        #expect(say("TILE @b/t1 do=add widget=news family=systemMedium placement=carplay").contains("code=not_offered"))
        #expect(say("TILE @b/t1 do=add widget=news family=systemMedium").hasPrefix("OK"))
        #expect(say("GET @b/t1 view=carplay").contains("code=not_offered"))
        #expect(harness.send("SUB @b/* view=carplay", from: harness.connect(as: "alice")).count == 2)
        #expect(try body("GET @b/t1 view=phone")["presentation"] == "systemMedium")
    }

    @Test("W-V103: the portrait family is shown on visionOS alone")
    func portrait() throws {
        let family = "family=systemExtraLargePortrait"
        #expect(say("TILE @b/t1 do=add widget=wall \(family) placement=home").contains("code=not_offered"))
        #expect(say("TILE @b/t1 do=add widget=wall \(family)").hasPrefix("OK"))
        #expect(try body("GET @b/t1 view=vision")["presentation"] == "systemExtraLargePortrait")
        #expect(say("GET @b/t1 view=pad").contains("code=not_offered"))
    }

    @Test("W-V104: recessed is for walls, and for kinds that stand so")
    func mounting() throws {
        func add(_ kind: String, _ words: String) -> String { say("TILE @b/\(kind) do=add widget=\(kind) \(words)") }
        #expect(add("wall", "mounting=recessed placement=horizontal").contains("code=not_offered"))
        #expect(add("wall", "mounting=recessed").contains("code=not_offered"))
        #expect(add("wall", "mounting=recessed placement=vertical").hasPrefix("OK"))
        #expect(try body("GET @b/wall view=vision")["mounting"] == "recessed")
        #expect(say("GET @b/wall view=vision placement=horizontal").contains("code=not_offered"))
        #expect(add("raised", "mounting=recessed placement=vertical").contains("code=not_offered"))
        #expect(add("raised", "placement=vertical").hasPrefix("OK"))
        #expect(try body("GET @b/raised view=vision")["mounting"] == "elevated")
        // A kind that is recessed alone.
        #expect(add("sunk", "placement=horizontal").contains("code=not_offered"))
        #expect(add("sunk", "mounting=elevated placement=vertical").contains("code=not_offered"))
        #expect(add("sunk", "placement=vertical").hasPrefix("OK"))
        let sunk = try body("GET @b/sunk view=vision")
        #expect(sunk["mounting"] == "recessed" && sunk["texture"] == "paper")
        #expect(add("news", "mounting=recessed placement=home").contains("code=not_offered"))
    }

    @Test("W-V105: from afar a tile on visionOS is simplified; elsewhere distance does nothing")
    func distance() throws {
        _ = say("TILE @b/t1 do=add widget=news")
        _ = say(WidgetTests.timeline("news/main", [0], from: harness.time))
        for (view, detail) in [("vision", JSON.string("simplified")), ("phone", nil)] {
            let client = harness.connect(as: "alice")
            harness.send("TRAIT distance=far", from: client)
            let row = say("GET @b/t1 view=\(view)", client)
            #expect(try TileTests.body(row)["detail"] == detail)
            #expect(row.contains("press/1") == (detail == nil))
        }
    }

    @Test("W-V106: tiles of visionOS keep size and theme over a restart, and are of glass")
    func spatial() throws {
        #expect(say("TILE @b/t1 do=add widget=news scale=130").contains("code=bad_attr"))
        #expect(say("TILE @b/t1 do=add widget=news scale=125 placement=home").contains("code=not_offered"))
        #expect(say("TILE @b/t1 do=add widget=news theme=green placement=horizontal").hasPrefix("OK"))
        let themed = try body("GET @b/t1 view=vision")
        #expect(themed["mode"] == "accented" && themed["behind"] == "green" && themed["texture"] == "glass")
        for number in 2...5 { _ = say("TILE @b/t\(number) do=add widget=news scale=\(70 + 10 * number)") }
        #expect(try body("GET @b/t5 view=vision")["scale"] == 1.2)
        let before = WidgetTests.reply(harness, "LIST @b/* view=vision", phone)
        #expect(before.count == 6)
        try harness.restart(kinds: Self.kinds)
        let again = harness.connect(as: "alice")
        #expect(WidgetTests.reply(harness, "LIST @b/* view=vision", again) == before)
        #expect(say("TILE @b/t1 do=configure theme=none", again).hasPrefix("OK"))
        #expect(try TileTests.body(say("GET @b/t1 view=vision", again))["mode"] == "fullColor")
    }

    @Test("A tile that names a place is shown there alone; another one at the first place that has its family")
    func places() throws {
        _ = say("TILE @b/t1 do=add widget=line family=accessoryCircular placement=lockScreen")
        _ = say("TILE @b/t2 do=add widget=line family=accessoryCircular")
        _ = say("TILE @b/t3 do=add widget=line")
        func shown(_ words: String) -> [String] {
            WidgetTests.reply(harness, "LIST @b/* \(words)", phone).compactMap { HubHarness.attribute("key", of: $0) }
        }
        #expect(shown("view=phone") == ["@b/t1", "@b/t2", "@b/t3"])
        #expect(shown("view=phone placement=home") == ["@b/t3"])
        #expect(shown("view=phone placement=lockScreen") == ["@b/t1", "@b/t2"])
        #expect(shown("view=watch") == ["@b/t2"])
        #expect(shown("view=phone family=systemSmall") == ["@b/t3"])
        #expect(try body("GET @b/t2 view=phone")["mode"] == "vibrant")
    }

    @Test("A wrong word is named, with the words that there are")
    func words() {
        for (words, name) in [
            ("family=huge", "family"), ("placement=gallery", "placement"), ("placement=roof", "placement"),
            ("mounting=glued", "mounting"), ("pos=0", "pos"), ("pos=x", "pos"), ("smart=maybe", "smart"),
            ("stack=a/b", "stack"),
        ] {
            let answer = say("TILE @b/t1 do=add widget=news \(words)")
            #expect(answer.contains("code=bad_attr") && answer.contains("\(name)="), "\(answer)")
        }
        #expect(say("TILE @b/t1 do=add").contains("widget= is missing"))
        #expect(say("TILE @b/t1 do=dance").contains("code=bad_attr"))
        #expect(say("TILE @b/t1").contains("do= is missing"))
        #expect(say("TILE @b/~1 do=add widget=news").contains("code=bad_key"))
        _ = say("TILE @b/t1 do=add widget=news")
        for line in ["do=move", "do=configure", "do=pin pos=11", "do=configure widget=line"] {
            #expect(say("TILE @b/t1 \(line)").contains("code=bad_attr"), "\(line)")
        }
    }
}
