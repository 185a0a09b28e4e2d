import TelltaleModel
import TestSupport
import Testing

@testable import TelltaleKit

struct RowTests {
    private func object(_ text: String) throws -> JSONObject { try #require(try JSONParser.parse(text).object) }

    @Test func `a row of CarPlay`() throws {
        let row = try #require(
            CarPlayRow(
                try object(
                    #"""
                    {"presentation":"compact","order":2,"interactive":false,"lifecycle":"stale","stale":true,"app":"com.example.coffee",
                     "title":"Coffee","joined":true,"highlighted":true,"url":"https://example.com/1",
                     "view":{"leading":{"symbol":"cup","progress":0.25},"trailing":{"timer":1700000000000}}}
                    """#)))
        #expect(
            row.order == 2 && row.frame.lifecycle == .stale && row.frame.isStale && row.isJoined && row.isHighlighted)
        #expect(
            row.card.presentation == .compact && row.card.leading?.symbol == "cup"
                && row.card.leading?.progress?.value == 0.25)
        #expect(
            row.card.trailing?.timer == Timestamp(milliseconds: 1_700_000_000_000)
                && row.frame.url == "https://example.com/1")
    }

    @Test func `a row of a phone is in two places`() throws {
        let row = try #require(
            PhoneRow(
                try object(
                    #"""
                    {"order":1,"lifecycle":"active","stale":false,"app":"a","title":"T",
                     "lockScreen":{"presentation":"lockScreen","interactive":true,"view":{"title":"Ready","buttons":[
                       {"key":"coffee-tip/1","interactive":true,"control":"button","phase":"idle","available":true,"title":"Tip"},
                       {"key":"coffee-tip/2","interactive":false},{"link":"https://example.com","interactive":true,"title":"Open"}]}},
                     "island":{"presentation":"minimal","order":2,"attached":false,"view":{"symbol":"cup"},
                       "expanded":{"presentation":"expanded","interactive":true,"view":{"bottom":{"text":"Shelf B"}}}}}
                    """#)))
        let buttons = try #require(row.lockScreen?.parts.buttons)
        #expect(
            row.lockScreen?.isInteractive == true && buttons.count == 3
                && buttons[2].action == .link("https://example.com"))
        guard case .control(let key, let control?) = buttons[0].action, case .control(_, nil) = buttons[1].action else {
            Issue.record("\(buttons)")
            return
        }
        #expect(key.text == "coffee-tip/1" && control.kind == .button && control.isAvailable)
        #expect(
            row.island?.isAttached == false && row.island?.order == 2 && row.island?.expanded?.bottom?.text == "Shelf B"
        )
        #expect(row.banner == nil && row.expanded == nil)
    }

    @Test func `the rows of a watch, a desktop and StandBy`() throws {
        let text =
            #"{"presentation":"small","order":1,"interactive":true,"lifecycle":"active","stale":false,"app":"a","title":"T","appName":"A","luminance":"reduced","night":true,"fullScreen":true,"scale":2,"banner":{"presentation":"lockScreen","view":{}},"view":{"progress":{"value":7,"segments":3}}}"#
        let body = try object(text)
        let watch = try #require(WatchRow(body))
        #expect(watch.appName == "A" && watch.isLuminanceReduced && watch.card.parts.progress?.value == 1)
        #expect(watch.card.parts.progress?.segments == 3 && DesktopRow(body)?.card.isInteractive == true)
        #expect(watch.card.privateParts == [] && watch.card.summary == nil && watch.card.redacted == [])
        let standby = try #require(StandByRow(body))
        #expect(
            standby.isNight && standby.isFullScreen && standby.scale == 2 && standby.banner?.presentation == .lockScreen
        )
    }

    @Test func `what is private of a card`() throws {
        let row = try #require(
            PhoneRow(
                try object(
                    #"""
                    {"order":1,"lifecycle":"active","app":"a","title":"T",
                     "lockScreen":{"presentation":"lockScreen","view":{"title":"Ana"},"private":["title"],"summary":"A taxi"},
                     "island":{"presentation":"minimal","order":1,"view":{},"redacted":["text"]}}
                    """#)))
        #expect(row.lockScreen?.privateParts == ["title"] && row.lockScreen?.summary == "A taxi")
        #expect(row.lockScreen?.redacted == [] && row.island?.card.redacted == ["text"])
    }

    @Test func `a control that is not offered`() throws {
        #expect(ControlRow(try object(#"{"control":"button","offered":false}"#))?.isOffered == false)
        #expect(ControlRow(try object(#"{"control":"button"}"#))?.isOffered == true)
    }

    @Test func `a control`() throws {
        let row = try #require(
            ControlRow(
                try object(
                    #"{"control":"toggle","value":false,"assumed":true,"phase":"pending","wanted":true,"shown":true,"available":true,"unlock":true,"symbol":"lamp","title":"Porch","last":{"op":"o1","result":"reverted","reason":"failed","message":"stuck"}}"#
                )))
        #expect(row.kind == .toggle && row.value == false && row.shown == true && row.wanted == true && row.isPending)
        #expect(
            row.isAssumed && row.isAvailable && row.needsUnlock && row.last?.reason == "failed"
                && row.last?.message == "stuck")
        #expect(CarPlayRow(try object(#"{"control":"toggle","phase":"settled"}"#)) == nil)
    }

    @Test("A body of another shape is no row, and nothing traps", arguments: 0..<20)
    func hostile(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let bodies = [
            #"{"presentation":"compact","order":1,"lifecycle":"active","view":{"leading":{"progress":{"value":1}},"buttons":[{"key":"a/1"}]}}"#,
            #"{"order":1,"lifecycle":"active","lockScreen":{"presentation":"lockScreen","view":{}},"island":{"presentation":"minimal","order":2}}"#,
            #"{"kind":"a","state":"x","configuration":["x"],"lifecycle":"ended","content":{},"startedAt":5,"score":1.5}"#,
            #"{"control":"button","phase":"idle","coolingUntil":9,"last":{"op":"o"}}"#,
        ]
        let odd: [JSON] = [.null, 1e300, -9_007_199_254_740_991, "x", [], [[]], [:], true]
        for _ in 0..<400 {
            let json = try JSONParser.parse(bodies[Int(random.below(4))])
            guard
                let body = Mutation.replacing(json, with: odd[Int(random.below(UInt64(odd.count)))], &random).object
            else { continue }
            _ = (
                CarPlayRow(body), WatchRow(body), DesktopRow(body), StandByRow(body), PhoneRow(body), FullRow(body),
                ControlRow(body)
            )
        }
    }

    @Test func `rows are kept in the order of the surface`() throws {
        var rows = Rows<CarPlayRow>()
        func update(_ key: String, _ order: Int) throws -> Change<CarPlayRow> {
            let body = #"{"presentation":"small","order":\#(order),"lifecycle":"active","view":{}}"#
            return .update(
                RowUpdate(
                    key: try #require(Key(key)), rev: 1, body: try object(body), isSnapshot: true, skipped: 0, why: nil)
            )
        }
        rows.apply(try update("a/1", 2))
        rows.apply(try update("a/2", 1))
        rows.apply(
            .update(
                RowUpdate(
                    key: try #require(Key("l/1")), rev: 4, body: ["control": "toggle"], isSnapshot: true, skipped: 0,
                    why: nil)))
        rows.apply(.live)
        #expect(rows.activities.map(\.key.text) == ["a/2", "a/1"] && rows.controls.map(\.rev) == [4] && rows.isLive)
        rows.apply(.disconnected(reason: "", retryAfter: .zero))
        #expect(!rows.isLive && !rows.isEmpty)
        rows.apply(.removal(RowRemoval(key: try #require(Key("a/2")), rev: 2, why: "hidden", skipped: 0)))
        #expect(rows.activities.map(\.key.text) == ["a/1"])
    }

    @Test(
        "Addresses",
        arguments: [
            ("127.0.0.1:7878", "127.0.0.1:7878"), ("[::1]:7878", "[::1]:7878"),
            ("tls://car.example:7879", "tls://car.example:7879"),
            ("unix:/run/t.sock", "unix:/run/t.sock"), ("localhost", nil), (":7878", nil), ("a:0", nil),
            ("a:65536", nil), ("a:+1", nil),
            ("::1:7878", nil), ("a b:1", nil), ("http://a:1", nil), ("unix:", nil), ("tls://", nil), ("", nil),
            ("a:", nil),
        ] as [(String, String?)])
    func address(text: String, shown: String?) { #expect(ServerAddress(text)?.description == shown) }
}
