import Hub
import TelltaleModel
import TestSupport
import Testing

/// A widget of many activities is told once a batch, and becomes what a replay of the records one by one makes of it.
struct AggregateBatchTests {
    private static let kinds = [DerivedWidgetTests.coffee, AggregateTests.kitchen, AggregateTests.desk]

    /// Several lines in one turn.
    private static func send(_ house: HubHarness, _ lines: [String], _ shop: HubHarness.Client) -> [String] {
        house.send(lines.joined(separator: "\n"), from: shop)
    }

    @Test func `many events of a batch are one row, with the rev of the last that changed a value`() throws {
        let house = try HubHarness(kinds: Self.kinds)
        let (shop, screen) = (house.connect(), house.connect())
        for id in 1...3 { AggregateTests.begin(house, "\(id)", content: #"{"desk":"A"}"#, shop) }
        AggregateTests.reply(house, "SUB desk/* view=phone", screen)
        AggregateTests.reply(house, "SUB kitchen/* view=phone", screen)
        let start = house.records.count
        _ = Self.send(
            house,
            (1...3).map { #"EVT coffee-order/\#($0) type=update {"content-state":{"desk":"A","eta":\#($0)}}"# }
                + [#"EVT coffee-order/3 type=update {"content-state":{"desk":"A","eta":3,"note":"x"}}"#], shop)
        #expect(house.records.count == start + 4)
        let rows = WidgetTests.rows(house, screen)
        #expect(rows.count == 1 && rows.first?.contains("key=kitchen/Hoegi") == true)
        #expect(try ServerText(try #require(rows.first)).rev == Int64(start + 3))
        #expect(try AggregateTests.titles(rows.first).first == "3|0|1|3|6|0")
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `a request about a widget finds it as of the event before, in the same batch`() throws {
        let house = try HubHarness(kinds: Self.kinds)
        let shop = house.connect()
        AggregateTests.begin(house, "1", shop)
        let replies = Self.send(
            house,
            [
                #"EVT coffee-order/1 type=update {"content-state":{"eta":7}}"#, "EVT kitchen/Hoegi type=reload",
                #"EVT coffee-order/1 type=update {"content-state":{"eta":8}}"#,
            ], shop)
        let rev = try ServerText(replies[0]).rev
        #expect(try ServerText(replies[1]).rev == rev)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `a resume after a batch sends what changed last, whatever the order in the batch`() throws {
        let house = try HubHarness(kinds: Self.kinds)
        let shop = house.connect()
        for id in 1...2 { AggregateTests.begin(house, "\(id)", content: #"{"desk":"\#(id)"}"#, shop) }
        let cursor = try house.cursor(of: "SUB kitchen/* view=phone", from: house.connect())
        _ = Self.send(
            house,
            [
                #"EVT coffee-order/1 type=update {"content-state":{"desk":"1","eta":7}}"#,
                "EVT coffee-order/2 type=seen",
                "EVT coffee-order/2 type=confirm",
                #"EVT coffee-order/1 type=update {"content-state":{"desk":"2","eta":7}}"#,
                "EVT coffee-order/1 type=confirm",
            ], shop)
        let back = house.send("SUB kitchen/* view=phone from=\(cursor)", from: house.connect())
        #expect(back.contains { $0.hasPrefix("UPD") && $0.contains("key=kitchen/Hoegi") })
        let nothing = try house.cursor(of: "SUB kitchen/* view=phone", from: house.connect())
        let again = house.send("SUB kitchen/* view=phone from=\(nothing)", from: house.connect())
        #expect(!again.contains { $0.contains("key=kitchen/Hoegi") })
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `random batches give the state of their records one by one`() throws {
        let house = try HubHarness(kinds: Self.kinds)
        var random = SeededGenerator(seed: 83)
        for round in Lane.some(0..<120, atEveryChange: 20) {
            let shop = house.connect()
            house.isFull = random.chance(15)
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
            _ = Self.send(house, lines, shop)
            house.isFull = false
            if random.chance(30) { house.advance(by: .minutes(Int64(random.below(20)))) }
            house.disconnect(shop)
            guard round % 10 == 9 else { continue }
            // The clock of a batch that is refused goes on.
            AggregateTests.begin(house, "last", house.connect())
            #expect(try house.recovered().stateHash == house.hub.stateHash, "round \(round)")
            try house.restart(kinds: Self.kinds, fromSnapshot: random.chance(50))
        }
    }
}
