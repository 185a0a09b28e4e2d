import Hub
import Kinds
import TelltaleModel
import Testing

/// Instances and the versions of their kinds (Kinds/README.md: "An activity keeps the version that it began with").
struct KindVersionTests {
    @Test func `a control that goes with its kind is reported to be gone, and nothing of it is waited for`() throws {
        let harness = try HubHarness(kinds: [HubHarness.coffee, HubHarness.porchLight()])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: lamp)
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: lamp)
        harness.serveLight(from: lamp)
        let cursor = try harness.cursor(of: "SUB porch-light/*", from: screen)
        let tapped = harness.send("SET porch-light/front value=on", from: screen)
        let operation = try #require(harness.operation(askedOf: lamp))
        let shown = try #require(tapped.last.flatMap { HubHarness.attribute("rev", of: $0) })
        try harness.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        harness.turn()
        let deletion = try #require(harness.lines(of: screen).last)
        #expect(deletion.hasPrefix("DEL sub=1 key=porch-light/front ") && deletion.hasSuffix(" why=removed"))
        let rev = try #require(HubHarness.attribute("rev", of: deletion))
        #expect(try #require(Int64(rev)) > #require(Int64(shown)))
        #expect(harness.send("DONE op=\(operation) value=on", from: lamp) == ["OK verdict=ignored"])
        // The activity that changed last before that is pruned later, and must not make this end look reported.
        harness.advance(by: .days(8))
        #expect(harness.hub.entityCount == 0)
        let resumed = harness.send("SUB porch-light/* from=\(cursor)", from: harness.connect())
        #expect(resumed.contains { $0.hasPrefix("RESET ") && $0.hasSuffix(" why=expired") })
    }

    @Test func `an activity that begins again under a dismissed key is not pruned with the dismissed one`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        harness.advance(by: .hours(1))
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        harness.advance(by: .minutes(5))
        #expect(harness.send("GET coffee-order/1", from: shop).last?.contains(#""lifecycle":"stale""#) == true)
        // The people are the same: all of it is theirs to read.
        let reported = harness.send("HISTORY coffee-order/1", from: harness.connect(as: "alice"))
        #expect(reported.count { $0.contains(" type=start ") } == 2)
        // Dismissed eight hours and a quarter after its second start, and kept for seven days.
        harness.advance(by: .hours(9))
        let dismissed = harness.send("GET coffee-order/1", from: shop).last
        #expect(dismissed?.contains(#""lifecycle":"dismissed""#) == true)
        // A later event of the dismissed activity does not keep it longer.
        harness.advance(by: .days(6))
        #expect(harness.send("EVT coffee-order/1 type=confirm", from: shop).last?.contains("ignored") == true)
        harness.advance(by: .days(1))
        #expect(harness.send("GET coffee-order/1", from: shop).last?.contains("code=unknown_key") == true)
    }

    private static let second = HubHarness.coffee
        .replacing("\"version\":1", with: "\"version\":2")
        .replacing(#""on":{"confirm":"queued"}"#, with: #""on":{"confirm":"brewing"}"#)

    @Test func `an instance keeps the definition that it began with, a new one takes the new, a restart included`()
        throws
    {
        let harness = try HubHarness()
        var client = harness.connect()
        harness.send("EVT coffee-order/old type=start", from: client)
        try harness.hub.adopt([try HubHarness.kind(Self.second)])
        harness.turn()
        harness.send("EVT coffee-order/new type=start", from: client)
        #expect(
            harness.send("EVT coffee-order/old type=confirm", from: client).contains { $0.hasSuffix("state=queued") })
        #expect(
            harness.send("EVT coffee-order/new type=confirm", from: client).contains { $0.hasSuffix("state=brewing") })

        try harness.restart(kinds: [Self.second])
        client = harness.connect()
        #expect(
            harness.send("EVT coffee-order/old type=ready", from: client).contains { $0.contains("verdict=ignored") })
        #expect(harness.send("EVT coffee-order/old type=brew", from: client).contains { $0.hasSuffix("state=brewing") })
        #expect(harness.send("EVT coffee-order/new type=ready", from: client).contains { $0.hasSuffix("state=ready") })
    }

    @Test func `a kind that disappears while instances live is refused with their number`() throws {
        let harness = try HubHarness()
        let client = harness.connect()
        harness.send("EVT coffee-order/1 type=start", from: client)
        harness.send("EVT coffee-order/2 type=start", from: client)
        let refusal = KindRefusal.stillInUse(kind: "coffee-order", count: 2)
        #expect(throws: refusal) { try harness.hub.adopt([]) }
        #expect(refusal.description.contains("2 of it exist"))
        // The old ones stay in force.
        harness.turn()
        #expect(harness.send("EVT coffee-order/3 type=start", from: client).contains { $0.contains("verdict=applied") })

        for id in 1...3 { harness.send("EVT coffee-order/\(id) type=cancel", from: client) }
        #expect(throws: KindRefusal.stillInUse(kind: "coffee-order", count: 3)) { try harness.hub.adopt([]) }
        harness.advance(by: .hours(1))
        try harness.hub.adopt([])
        harness.turn()
        #expect(harness.send("EVT coffee-order/4 type=start", from: client).contains { $0.contains("unknown_kind") })
    }

    @Test func `another text under the same version is refused`() throws {
        let harness = try HubHarness()
        let changed = Self.second.replacing("\"version\":2", with: "\"version\":1")
        #expect(throws: KindRefusal.changedWithoutVersion(kind: "coffee-order", version: 1)) {
            try harness.hub.adopt([try HubHarness.kind(changed)])
        }
    }

    @Test func `of files without versions each new text has the next one, and a text of before its own`() throws {
        let harness = try HubHarness()
        func version(_ text: String) throws -> Int? {
            let kinds = harness.hub.revised([try HubHarness.kind(text)])
            try harness.hub.adopt(kinds)
            harness.turn()
            return kinds.first?.version
        }
        let first = HubHarness.coffee
        let changed = Self.second.replacing("\"version\":2", with: "\"version\":1")
        #expect(try version(first) == 1)
        #expect(try version(changed) == 2)
        #expect(try version(changed.replacing("Coffee", with: "Tea")) == 3)
        #expect(try version(first) == 1)
        #expect(try version(changed) == 2)
        #expect(try version(changed.replacing("\"version\":1", with: "\"version\":7")) == 2, "the same text")
        #expect(
            try version(changed.replacing("\"version\":1", with: "\"version\":9").replacing("Coffee", with: "Milk"))
                == 9)
        let greatest = (1 << 53) - 1
        let last = "\"version\":\(greatest)"
        #expect(
            try version(changed.replacing("\"version\":1", with: last).replacing("Coffee", with: "End")) == greatest)
        #expect(throws: KindRefusal.changedWithoutVersion(kind: "coffee-order", version: greatest)) {
            _ = try version(changed.replacing("\"version\":1", with: last).replacing("Coffee", with: "More"))
        }
    }
}

