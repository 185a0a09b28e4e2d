import Hub
import TelltaleModel
import Testing

/// Connections of the processes of a cluster have numbers of their own, which stand in records.
struct ConnectionNumberTests {
    @Test func `a number has its process in it, and conn= says the place among those of the process`() throws {
        let house = try HubHarness()
        let alone = house.connect()
        #expect(alone.id.number == 1)
        house.hub.numberConnections(asOf: 7)
        let client = house.connect()
        #expect(client.id.number == 7 << 32 + 2)
        #expect(house.send("HELLO", from: client).first?.contains(" conn=c2 ") == true)
    }

    @Test func `the row of a tap is pending for who tapped, and not for the same connection of another process`() throws
    {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        house.hub.numberConnections(asOf: 7)
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        house.send("SET porch-light/front value=on", from: screen)
        func value(_ client: HubHarness.Client) throws -> JSON? {
            try HubHarness.tail(house.send("GET porch-light/front view=carplay", from: client).last)["shown"]
        }
        #expect(try value(screen) == true)
        // Another process of the cluster, which replays the same records.
        house.hub = try house.recovered()
        house.hub.numberConnections(asOf: 9)
        let (_, other) = (house.connect(), house.connect())
        #expect(other.id.counter == screen.id.counter)
        #expect(try value(other) == false)
    }
}
