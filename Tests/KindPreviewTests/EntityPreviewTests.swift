import KindPreview
import Kinds
import Machines
import Surfaces
import TelltaleModel
import Testing

/// One entity of a kind, by itself.
struct EntityPreviewTests {
    private static let begin = Timestamp(milliseconds: 1_763_719_200_000)

    private static func preview(_ source: String) throws -> EntityPreview {
        let lint = KindLint(Array(source.utf8))
        let kind = try #require(lint.kind, "\(lint.findings)")
        return try #require(EntityPreview(kind, id: "1042", at: begin))
    }

    @Test func `a widget has no machine to be tried`() throws {
        let source = """
            {"kind":"board","type":"widget","version":1,"app":"com.example","title":"Board",
             "families":["systemSmall"],"views":{"systemSmall":{"title":"{{content.n}}"}}}
            """
        let lint = KindLint(Array(source.utf8))
        #expect(EntityPreview(try #require(lint.kind, "\(lint.findings)"), id: "main", at: Self.begin) == nil)
    }

    private static let order = """
        {"kind":"order","type":"activity","version":1,"app":"com.example.shop","title":"Order","stale":"10m","dismiss":"1h",
         "accept":{"CONFIRMED":"confirm"},
         "machine":{"initial":"placed","states":{
           "placed":{"title":"Placed","on":{"confirm":"busy"}},
           "busy":{"title":"Busy","on":{"ready":"ready"}},
           "ready":{"title":"Ready","alert":{"title":"{{attributes.item}} is ready","body":"Come"},
                    "after":{"5m":"late"},"on":{"collect":"done"}},
           "late":{"on":{"collect":"done"}},"done":{"type":"final"}}},
         "views":{"lockScreen":{"title":"{{state.title}}"}}}
        """

    private static let light = """
        {"kind":"light","type":"toggle","version":1,"app":"com.example","title":"Light","timeout":"10s",
         "symbol":{"on":"lightbulb.fill","off":"lightbulb"}}
        """

    private static let tip = """
        {"kind":"tip","type":"button","version":1,"app":"com.example","title":"Tip","symbol":"gift","timeout":"10s",
         "raises":{"kind":"order","event":"tip"}}
        """

    private func rows(_ preview: EntityPreview, _ traits: Traits = Traits()) throws -> JSONObject {
        var writer = JSONWriter()
        #expect(preview.writeRows(traits: traits, limit: 100_000, to: &writer))
        return try #require(try JSONParser().parse(writer.bytes.span).object)
    }

    private func details(_ text: String) throws -> EventDetails {
        try EventDetails(tail: try JSONParser.parse(text).object ?? JSONObject())
    }

    @Test func `an activity begins with its first event, and goes its way through time`() throws {
        var preview = try Self.preview(Self.order)
        #expect(try rows(preview).isEmpty && preview.deadline == nil)
        let start = try details(#"{"attributes":{"item":"Flat white"}}"#)
        let steps: [EntityPreview.Step] = [
            .event("start", start), .event("CONFIRMED", EventDetails()), .event("nothing", EventDetails()),
            .event("ready", EventDetails()), .pass(.minutes(7)), .event("collect", EventDetails()), .pass(.hours(2)),
        ]
        for step in steps {
            let isFinished = preview.performStep(step)
            #expect(isFinished)
        }
        let seen = preview.log.map { "\($0.step) \($0.name) \($0.verdict?.rawValue ?? "refused") \($0.state)" }
        #expect(
            seen == [
                "0 start applied placed", "1 CONFIRMED applied busy", "2 nothing ignored busy", "3 ready applied ready",
                "4 deadline applied late", "5 collect applied done", "6 deadline applied done",
            ])
        #expect(preview.log[4].time == Self.begin + .minutes(5) && preview.now == Self.begin + .minutes(127))
        #expect(preview.log[3].alert?.title == "Flat white is ready")
        #expect(try rows(preview)["full"]?["lifecycle"] == "dismissed")
    }

