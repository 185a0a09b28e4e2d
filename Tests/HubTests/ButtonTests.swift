import Journal
import Machines
import TelltaleModel
import Testing

@testable import Hub

/// Buttons: a press, the activity event that it raises, and its cool-down.
struct ButtonTests {
    @Test func `an event that a button sends is named after its press`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"},"instances":["1"]"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises),
        ])
        let client = house.connect()
        house.send("EVT coffee-order/1 type=start", from: client)
        let pressed = house.send("PRESS log-coffee/1", from: client).first
        let told = house.send("HISTORY coffee-order/1", from: client).first { $0.contains(" type=brew ") }
        let event = try HubHarness.tail(told)
        #expect(event["src"] == "a button")
        #expect(event["eid"]?.string == pressed.flatMap { HubHarness.attribute("op", of: $0) })
    }

    @Test func `an event that a button sends has an id that no client can have`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"},"instances":["1"]"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises),
        ])
        let client = house.connect()
        house.send("EVT coffee-order/1 type=start", from: client)
        // The id that the press will have, by the source that earlier releases gave to such events.
        let update = "EVT coffee-order/1 type=update src=telltaled eid=o\(house.records.count + 2)"
        house.send(update, from: client)
        house.send("PRESS log-coffee/1", from: client)
        #expect(house.send(update, from: client).first?.hasPrefix("OK verdict=duplicate ") == true)
        let told = house.send("HISTORY coffee-order/1", from: client).dropLast().map { try? HubHarness.tail($0) }
        #expect(told.map { $0?["src"] } == ["-", "telltaled", "a button"])
        #expect(told.count == 3 && told[1]?["eid"] == told[2]?["eid"])
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    // MARK: Whose it is

    /// A house with a button that starts an order.
    private static func startingHouse(_ more: String = "", rules: DecisionRules = .newest) throws -> HubHarness {
        let raises = #""raises":{"kind":"coffee-order","event":"start","id":"{{id}}"\#(more)},"instances":["a"]"#
        var configuration = HubConfiguration()
        configuration.decisions.rules = rules
        return try HubHarness(
            kinds: [HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee(raises)],
            configuration: configuration)
    }

    private static func isShown(_ house: HubHarness, to client: HubHarness.Client) -> Bool {
        house.send("GET coffee-order/a", from: client).first?.contains("unknown_key") == false
    }

    @Test(
        "What a press starts is for the account that pressed, unless the kind says otherwise, nobody did, or the rules are of before",
        arguments: [
            ("", DecisionRules.newest, "alice", false), (#","for":"everyone""#, .newest, "alice", true),
            ("", .first, "alice", true), ("", .newest, nil, true),
        ] as [(String, DecisionRules, String?, Bool)])
    func audience(more: String, rules: DecisionRules, presser: String?, isForAll: Bool) throws {
        let house = try Self.startingHouse(more, rules: rules)
        let phone = presser.map { house.connect(as: $0) } ?? house.connect()
        let watch = house.connect(as: "bob")
        house.send("SUB coffee-order/*", from: watch)
        #expect(house.send("PRESS log-coffee/a", from: phone).first?.hasPrefix("OK op=") == true)
        #expect(Self.isShown(house, to: phone))
        #expect(house.lines(of: watch).contains { $0.contains("key=coffee-order/a") } == isForAll)
        #expect(Self.isShown(house, to: watch) == isForAll)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test(
        "Whose a press is outlives the connection that pressed, and a snapshot, until its provider has done it",
        arguments: [true, false])
    func audienceOfFlight(fromSnapshot: Bool) throws {
        let house = try Self.startingHouse()
        let provider = house.connect()
        house.send("SERVE log-coffee", from: provider)
        let phone = house.connect(as: "alice")
        house.send("PRESS log-coffee/a", from: phone)
        house.disconnect(phone)
        let hash = house.hub.stateHash
        var copy = try house.recovered()
        if fromSnapshot {
            var chunks: [[UInt8]] = []
            copy.snapshot().forEachChunk { chunks.append($0) }
            copy = Hub(configuration: HubConfiguration(), epoch: copy.epoch)
            for chunk in chunks { try copy.load(chunk) }
            copy.finishLoading()
        }
        #expect(copy.stateHash == hash)
        let operation = try #require(house.lines(of: provider).compactMap { HubHarness.attribute("op", of: $0) }.last)
        house.send("DONE op=\(operation)", from: provider)
        #expect(Self.isShown(house, to: house.connect(as: "alice")))
        #expect(!Self.isShown(house, to: house.connect(as: "bob")))
        for record in house.records where record.sequence > copy.lastRecordSequence { try copy.replay(record) }
        #expect(copy.stateHash == house.hub.stateHash)
    }

    @Test func `a press starts an activity, once, and says so when nothing came of it`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"}"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let (finger, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        // The order does not exist, and its machine does not start with `brew`.
        house.send("PRESS log-coffee/a eid=1", from: finger)
        var row = try HubHarness.tail(house.lines(of: screen).last { $0.contains("key=log-coffee/a") })
        #expect(row["phase"] == "idle")
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "unknown_key")
        house.send("EVT coffee-order/a type=start", from: finger)
        house.send("PRESS log-coffee/a eid=2", from: finger)
        #expect(house.send("PRESS log-coffee/a eid=2", from: finger).first?.contains("verdict=duplicate") == true)
        let rows = house.lines(of: screen)
        row = try HubHarness.tail(rows.last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["result"] == "confirmed")
        #expect(rows.contains { $0.contains("key=coffee-order/a") && $0.contains(#""state":"brewing""#) })
        house.send("PRESS log-coffee/a eid=3", from: finger)
        row = try HubHarness.tail(house.lines(of: screen).last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["code"] == "ignored")
        let history = house.send("HISTORY coffee-order/a", from: finger)
        #expect(history.filter { $0.contains("type=brew verdict=applied") }.count == 1)
        _ = try house.recovered()
    }

    @Test func `a press whose event is older than the activity's newest event is reverted`() throws {
        let raises = #""raises":{"kind":"coffee-order","event":"brew","id":"{{id}}"}"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let finger = house.connect()
        house.send("EVT coffee-order/a type=start at=\(house.time.milliseconds + 60_000)", from: finger)
        house.send("PRESS log-coffee/a", from: finger)
        let row = try HubHarness.tail(house.send("GET log-coffee/a", from: finger).last)
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "stale")
        _ = try house.recovered()
    }

    @Test(
        "A press whose activity can have no such id has failed, and starts none",
        arguments: ["a b/c", "{{content.x}}", "{{id}}-\(String(repeating: "x", count: 64))", "☕"])
    func badID(id: String) throws {
        let raises = #""raises":{"kind":"coffee-order","event":"start","id":"\#(id)"}"#
        let house = try HubHarness(kinds: [
            HubHarness.tippedCoffee, HubHarness.logCoffee("\(raises),\"instances\":[\"a\"]"),
        ])
        let (finger, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        #expect(house.send("PRESS log-coffee/a", from: finger).first?.hasPrefix("OK") == true)
        let rows = house.lines(of: screen)
        let row = try HubHarness.tail(rows.last { $0.contains("key=log-coffee/a") })
        #expect(row["last"]?["result"] == "reverted" && row["last"]?["code"] == "bad_key")
        #expect(row["last"]?["message"]?.string == "This did not work.")
        #expect(!rows.contains { $0.contains("key=coffee-order/") })
        _ = try house.recovered()
    }

    @Test func `cool-down refuses a second press and says until when`() throws {
        let house = try HubHarness(kinds: [HubHarness.logCoffee(#""cooldown":"5s""#)])
        let machine = house.connect()
        house.send("SERVE log-coffee", from: machine)
        house.send("REPORT log-coffee/desk", from: machine)
        house.send("PRESS log-coffee/desk", from: machine)
        house.send("DONE op=o\(house.records.count)", from: machine)
        let refused = house.send("PRESS log-coffee/desk", from: machine)
        #expect(refused.last?.hasPrefix("ERR code=cooling retry=later") == true)
        #expect(try HubHarness.tail(refused.last)["until"] == .integer(house.time.milliseconds + 5_000))
        house.advance(by: .seconds(5))
        #expect(house.send("PRESS log-coffee/desk", from: machine).first?.contains("phase=performing") == true)
    }
}
