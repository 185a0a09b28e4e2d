import Hub
import Model
import Testing

/// Which event ids are remembered, and when one is forgotten (promise P6).
struct EventIDTests {
    @Test func `a batch that could not be written makes none forgotten`() throws {
        let house = try House(configuration: Self.configuration { $0.eventIDsPerSource = 3 })
        let shop = house.connect()
        house.send("EVT coffee-order/1 type=start", from: shop)
        for number in 1...3 { house.send(Self.update(number), from: shop) }
        house.isFull = true
        #expect(house.send(Self.update(4), from: shop).last?.contains("storage_full") == true)
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(house.send(Self.update(1), from: shop).last?.contains("verdict=duplicate") == true)
        // And then one is, with what made it necessary.
        house.send(Self.update(5), from: shop)
        #expect(house.send(Self.update(1), from: shop).last?.contains("verdict=applied") == true)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    @Test func `the ids of a source that falls silent grow old too`() throws {
        let house = try House(configuration: Self.configuration { $0.eventIDAge = .seconds(10) })
        let shop = house.connect()
        for number in 1...20 { house.send("EVT coffee-order/\(number) type=start src=s\(number) eid=1", from: shop) }
        #expect(try Self.idCount(house, shop) == 20)
        house.time = house.time + .seconds(11)
        house.send("EVT coffee-order/99 type=start src=other eid=1", from: shop)
        #expect(try Self.idCount(house, shop) == 1)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
        // A source that comes again begins anew.
        house.send("EVT coffee-order/1 type=confirm src=s1 eid=2", from: shop)
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=s1 eid=2", from: shop).last?.contains("duplicate") == true)
        #expect(try house.recovered().stateHash == house.hub.stateHash)
    }

    private static func configuration(_ change: (inout DecisionSettings) -> Void) -> HubConfiguration {
        var configuration = HubConfiguration()
        change(&configuration.decisions)
        return configuration
    }

    private static func update(_ number: Int) -> String {
        #"EVT coffee-order/1 type=update src=pos eid=e\#(number) {"content-state":{"n":\#(number)}}"#
    }

    private static func idCount(_ house: House, _ client: House.Client) throws -> Int64 {
        try #require(House.tail(house.send("STATS", from: client).last)["eventIDs"]?.integer)
    }
}