/// Faults of machines are counted and logged.
struct MachineFaultTests {
    private static let circling = """
        {"kind":"circle","type":"activity","version":1,"app":"com.example.circle","title":"Circle",
         "machine":{"initial":"a","on":{"guarded":{"target":"a","guard":"content.missing > 3","reenter":true}},"states":{
           "a":{"on":{"spin":"b","wait":"c"}},
           "b":{"entry":[{"raise":"again"}],"on":{"again":{"target":"b","reenter":true}}},
           "c":{"after":{"5m":"b"}}}}}
        """

    @Test func `a refused step changes nothing, is counted and reported`() throws {
        let harness = try HubHarness(kinds: [Self.circling])
        let client = harness.connect()
        harness.send("EVT circle/1 type=start", from: client)
        #expect(harness.send("EVT circle/1 type=spin", from: client).contains { $0.contains("code=machine_error") })
        #expect(harness.takeReports().contains { $0.hasPrefix("machine_error, circle/1:") })
        #expect(harness.takeReports().isEmpty)
        #expect(harness.send("GET circle/1", from: client).contains { $0.contains(#""state":"a""#) })
        #expect(harness.send("STATS", from: client).contains { $0.contains(#""machineErrors":1"#) })
    }

    @Test func `a timer whose step is refused is dropped, counted and reported`() throws {
        let harness = try HubHarness(kinds: [Self.circling])
        let client = harness.connect()
        harness.send("EVT circle/1 type=start", from: client)
        harness.send("EVT circle/1 type=wait", from: client)
        harness.advance(by: .minutes(5))
        #expect(harness.takeReports().contains { $0.contains("a timer was dropped") })
        #expect(harness.send("GET circle/1", from: client).contains { $0.contains(#""state":"c""#) })
        #expect(harness.send("STATS", from: client).contains { $0.contains(#""machineErrors":1"#) })
    }

