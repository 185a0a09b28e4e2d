import Foundation
import Recordings
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

struct ReplayPlanTests {
    @Test func `cases run beside each other, and a clock that runs backwards stands still`() throws {
        let plan = try plan(
            """
            case_id,event,timestamp,other
            a,one,2018-01-01T00:00:10,
            a,two,2018-01-01T00:00:40,
            a,three,2018-01-01T00:00:20,
            b,one,2018-01-01T00:00:00,
            b,two,,
            b,three,2018-01-01T00:00:20,
            """)
        #expect(
            texts(plan) == [
                "0 k/b one b-1 1", "0 k/b two b-2 2", "10000 k/a one a-1 1", "20000 k/b three b-3 3",
                "40000 k/a two a-2 2", "40000 k/a three a-3 3",
            ])
        #expect(plan.start == Timestamp(iso8601: "2018-01-01T00:00:00"))
        #expect(plan.cases.map(\.key.text) == ["k/a", "k/b"])
    }

    @Test(
        "The end that a source has no event for is posted after the last row",
        arguments: [("canceled", true), ("unavailable", true), ("delivered", false), ("processing", false)])
    func finalStatus(status: String, isPosted: Bool) throws {
        let plan = try plan("case_id,event,timestamp,other\na,one,,\"{\"\"final_status\"\":\"\"\(status)\"\"}\"")
        #expect(texts(plan) == ["0 k/a one a-1 1"] + (isPosted ? ["0 k/a \(status) a-2 2"] : []))
    }

    @Test func `an event has the content of its row, and not the end of the case`() throws {
        let plan = try plan("case_id,event,timestamp,other\na,one,,\"{\"\"final_status\"\":\"\"x\"\",\"\"n\"\":1}\"")
        let command = try #require(plan.posts.first?.command)
        #expect(JSON.object(command.tail) == ["content-state": ["n": 1]])
        #expect(command.source == "sim")
        #expect(command.happenedAt == nil)
    }

    @Test(
        "A speed is max or a number above 0",
        arguments: [
            ("max", ReplaySpeed.maximum, 0), ("1", .times(1), 10_000), ("2.5", .times(2.5), 4000),
            ("1e-300", .times(1e-300), Int64.max), ("3", .times(3), 3334),
        ])
    func speed(text: String, speed: ReplaySpeed, delay: Int64) throws {
        #expect(ReplaySpeed(text) == speed)
        #expect(speed.delay(until: Milliseconds(10_000)) == Milliseconds(delay))
    }

    @Test("Other speeds are none", arguments: ["", "0", "-1", "nan", "inf", "fast", "1x"])
    func noSpeed(text: String) {
        #expect(ReplaySpeed(text) == nil)
    }

    @Test(
        "The slices that ship are whole cases with every final status",
        arguments: [
            (
                "olist_orders_500.csv", 1973 + 5,
                ["canceled": 3, "delivered": 484, "invoiced": 3, "processing": 3, "shipped": 5, "unavailable": 2]
            ),
            ("nycflights13_500.csv", 1493, [:]),
        ] as [(String, Int, [String: Int])])
    func slices(name: String, posts: Int, statuses: [String: Int]) throws {
        let bytes = try Data(contentsOf: repositoryRoot.appending(path: "Tools/telltale-sim/Scenarios/data/\(name)"))
        let trace = try Trace(csv: Array(bytes))
        #expect(trace.cases.count == 500)
        var counts: [String: Int] = [:]
        for status in trace.cases.compactMap(\.finalStatus) { counts[status, default: 0] += 1 }
        #expect(counts == statuses)
        let plan = try ReplayPlan(trace, kind: "k")
        #expect(plan.posts.count == posts)
        // However cases interleave, each one's versions count up.
        var newest: [Key: Int64] = [:]
        for post in plan.posts {
            let version = try #require(post.command.version)
            #expect(version == newest[post.command.key, default: 0] + 1)
            newest[post.command.key] = version
        }
        #expect(zip(plan.posts, plan.posts.dropFirst()).allSatisfy { $0.due <= $1.due })
    }

    @Test func `a summary counts verdicts in one order, and is clean only when everything was taken`() throws {
        let plan = try plan("case_id,event,timestamp,other\na,one,,\na,two,,\na,three,,")
        let key = try #require(Key("k/a"))
        var tally = ReplayTally()
        tally.accepted("duplicate")
        tally.accepted("applied")
        #expect(!ReplaySummary(plan: plan, tally: tally, elapsed: Milliseconds(500)).isClean)
        tally.accepted("applied")
        let clean = ReplaySummary(plan: plan, tally: tally, elapsed: Milliseconds(1500))
        #expect(clean.isClean)
        #expect(clean.text == "1 cases, 3 events: 2 applied, 1 duplicate; 1.5 s, 2 events/s")
        tally.refused("unknown_kind", key: key, event: "one", message: "no kind k")
        let failed = ReplaySummary(plan: plan, tally: tally, elapsed: Milliseconds(0))
        #expect(!failed.isClean)
        #expect(failed.text.hasSuffix("\nfirst failure: k/a one: unknown_kind: no kind k"))
        #expect(failed.json["verdicts"] == ["applied": 2, "duplicate": 1, "unknown_kind": 1])
    }

    private func plan(_ csv: String) throws -> ReplayPlan {
        try ReplayPlan(Trace(csv: Array(csv.utf8)), kind: "k")
    }

    private func texts(_ plan: ReplayPlan) -> [String] {
        plan.posts.map { post in
            let command = post.command
            return "\(post.due.count) \(command.key) \(command.type) \(command.eid ?? "") \(command.version ?? 0)"
        }
    }
}
