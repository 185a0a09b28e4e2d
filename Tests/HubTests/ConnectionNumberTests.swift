import Hub
import TelltaleModel
import Testing

/// Connections of the processes of a cluster have numbers of their own, which stand in records.
struct ConnectionNumberTests {
    @Test func `a number has its process in it, and conn= says the place among those of the process`() throws {
        let harness = try HubHarness()
        let alone = harness.connect()
        #expect(alone.id.number == 1)
        harness.hub.numberConnections(asOf: 7)
        let client = harness.connect()
        #expect(client.id.number == 7 << 32 + 2)
        #expect(harness.send("HELLO", from: client).first?.contains(" conn=c2 ") == true)
    }

    @Test func `the row of a tap is pending for who tapped, and not for the same connection of another process`() throws
    {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        harness.hub.numberConnections(asOf: 7)
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: lamp)
        harness.send("REPORT porch-light/front value=off", from: lamp)
        harness.send("SET porch-light/front value=on", from: screen)
        func value(_ client: HubHarness.Client) throws -> JSON? {
            try HubHarness.tail(harness.send("GET porch-light/front view=carplay", from: client).last)["shown"]
        }
        #expect(try value(screen) == true)
        // Another process of the cluster, which replays the same records.
        harness.hub = try harness.recovered()
        harness.hub.numberConnections(asOf: 9)
        let (_, other) = (harness.connect(), harness.connect())
        #expect(other.id.counter == screen.id.counter)
        #expect(try value(other) == false)
    }
}