    /// With a guard, so that the lint lets it pass.
    private static let timers = """
        {"kind":"timers","type":"activity","version":1,"app":"com.example.timers","title":"Timers",
         "machine":{"initial":"a","states":{
           "a":{"on":{"go":"b"}},
           "b":{"after":{"0s":{"target":"c","guard":"content.on"}}},
           "c":{"after":{"0s":{"target":"b","guard":"content.on"}},"on":{"out":"a"}}}}}
        """

    @Test func `timers of no time in a circle are refused after a hundred, and delay no request`() throws {
        let harness = try HubHarness(kinds: [Self.timers])
        let client = harness.connect()
        harness.send(#"EVT timers/1 type=start {"content-state":{"on":true}}"#, from: client)
        harness.send("EVT timers/1 type=go", from: client)
        let hasWork = harness.hub.hasWork(at: harness.now)
        #expect(!hasWork)
        #expect(harness.takeReports().contains { $0.contains("a timer was dropped") })
        #expect(harness.send("GET timers/1", from: client).contains { $0.contains(#""state":"b""#) })
        #expect(harness.send("STATS", from: client).contains { $0.contains(#""machineErrors":1"#) })
        let count = harness.records.count
        harness.advance(by: .minutes(5))
        #expect(harness.records.count == count)

        try harness.restart(kinds: [Self.timers])
        #expect(harness.send("GET timers/1", from: harness.connect()).contains { $0.contains(#""state":"b""#) })
    }

    @Test func `a kind that the lint refuses by now is read from a journal, and stands still where it circles`() throws
    {
        let text = Self.timers.replacing(#","guard":"content.on""#, with: "")
        let circle = try #require(Kind.read(journaled: try JSONParser.parse(text)))
        #expect(throws: HubHarness.Broken.self) { try HubHarness.kind(text) }
        let harness = try HubHarness(kinds: [])
        try harness.hub.adopt([circle])
        harness.turn()
        let client = harness.connect()
        harness.send("EVT timers/1 type=start", from: client)
        harness.send("EVT timers/1 type=go", from: client)
        #expect(harness.send("GET timers/1", from: client).contains { $0.contains(#""state":"b""#) })

        let mended = text.replacing(#""version":1"#, with: #""version":2"#).replacing(
            #""after":{"0s":{"target":"b"}},"#, with: "")
        for fromSnapshot in [false, true] {
            try harness.restart(kinds: [mended], fromSnapshot: fromSnapshot)
            #expect(harness.send("GET timers/1", from: harness.connect()).contains { $0.contains(#""state":"b""#) })
        }
    }

    @Test func `a guard that cannot be evaluated is false, counted, and reported with its place`() throws {
        let harness = try HubHarness(kinds: [Self.circling])
        let client = harness.connect()
        harness.send("EVT circle/1 type=start", from: client)
        #expect(harness.send("EVT circle/1 type=guarded", from: client).contains { $0.contains("verdict=ignored") })
        #expect(harness.takeReports().contains { $0.contains("machine.on.guarded") })
        #expect(harness.send("STATS", from: client).contains { $0.contains(#""guardErrors":1"#) })

        // Figures count from the start of the process: a recovery repeats no fault in the log.
        try harness.restart(kinds: [Self.circling])
        #expect(harness.send("STATS", from: harness.connect()).contains { $0.contains(#""guardErrors":0"#) })
    }

    @Test func `a fault that a recovery repeats is not logged again`() throws {
        let harness = try HubHarness(kinds: [Self.circling])
        let client = harness.connect()
        harness.send("EVT circle/1 type=start", from: client)
        harness.send("EVT circle/1 type=guarded", from: client)
        try harness.restart(kinds: [Self.circling])
        #expect(harness.takeReports().isEmpty)
    }
}
