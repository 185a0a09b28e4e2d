import TelltaleModel
import Testing

@testable import Hub

/// The effects of a refused batch on sessions and providers are taken back with it.
struct RefusedRequestTests {
    /// A house with a light, and the provider that told of it.
    private func lit() throws -> (HubHarness, provider: HubHarness.Client) {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let provider = house.connect()
        house.serveLight(from: provider)
        return (house, provider)
    }

    @Test func `a tap that was not written leaves its session as one that never tapped`() throws {
        let (house, _) = try lit()
        let person = house.connect()
        house.isFull = true
        #expect(house.send("SET porch-light/front value=on", from: person).contains { $0.contains("storage_full") })
        #expect(house.hub.sessions[person.id]?.hasTapped == false)
        house.isFull = false
        house.advance(by: .seconds(2))
        house.send("SET porch-light/front value=on", from: person)
        #expect(house.hub.sessions[person.id]?.hasTapped == true)
    }

    @Test func `a kind that was not served is served by no connection, and can be served again`() throws {
        let (house, first) = try lit()
        house.disconnect(first)
        let next = house.connect()
        house.isFull = true
        #expect(house.send("SERVE porch-light", from: next).contains { $0.contains("storage_full") })
        #expect(house.hub.providers.connectionCount == 0)
        #expect(house.hub.sessions[next.id]?.served == [])
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(house.send("SERVE porch-light", from: next).contains { $0.hasPrefix("OK") })
        let person = house.connect()
        house.send("SET porch-light/front value=on", from: person)
        #expect(house.lines(of: next).contains { $0.hasPrefix("DO ") })
    }
}
