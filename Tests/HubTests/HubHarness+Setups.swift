import Hub
import TelltaleModel

extension HubHarness {
    /// An order that `shop` has started.
    static func startedOrder() throws -> (HubHarness, shop: HubHarness.Client) {
        let harness = try HubHarness()
        let shop = harness.connect()
        harness.send("EVT coffee-order/1 type=start", from: shop)
        return (harness, shop)
    }

    /// A client provides the porch light, and reports that it is on or off.
    func serveLight(value: String = "off", from lamp: Client) {
        send("SERVE porch-light", from: lamp)
        send("REPORT porch-light/front value=\(value)", from: lamp)
    }

    /// An order, and a screen that is live and has its newest row.
    static func followedOrder() throws -> (HubHarness, shop: HubHarness.Client, screen: HubHarness.Client) {
        let (harness, shop) = try startedOrder()
        let screen = harness.connect()
        harness.send("SUB coffee-order/1 view=full", from: screen)
        return (harness, shop, screen)
    }

    /// A hub with the kinds of the surfaces and this default heartbeat, in milliseconds.
    static func withHeartbeat(_ heartbeat: Int64 = 1_000) throws -> HubHarness {
        var configuration = HubConfiguration()
        configuration.limits.heartbeat = Milliseconds(heartbeat)
        return try HubHarness(kinds: kindsOfSurfaces, configuration: configuration)
    }
}
