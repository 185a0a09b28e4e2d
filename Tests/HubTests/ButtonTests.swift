import Journal
import Machines
import TelltaleModel
import Testing

@testable import Hub

/// Buttons: a press, the activity event that it raises, and its cool-down.
struct ButtonTests {
    @Test func `an event that a button sends is named after its press`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"},"instances":["1"]"#
        let harness = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises),
        ])
        let client = harness.connect()
        harness.send("EVT coffee-order/1 type=start", from: client)
        let pressed = harness.send("PRESS log-coffee/1", from: client).first
        let reported = harness.send("HISTORY coffee-order/1", from: client).first { $0.contains(" type=brew ") }
        let event = try HubHarness.tail(reported)
        #expect(event["src"] == "a button")
        #expect(event["eid"]?.string == pressed.flatMap { HubHarness.attribute("op", of: $0) })
    }

    @Test func `an event that a button sends has an id that no client can have`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"},"instances":["1"]"#
        let harness = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises),
        ])
        let client = harness.connect()
        harness.send("EVT coffee-order/1 type=start", from: client)
        // The id that the press will have, by the source that earlier releases gave to such events.
        let update = "EVT coffee-order/1 type=update src=telltaled eid=o\(harness.records.count + 2)"
        harness.send(update, from: client)
        harness.send("PRESS log-coffee/1", from: client)
        #expect(harness.send(update, from: client).first?.hasPrefix("OK verdict=duplicate ") == true)
        let reported = harness.send("HISTORY coffee-order/1", from: client).dropLast().map { try? HubHarness.tail($0) }
        #expect(reported.map { $0?["src"] } == ["-", "telltaled", "a button"])
        #expect(reported.count == 3 && reported[1]?["eid"] == reported[2]?["eid"])
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    // MARK: Whose it is

    /// A hub with a button that starts an order.
    private static func startingHarness(_ more: String = "", rules: DecisionRules = .newest) throws -> HubHarness {
        let raises = #""raises":{"kind":"coffee-order","event":"start","id":"{{id}}"\#(more)},"instances":["a"]"#
        var configuration = HubConfiguration()
        configuration.decisions.rules = rules
        return try HubHarness(
            kinds: [HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises)],
            configuration: configuration)
    }

    private static func isShown(_ harness: HubHarness, to client: HubHarness.Client) -> Bool {
        harness.send("GET coffee-order/a", from: client).first?.contains("unknown_key") == false
    }

    @Test(
        "What a press starts is for the account that pressed, unless the kind says otherwise, nobody did, or the rules are of before",
        arguments: [
            ("", DecisionRules.newest, "alice", false), (#","for":"everyone""#, .newest, "alice", true),
            ("", .first, "alice", true), ("", .newest, nil, true),
        ] as [(String, DecisionRules, String?, Bool)])
    func audience(more: String, rules: DecisionRules, presser: String?, isForAll: Bool) throws {
        let harness = try Self.startingHarness(more, rules: rules)
        let phone = presser.map { harness.connect(as: $0) } ?? harness.connect()
        let watch = harness.connect(as: "bob")
        harness.send("SUB coffee-order/*", from: watch)
        #expect(harness.send("PRESS log-coffee/a", from: phone).first?.hasPrefix("OK op=") == true)
        #expect(Self.isShown(harness, to: phone))
        #expect(harness.lines(of: watch).contains { $0.contains("key=coffee-order/a") } == isForAll)
        #expect(Self.isShown(harness, to: watch) == isForAll)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test(
        "Whose a press is outlives the connection that pressed, and a snapshot, until its provider has done it",
        arguments: [true, false])
    func audienceOfFlight(fromSnapshot: Bool) throws {
        let harness = try Self.startingHarness()
        let provider = harness.connect()
        harness.send("SERVE log-coffee", from: provider)
        let phone = harness.connect(as: "alice")
        harness.send("PRESS log-coffee/a", from: phone)
        harness.disconnect(phone)
        let hash = harness.hub.stateHash
        var copy = try harness.recovered()
        if fromSnapshot {
            var chunks: [[UInt8]] = []
            copy.snapshot().forEachChunk { chunks.append($0) }
            copy = Hub(configuration: HubConfiguration(), epoch: copy.epoch)
            for chunk in chunks { try copy.load(chunk) }
            copy.finishLoading()
        }
        #expect(copy.stateHash == hash)
        let operation = try #require(harness.lines(of: provider).compactMap { HubHarness.attribute("op", of: $0) }.last)
        harness.send("DONE op=\(operation)", from: provider)
        #expect(Self.isShown(harness, to: harness.connect(as: "alice")))
        #expect(!Self.isShown(harness, to: harness.connect(as: "bob")))
        for record in harness.records where record.sequence > copy.lastRecordSequence { try copy.replay(record) }
        #expect(copy.stateHash == harness.hub.stateHash)
    }

    @Test func `a press starts an activity, once, and says so when nothing came of it`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"}"#
        let harness = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let (finger, screen) = (harness.connect(), harness.connect())
        harness.send("SUB *", from: screen)
        // The order does not exist, and its machine does not start with `brew`.
        harness.send("PRESS log-coffee/a eid=1", from: finger)
        var row = try HubHarness.tail(harness.lines(of: screen).last { $0.contains("key=log-coffee/a") })
        #expect(row["phase"] == "idle")
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "unknown_key")
        harness.send("EVT coffee-order/a type=start", from: finger)
        harness.send("PRESS log-coffee/a eid=2", from: finger)
        #expect(harness.send("PRESS log-coffee/a eid=2", from: finger).first?.contains("verdict=duplicate") == true)
        let rows = harness.lines(of: screen)
        row = try HubHarness.tail(rows.last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["result"] == "confirmed")
        #expect(rows.contains { $0.contains("key=coffee-order/a") && $0.contains(#""state":"brewing""#) })
        harness.send("PRESS log-coffee/a eid=3", from: finger)
        row = try HubHarness.tail(harness.lines(of: screen).last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["code"] == "ignored")
        let history = harness.send("HISTORY coffee-order/a", from: finger)
        #expect(history.filter { $0.contains("type=brew verdict=applied") }.count == 1)
        _ = try harness.recovered()
    }

    @Test func `a press whose event is older than the activity's newest event is reverted`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"}"#
        let harness = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let finger = harness.connect()
        harness.send("EVT coffee-order/a type=start at=\(harness.time.milliseconds + 60_000)", from: finger)
        harness.send("PRESS log-coffee/a", from: finger)
        let row = try HubHarness.tail(harness.send("GET log-coffee/a", from: finger).last)
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "stale")
        _ = try harness.recovered()
    }

    @Test(
        "A press whose activity can have no such id has failed, and starts none",
        arguments: ["a b/c", "{{content.x}}", "{{id}}-\(String(repeating: "x", count: 64))", "☕"])
    func badID(id: String) throws {
        let raises = #""raises":{"kind":"coffee-order","event":"start","id":"\#(id)"}"#
        let harness = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let (finger, screen) = (harness.connect(), harness.connect())
        harness.send("SUB *", from: screen)
        #expect(harness.send("PRESS log-coffee/a", from: finger).first?.hasPrefix("OK") == true)
        let rows = harness.lines(of: screen)
        let row = try HubHarness.tail(rows.last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "bad_key")
        #expect(row["last"]?["message"]?.string == "This did not work.")
        #expect(!rows.contains { $0.contains("key=coffee-order/") })
        _ = try harness.recovered()
    }

    @Test func `cool-down refuses a second press and says until when`() throws {
        let harness = try HubHarness(kinds: [HubHarness.logCoffee(#""cooldown":"5s""#)])
        let machine = harness.connect()
        harness.send("SERVE log-coffee", from: machine)
        harness.send("REPORT log-coffee/desk", from: machine)
        harness.send("PRESS log-coffee/desk", from: machine)
        harness.send("DONE op=o\(harness.records.count)", from: machine)
        let refused = harness.send("PRESS log-coffee/desk", from: machine)
        #expect(refused.last?.hasPrefix("ERR code=cooling retry=later") == true)
        #expect(try HubHarness.tail(refused.last)["until"] == .integer(harness.time.milliseconds + 5_000))
        harness.advance(by: .seconds(5))
        #expect(harness.send("PRESS log-coffee/desk", from: machine).first?.contains("phase=performing") == true)
    }
}
