import TelltaleModel
import Testing

@testable import Hub

/// Which event ids are remembered, and when one is forgotten (promise P6).
struct EventIDTests {
    @Test func `a batch that could not be written makes none forgotten`() throws {
        let harness = try HubHarness(configuration: Self.configuration { $0.eventIDsPerSource = 3 })
        let shop = harness.connect()
        harness.send("EVT coffee-order/1 type=start", from: shop)
        for number in 1...3 { harness.send(Self.update(number), from: shop) }
        harness.isFull = true
        #expect(harness.send(Self.update(4), from: shop).last?.contains("storage_full") == true)
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(harness.send(Self.update(1), from: shop).last?.contains("verdict=duplicate") == true)
        // Then one id is forgotten, with the event that made it necessary.
        harness.send(Self.update(5), from: shop)
        #expect(harness.send(Self.update(1), from: shop).last?.contains("verdict=applied") == true)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `the ids of a source that falls silent grow old too`() throws {
        let harness = try HubHarness(configuration: Self.configuration { $0.eventIDAge = .seconds(10) })
        let shop = harness.connect()
        for number in 1...20 { harness.send("EVT coffee-order/\(number) type=start src=s\(number) eid=1", from: shop) }
        #expect(try Self.idCount(harness, shop) == 20)
        harness.time = harness.time + .seconds(11)
        harness.send("EVT coffee-order/99 type=start src=other eid=1", from: shop)
        #expect(try Self.idCount(harness, shop) == 1)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
        // A source that comes again begins anew.
        harness.send("EVT coffee-order/1 type=confirm src=s1 eid=2", from: shop)
        #expect(
            harness.send("EVT coffee-order/1 type=confirm src=s1 eid=2", from: shop).last?.contains("duplicate") == true
        )
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test("Every verdict uses its id up, and a refusal does not", arguments: ["applied", "noop", "ignored", "stale"])
    func verdicts(verdict: String) throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let event =
            switch verdict {
            case "applied": "type=confirm"
            case "noop": "type=update"
            case "ignored": "type=collect"
            default: "type=confirm at=1"
            }
        let line = "EVT coffee-order/1 \(event) src=pos eid=1"
        #expect(harness.send(line, from: shop).last?.hasPrefix("OK verdict=\(verdict) ") == true)
        #expect(harness.send(line, from: shop).last?.hasPrefix("OK verdict=duplicate ") == true)
        let refused = "EVT coffee-order/2 type=confirm src=pos eid=2"
        for _ in 0..<2 { #expect(harness.send(refused, from: shop).last?.contains("code=unknown_key") == true) }
        harness.send("EVT coffee-order/2 type=start", from: shop)
        #expect(harness.send(refused, from: shop).last?.hasPrefix("OK verdict=applied ") == true)
    }

    @Test func `sources that come after others were forgotten have nothing in common`() {
        var ids = EventIDs()
        func insert(_ source: String, _ eid: String, at seconds: Int64) {
            ids.insert(
                EventIDs.Entry(digest: 1, rev: seconds), source: source, eid: eid, hash: HashIndex.hash(of: eid),
                wall: Timestamp(milliseconds: seconds * 1_000))
        }
        for eid in ["1", "2"] { insert("old", eid, at: 1) }
        ids.forget(at: Timestamp(milliseconds: 20_000), ageLimit: .seconds(10), countLimit: 100)
        #expect(ids.count == 0)
        insert("a", "1", at: 20)
        insert("b", "2", at: 21)
        #expect(entry(ids, "a", "1")?.rev == 20 && entry(ids, "b", "2")?.rev == 21)
        #expect(entry(ids, "a", "2") == nil && entry(ids, "b", "1") == nil)
    }

    @Test func `an id that stands twice is known until its newer one is forgotten`() {
        // The hub's own events name themselves, and a client may have taken such a name before.
        var ids = EventIDs()
        for seconds in [1, 2] as [Int64] {
            ids.insert(
                EventIDs.Entry(digest: 1, rev: seconds), source: "telltaled", eid: "o18",
                hash: HashIndex.hash(of: "o18"), wall: Timestamp(milliseconds: seconds * 1_000))
        }
        ids.forget(at: Timestamp(milliseconds: 11_500), ageLimit: .seconds(10), countLimit: 100)
        #expect(ids.count == 1 && entry(ids, "telltaled", "o18")?.rev == 2)
    }

    private func entry(_ ids: EventIDs, _ source: String, _ eid: String) -> EventIDs.Entry? {
        ids.entry(source: source, eid: eid, hash: HashIndex.hash(of: eid))
    }

    private static func configuration(_ change: (inout DecisionSettings) -> Void) -> HubConfiguration {
        var configuration = HubConfiguration()
        change(&configuration.decisions)
        return configuration
    }

    private static func update(_ number: Int) -> String {
        #"EVT coffee-order/1 type=update src=pos eid=e\#(number) {"content-state":{"n":\#(number)}}"#
    }

    private static func idCount(_ harness: HubHarness, _ client: HubHarness.Client) throws -> Int64 {
        try #require(HubHarness.tail(harness.send("STATS", from: client).last)["eventIDs"]?.integer)
    }

    @Test func `the same event id takes effect once, and another event with it is refused`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        let first = harness.send("EVT coffee-order/1 type=start src=pos eid=e1", from: shop)
        let rev = try #require(first.first?.split(separator: " ").first { $0.hasPrefix("rev=") })
        #expect(
            harness.send("EVT coffee-order/1 type=start src=pos eid=e1", from: shop).first?.contains(
                "verdict=duplicate \(rev) state=placed") == true)
        #expect(
            harness.send("EVT coffee-order/1 type=confirm src=pos eid=e1", from: shop).first?.contains(
                "code=dup_mismatch") == true)
        #expect(
            harness.send("EVT coffee-order/1 type=confirm src=till eid=e1", from: shop).first?.contains(
                "verdict=applied")
                == true)
    }

    @Test func `an event id is known for seven days and no longer`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        func post(_ eid: String) -> String? {
            harness.send("EVT coffee-order/1 type=start src=p eid=\(eid)", from: shop).last
        }
        #expect(post("a")?.contains("verdict=applied") == true)
        harness.advance(by: .days(7))
        #expect(post("b")?.hasPrefix("OK verdict=") == true)
        #expect(post("a")?.contains("verdict=duplicate rev=3") == true)
        harness.advance(by: .seconds(1))
        #expect(post("c")?.hasPrefix("OK verdict=") == true)
        #expect(post("a")?.contains("verdict=duplicate") == false)
        #expect(post("b")?.contains("verdict=duplicate") == true)
    }
}
