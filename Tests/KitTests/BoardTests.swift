import TelltaleModel
import TestSupport
import Testing

@testable import TelltaleKit

/// Boards: what is sent, and what rows of tiles report.
@Suite(.endsOneDay)
struct BoardTests {
    @Test func `each arrangement is a line, and its answer is read`() async throws {
        let arrangements: [(arrangement: Arrangement, line: String)] = [
            (
                .place(widget: "kitchen", configuration: ["shop": "Hoegi"]),
                #"do=add widget=kitchen eid=e {"configuration":{"shop":"Hoegi"}}"#
            ),
            (
                .place(
                    widget: "kitchen/Hoegi", family: "systemMedium", position: 2, stack: "left",
                    style: TileStyle(placement: "home")),
                "do=add widget=kitchen/Hoegi family=systemMedium stack=left pos=2 placement=home eid=e"
            ),
            (
                .configure(["shop": "Central"], style: TileStyle(mounting: "recessed", scale: 125, theme: "none")),
                #"do=configure mounting=recessed scale=125 theme=none eid=e {"configuration":{"shop":"Central"}}"#
            ),
            (.move(to: 1), "do=move pos=1 eid=e"), (.move(stack: "left"), "do=move stack=left eid=e"),
            (.takeOut(to: 3), "do=move stack=none pos=3 eid=e"), (.pin(at: 2), "do=pin pos=2 eid=e"),
            (.pin(), "do=pin eid=e"), (.unpin, "do=unpin eid=e"), (.show, "do=show eid=e"), (.keep, "do=keep eid=e"),
            (.remove, "do=remove eid=e"),
            (
                .stack(isSmart: true, takesSuggestions: false, family: "systemSmall"),
                "do=stack family=systemSmall smart=yes suggest=no eid=e"
            ),
        ]
        let server = ScriptedServer { stage in
            try await stage.greet()
            for _ in arrangements {
                stage.say("OK id=\(try await stage.hear("TILE")) verdict=applied rev=7 state=placed")
            }
            await stage.waitForEnd()
        }
        let telltale = try Telltale.test(over: server)
        for (index, arrangement) in arrangements.enumerated() {
            let answer = try await telltale.tile("@alice-car/t1", arrangement.arrangement, eid: "e")
            #expect(answer.verdict == .applied && answer.rev == 7 && answer.state == "placed" && answer.eid == "e")
            let heard = try #require(server.stages[0].heard.last)
            let words = Set(heard.split(separator: " ").filter { !$0.hasPrefix("id=") && $0 != "TILE" })
            #expect(words == Set("@alice-car/t1 \(arrangement.line)".split(separator: " ")), "\(index): \(heard)")
        }
    }

    @Test func `the rev that a person saw goes with it, and one that is out of date is refused`() async throws {
        let server = ScriptedServer { stage in
            try await stage.greet()
            let id = try await stage.hear("TILE")
            stage.say(#"ERR id=\#(id) code=stale_rev retry=resync {"msg":"read it again","have":9,"want":5}"#)
            await stage.waitForEnd()
        }
        let telltale = try Telltale.test(over: server)
        do throws(TelltaleError) {
            try await telltale.tile("@alice-car/t1", .remove, ifRev: 5)
            Issue.record("it was not refused")
        } catch {
            guard case .refused(let refusal) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(refusal.isStaleTap)
        }
        #expect(server.stages[0].heard.last?.contains(" if=5 eid=") == true)
    }

    @Test func `what is no tile, no id and no position is refused before it is sent`() async throws {
        let server = ScriptedServer()
        let telltale = try Telltale.test(over: server)
        for (key, arrangement) in [
            ("coffee-order/7", Arrangement.remove), ("@/t1", .remove), ("@alice-car", .remove),
            ("@alice-car/t1", .place(widget: "kit chen")), ("@alice-car/t1", .place(widget: "kitchen\nBYE")),
            ("@alice-car/t1", .move(to: 0)), ("@alice-car/t1", .move(to: 65)), ("@alice-car/t1", .move(stack: "a/b")),
            ("@alice-car/t1", .configure(style: TileStyle(scale: 74))),
            ("@alice-car/t1", .configure(["x": .number(.infinity)])),
        ] {
            await #expect(throws: TelltaleError.self) { try await telltale.tile(key, arrangement) }
        }
        #expect(server.connectionCount == 0)
    }

    // MARK: Rows

    private func place(_ text: String) throws -> TilePlace? {
        TilePlace(try #require(try JSONParser.parse(text).object))
    }

    private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    @Test func `a stack turns at the dates of its rows`() throws {
        let tile = try #require(
            try place(
                #"""
                {"presentation":"systemSmall","order":2,"widget":"kitchen/Hoegi","stack":"left","position":1,"top":true,"pinned":1,
                 "turns":[{"date":1000,"key":"@b/t2"},{"date":2000,"key":"@b/t1"}],"entries":[]}
                """#))
        let (first, second) = (try #require(Key("@b/t1")), try #require(Key("@b/t2")))
        #expect(tile.widget.text == "kitchen/Hoegi" && tile.stack == "left" && tile.position == 1 && tile.pinned == 1)
        #expect([999, 1000, 1999, 2000].map { tile.isTop(first, at: at($0)) } == [true, false, false, true])
        #expect([1000, 2000].map { tile.isTop(second, at: at($0)) } == [true, false])
        #expect(tile.nextDate(after: at(0)) == at(1000) && tile.nextDate(after: at(1000)) == at(2000))
        #expect(tile.nextDate(after: at(2000)) == nil && tile.order(at: at(5000)) == 2)
    }

    @Test func `the order of a watch changes at its dates`() throws {
        let tile = try #require(
            try place(
                #"""
                {"order":0,"orders":[{"date":1000,"order":1},{"date":3000,"order":0}],"widget":"a/b","unavailable":true,
                 "suggested":true,"entries":[]}
                """#))
        #expect([0, 1000, 2999, 3000].map { tile.order(at: at($0)) } == [0, 1, 1, 0])
        #expect(tile.isUnavailable && tile.isSuggested && tile.stack == nil)
        #expect(tile.isTop(try #require(Key("@b/t")), at: at(0)))
    }

    @Test func `rows of other things are no tiles`() throws {
        for text in [#"{"presentation":"systemSmall","entries":[]}"#, #"{"state":"placed","widget":"a/b"}"#, "{}"] {
            #expect(try place(text) == nil)
        }
    }
}
