import TelltaleModel
import Testing

@testable import Hub

/// The effects of a refused batch on sessions and providers are taken back with it.
struct RefusedRequestTests {
    /// A hub with a light, and the provider that reported it.
    private func lit() throws -> (HubHarness, provider: HubHarness.Client) {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let provider = harness.connect()
        harness.serveLight(from: provider)
        return (harness, provider)
    }

    @Test func `a tap that was not written leaves its session as one that never tapped`() throws {
        let (harness, _) = try lit()
        let person = harness.connect()
        harness.isFull = true
        #expect(harness.send("SET porch-light/front value=on", from: person).contains { $0.contains("storage_full") })
        #expect(harness.hub.sessions[person.id]?.hasTapped == false)
        harness.isFull = false
        harness.advance(by: .seconds(2))
        harness.send("SET porch-light/front value=on", from: person)
        #expect(harness.hub.sessions[person.id]?.hasTapped == true)
    }

    @Test func `a kind that was not served is served by no connection, and can be served again`() throws {
        let (harness, first) = try lit()
        harness.disconnect(first)
        let next = harness.connect()
        harness.isFull = true
        #expect(harness.send("SERVE porch-light", from: next).contains { $0.contains("storage_full") })
        #expect(harness.hub.providers.connectionCount == 0)
        #expect(harness.hub.sessions[next.id]?.served == [])
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(harness.send("SERVE porch-light", from: next).contains { $0.hasPrefix("OK") })
        let person = harness.connect()
        harness.send("SET porch-light/front value=on", from: person)
        #expect(harness.lines(of: next).contains { $0.hasPrefix("DO ") })
    }
}
