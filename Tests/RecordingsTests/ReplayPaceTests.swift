import Recordings
import TelltaleModel
import TelltaleWire
import Testing

struct ReplayPaceTests {
    private static func plan(_ rows: String..., kind: String = "k") throws -> ReplayPlan {
        let text = (["case_id,event,timestamp,other"] + rows).joined(separator: "\n")
        return try ReplayPlan(Trace(csv: Array(text.utf8)), kind: kind)
    }

    private static func texts(_ plan: ReplayPlan) -> [String] {
        plan.posts.map { "\($0.due.count) \($0.command.key) \($0.command.type)" }
    }

    @Test func `slowed, a case takes longer and begins when it did`() throws {
        let plan = try Self.plan(
            "a,one,2018-01-01T00:00:00,", "a,two,2018-01-01T00:00:02,", "b,one,2018-01-01T00:00:04,",
            "b,two,2018-01-01T00:00:05,")
        #expect(Self.texts(plan.slowed(by: 1)) == Self.texts(plan))
        #expect(Self.texts(plan.slowed(by: 10)) == ["0 k/a one", "4000 k/b one", "14000 k/b two", "20000 k/a two"])
        let last = plan.slowed(by: .max).posts.map(\.due).max()
        #expect(last == Milliseconds(.max), "saturates")
    }

    @Test func `paced, events keep their order and come evenly`() throws {
        let plan = try Self.plan(
            "a,one,2016-01-01T00:00:00,", "a,two,2018-06-01T00:00:00,", "b,one,2018-06-01T00:00:01,",
            "b,two,2018-06-01T00:00:01,")
        #expect(
            Self.texts(plan.paced(over: .seconds(2))) == ["0 k/a one", "500 k/a two", "1000 k/b one", "1500 k/b two"])
        #expect(try Self.plan().paced(over: .seconds(1)).posts.isEmpty)
    }

    @Test func `merged, traces run beside each other`() throws {
        let orders = try Self.plan("a,one,2016-01-01T00:00:00,", "a,two,2018-01-01T00:00:00,").paced(over: .seconds(1))
        let flights = try Self.plan("x,up,2013-01-01T00:00:00,", "x,down,2013-01-01T05:00:00,", kind: "f")
            .paced(over: .seconds(1))
        let both = ReplayPlan(merging: [orders, flights])
        #expect(Self.texts(both) == ["0 k/a one", "0 f/x up", "500 k/a two", "500 f/x down"])
        #expect(both.cases.map(\.key.text) == ["k/a", "f/x"])
    }
}