    @Test func `a row comes with its alert in the step that alerts, and in no other`() throws {
        var preview = try Self.preview(Self.order)
        for name in ["start", "confirm", "ready"] { _ = preview.performStep(.event(name, EventDetails())) }
        #expect(preview.alert?.body == "Come")
        #expect(preview.alertStyle(on: .watch, traits: Traits()) == .alert)
        #expect(try rows(preview)["standby"]?["banner"] != nil)
        #expect(
            try rows(preview)["full"]?["timers"]?.array?.first?["at"]
                == .integer((Self.begin + .minutes(5)).milliseconds)
        )
        _ = preview.performStep(.pass(.seconds(1)))
        #expect(preview.alert == nil && preview.alertStyle(on: .watch, traits: Traits()) == nil)
        #expect(try rows(preview)["standby"]?["banner"] == nil)
        #expect(try #require(preview.openedRow(traits: Traits())).count > 0)
    }

    @Test func `what is refused says why, and changes nothing`() throws {
        var preview = try Self.preview(Self.order)
        _ = preview.performStep(.event("ready", EventDetails()))
        _ = preview.performStep(.press)
        #expect(preview.log.map(\.verdict) == [nil, nil])
        #expect(preview.log.allSatisfy { $0.note != nil })
        #expect(try rows(preview).isEmpty)
    }

    @Test func `a toggle is set by the screen, and done by its provider or its deadline`() throws {
        var preview = try Self.preview(Self.light)
        for step: EntityPreview.Step in [.report(false), .set(true)] { _ = preview.performStep(step) }
        #expect(preview.state == "pending off" && preview.deadline == Self.begin + .seconds(10))
        let shown = try rows(preview)
        #expect(shown["controlCenterMedium"]?["shown"] == true && shown["full"]?["value"] == false)
        _ = preview.performStep(.done(nil))
        #expect(preview.state == "settled on")
        for step: EntityPreview.Step in [.set(false), .pass(.seconds(11)), .serve(false), .set(false), .done(nil)] {
            _ = preview.performStep(step)
        }
        #expect(
            preview.log.map { "\($0.name) \($0.verdict?.rawValue ?? "refused") \($0.state)" }.suffix(5) == [
                "set applied pending on", "deadline applied settled on", "provider-left applied settled on",
                "set refused settled on", "done refused settled on",
            ])
    }

    @Test func `a button says what its press raises`() throws {
        var preview = try Self.preview(Self.tip)
        for step: EntityPreview.Step in [.press, .done(nil)] { _ = preview.performStep(step) }
        #expect(preview.log.last?.note?.contains("raises tip for order/") == true)
        #expect(try rows(preview)["controlCenterSmall"]?["symbol"] == "gift")
    }

    @Test func `a situation changes what surfaces show`() throws {
        var preview = try Self.preview(Self.order)
        _ = preview.performStep(.event("start", EventDetails()))
        var traits = Traits()
        traits.isDashboardHidden = true
        #expect(try rows(preview, traits)["carplay"] == .null && rows(preview)["carplay"]?["presentation"] != nil)
    }

    /// Its two states hand each other over each millisecond.
    private static let restless = """
        {"kind":"restless","type":"activity","version":1,"app":"com.example","title":"Restless",
         "machine":{"initial":"a","states":{"a":{"after":{"1ms":"b"},"on":{"stop":"c"}},"b":{"after":{"1ms":"a"}},
           "c":{"type":"final"}}}}
        """

    @Test func `a machine that never rests is cut off, and its caller can stop it before`() throws {
        var preview = try Self.preview(Self.restless)
        _ = preview.performStep(.event("start", EventDetails()))
        let isTaken = preview.performStep(.pass(.hours(1)))
        #expect(isTaken && preview.log.count <= EntityPreview.logLimit && preview.log.last?.verdict == nil)
        var asked = 0
        let isFinished = preview.performStep(.pass(.hours(1))) {
            asked += 1
            return asked < 10
        }
        #expect(!isFinished && asked == 10)
    }

    @Test func `rows that are too long are left out`() throws {
        var preview = try Self.preview(Self.order)
        _ = preview.performStep(.event("start", EventDetails()))
        var writer = JSONWriter()
        #expect(!preview.writeRows(traits: Traits(), limit: 300, to: &writer))
        #expect(writer.bytes.count < 500)
    }
}
