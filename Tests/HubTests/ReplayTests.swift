import Journal
import TelltaleModel
import Testing

@testable import Hub

/// A hub that replays a batch of another one owes its followers what that one owes its own.
struct ReplayTests {
    /// A hub that decides, and one that replays, with a screen of the same subscriptions at each.
    private struct Pair {
        let leader: HubHarness
        let follower: HubHarness
        private let shop: HubHarness.Client
        private let screens: (HubHarness.Client, HubHarness.Client)

        init(kinds: [String], posts: [String], _ subscriptions: [String]) throws {
            leader = try HubHarness(kinds: kinds)
            shop = leader.connect()
            for post in posts { leader.send(post, from: shop) }
            follower = HubHarness(recovered: try leader.recovered(), records: leader.records, at: leader.time)
            screens = (leader.connect(), follower.connect())
            for line in subscriptions {
                let rows = (leader.send(line, from: screens.0), follower.send(line, from: screens.1))
                #expect(rows.0 == rows.1)
            }
        }

        /// The lines of the screens after one batch.
        func batch(_ lines: [String], after span: Milliseconds = .zero) throws -> (leader: [String], follower: [String])
        {
            try batch(after: span) { leader, shop in leader.send(lines.joined(separator: "\n"), from: shop) }
        }

        func batch(
            after span: Milliseconds = .zero, _ body: (HubHarness, HubHarness.Client) throws -> Void
        ) throws -> (leader: [String], follower: [String]) {
            let start = leader.records.count
            leader.time = leader.time + span
            follower.time = leader.time
            try body(leader, shop)
            try follower.hub.replay(Array(leader.records[start...]), at: follower.now)
            follower.turn()
            follower.flush()
            holds(follower.hub.stateHash == leader.hub.stateHash)
            return (leader.lines(of: screens.0), follower.lines(of: screens.1))
        }
    }

    @Test func `several records of one key are one row, with the milestones and alerts before it`() throws {
        let pair = try Pair(
            kinds: [HubHarness.coffee], posts: ["EVT coffee-order/1 type=start"],
            ["SUB * view=phone", "SUB coffee-order/1"])
        let rows = try pair.batch(["confirm", "brew", "ready"].map { "EVT coffee-order/1 type=\($0)" })
        #expect(rows.leader == rows.follower && rows.leader.count { $0.hasPrefix("UPD") } == 2, "\(rows)")
    }

    @Test func `a widget over many activities settles once, at the end of the batch`() throws {
        let pair = try Pair(
            kinds: [DerivedWidgetTests.coffee, AggregateTests.kitchen, AggregateTests.desk],
            posts: (1...3).map { #"EVT coffee-order/\#($0) type=start {"content-state":{"desk":"A"}}"# },
            ["SUB kitchen/* view=phone", "SUB desk/* view=phone", "SUB * view=phone"])
        let rows = try pair.batch(
            (1...3).map { #"EVT coffee-order/\#($0) type=update {"content-state":{"desk":"A","eta":\#($0)}}"# }
                + ["EVT kitchen/Hoegi type=reload"])
        #expect(rows.leader == rows.follower && !rows.leader.isEmpty, "\(rows)")
    }

    @Test func `a key that goes with a batch keeps its place until its deletion is published`() throws {
        let pair = try Pair(
            kinds: [HubHarness.coffee, HubHarness.porchLight()],
            posts: ["EVT coffee-order/1 type=start", "REPORT porch-light/front value=on"].map { $0 }, ["SUB *"])
        // The light goes with its kind, and another key comes in the same batch.
        let rows = try pair.batch { leader, shop in
            try leader.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
            leader.send("EVT coffee-order/2 type=start", from: shop)
        }
        #expect(rows.leader == rows.follower, "\(rows)")
        #expect(rows.follower.contains { $0.hasPrefix("DEL") } == rows.leader.contains { $0.hasPrefix("DEL") })
    }

    @Test func `nothing of a batch is rendered where one of its records gives another result`() throws {
        let pair = try Pair(kinds: [HubHarness.coffee], posts: ["EVT coffee-order/1 type=start"], ["SUB *"])
        let (leader, follower) = (pair.leader, pair.follower)
        let shop = leader.connect()
        let start = leader.records.count
        leader.send("EVT coffee-order/1 type=confirm\nEVT coffee-order/1 type=brew", from: shop)
        var records = Array(leader.records[start...])
        records[1].time = records[1].time + Milliseconds(1)
        do {
            try follower.hub.replay(records, at: follower.now)
            Issue.record("it is no divergence")
        } catch {}
        holds(!follower.hub.hasReadySessions)
    }

    @Test func `without a subscription nothing is gathered, and the state is the same`() throws {
        let pair = try Pair(
            kinds: [DerivedWidgetTests.coffee, AggregateTests.kitchen, AggregateTests.desk],
            posts: [#"EVT coffee-order/1 type=start {"content-state":{"desk":"A"}}"#], [])
        _ = try pair.batch([#"EVT coffee-order/1 type=update {"content-state":{"desk":"B","eta":2}}"#])
        holds(pair.follower.hub.durableSequence == pair.leader.hub.durableSequence)
    }
}
