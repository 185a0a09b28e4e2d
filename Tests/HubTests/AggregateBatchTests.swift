import Hub
import TelltaleModel
import TestSupport
import Testing

/// A widget of many activities is reported once a batch, and becomes what a replay of the records one by one makes of it.
struct AggregateBatchTests {
    private static let kinds = [DerivedWidgetTests.coffee, AggregateTests.kitchen, AggregateTests.desk]

    /// Several lines in one turn.
    private static func send(_ harness: HubHarness, _ lines: [String], _ shop: HubHarness.Client) -> [String] {
        harness.send(lines.joined(separator: "\n"), from: shop)
    }

    @Test func `many events of a batch are one row, with the rev of the last that changed a value`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let (shop, screen) = (harness.connect(), harness.connect())
        for id in 1...3 { AggregateTests.begin(harness, "\(id)", content: #"{"desk":"A"}"#, shop) }
        AggregateTests.reply(harness, "SUB desk/* view=phone", screen)
        AggregateTests.reply(harness, "SUB kitchen/* view=phone", screen)
        let start = harness.records.count
        _ = Self.send(
            harness,
            (1...3).map { #"EVT coffee-order/\#($0) type=update {"content-state":{"desk":"A","eta":\#($0)}}"# }
                + [#"EVT coffee-order/3 type=update {"content-state":{"desk":"A","eta":3,"note":"x"}}"#], shop)
        #expect(harness.records.count == start + 4)
        let rows = WidgetTests.rows(harness, screen)
        #expect(rows.count == 1 && rows.first?.contains("key=kitchen/Hoegi") == true)
        #expect(try ServerText(try #require(rows.first)).rev == Int64(start + 3))
        #expect(try AggregateTests.titles(rows.first).first == "3|0|1|3|6|0")
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `a request about a widget finds it as of the event before, in the same batch`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let shop = harness.connect()
        AggregateTests.begin(harness, "1", shop)
        let replies = Self.send(
            harness,
            [
                #"EVT coffee-order/1 type=update {"content-state":{"eta":7}}"#, "EVT kitchen/Hoegi type=reload",
                #"EVT coffee-order/1 type=update {"content-state":{"eta":8}}"#,
            ], shop)
        let rev = try ServerText(replies[0]).rev
        #expect(try ServerText(replies[1]).rev == rev)
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `a resume after a batch sends what changed last, whatever the order in the batch`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        let shop = harness.connect()
        for id in 1...2 { AggregateTests.begin(harness, "\(id)", content: #"{"desk":"\#(id)"}"#, shop) }
        let cursor = try harness.cursor(of: "SUB kitchen/* view=phone", from: harness.connect())
        _ = Self.send(
            harness,
            [
                #"EVT coffee-order/1 type=update {"content-state":{"desk":"1","eta":7}}"#,
                "EVT coffee-order/2 type=seen",
                "EVT coffee-order/2 type=confirm",
                #"EVT coffee-order/1 type=update {"content-state":{"desk":"2","eta":7}}"#,
                "EVT coffee-order/1 type=confirm",
            ], shop)
        let back = harness.send("SUB kitchen/* view=phone from=\(cursor)", from: harness.connect())
        #expect(back.contains { $0.hasPrefix("UPD") && $0.contains("key=kitchen/Hoegi") })
        let nothing = try harness.cursor(of: "SUB kitchen/* view=phone", from: harness.connect())
        let again = harness.send("SUB kitchen/* view=phone from=\(nothing)", from: harness.connect())
        #expect(!again.contains { $0.contains("key=kitchen/Hoegi") })
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }

    @Test func `random batches give the state of their records one by one`() throws {
        let harness = try HubHarness(kinds: Self.kinds)
        var random = SeededGenerator(seed: 83)
        for round in Lane.some(0..<120, atEveryChange: 20) {
            let shop = harness.connect()
            harness.isFull = random.chance(15)
            let lines = (0..<(1 + random.below(12))).map { _ -> String in
                let id = random.below(8)
                let content = #"{"content-state":{"desk":"\#(random.below(3))","eta":\#(random.below(9))}}"#
                switch random.below(7) {
                case 0:
                    return #"EVT coffee-order/\#(id) type=start {"attributes":{"shop":"Hoegi","price":0.5}}"#
                case 1, 2, 3: return "EVT coffee-order/\(id) type=update \(content)"
                case 4: return "EVT kitchen/Hoegi type=reload"
                default:
                    let event = ["confirm", "brew", "ready", "collect", "end"][Int(random.below(5))]
                    return "EVT coffee-order/\(id) type=\(event)"
                }
            }
            _ = Self.send(harness, lines, shop)
            harness.isFull = false
            if random.chance(30) { harness.advance(by: .minutes(Int64(random.below(20)))) }
            harness.disconnect(shop)
            guard round % 10 == 9 else { continue }
            // The clock of a batch that is refused goes on.
            AggregateTests.begin(harness, "last", harness.connect())
            #expect(try harness.recovered().stateHash == harness.hub.stateHash, "round \(round)")
            try harness.restart(kinds: Self.kinds, fromSnapshot: random.chance(50))
        }
    }
}
