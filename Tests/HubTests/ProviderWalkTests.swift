import TelltaleModel
import TestSupport
import Testing

@testable import Hub

/// A provider of many keys comes and goes: a batch tells some of them so, and others are served between two batches.
struct ProviderWalkTests {
    private static let share = 4
    private static let count = 30

    /// A house with lamps of two kinds, one behind another in the table.
    private func house() throws -> HubHarness {
        var configuration = HubConfiguration()
        configuration.limits.keysPerWalk = Self.share
        let house = try HubHarness(
            kinds: [HubHarness.coffee, HubHarness.porchLight(), HubHarness.logCoffee()], configuration: configuration)
        let (lamps, buttons) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamps)
        house.send("SERVE log-coffee", from: buttons)
        for number in 0..<Self.count {
            house.send("REPORT porch-light/\(number) value=off", from: lamps)
            house.send("REPORT log-coffee/\(number)", from: buttons)
        }
        house.disconnect(lamps)
        house.disconnect(buttons)
        return house
    }

    /// The keys of a kind that have not been told which connection acts for them.
    private func unaligned(_ kind: String, in house: HubHarness) -> [Int] {
        (0..<Self.count).filter { number in
            guard let key = Key("\(kind)/\(number)") else { return true }
            return house.hub.store.isUnaligned(key, with: house.hub.providers.acting(for: kind))
        }
    }

    /// Decides batches one by one, and gives the number of records of each.
    private func records(of house: HubHarness) -> [Int] {
        var counts: [Int] = []
        while house.hub.hasWork(at: house.now) {
            let begin = house.records.count
            house.commit()
            counts.append(house.records.count - begin)
        }
        return counts
    }

    @Test func `serving many keys is spread over batches, and its answer is in the first`() throws {
        let house = try house()
        let provider = house.connect()
        house.post("SERVE porch-light id=1", from: provider)
        house.commit()
        house.flush()
        #expect(house.lines(of: provider) == ["OK id=1"])
        let counts = records(of: house)
        #expect(counts.allSatisfy { $0 <= Self.share } && counts.reduce(0, +) == Self.count - Self.share)
        #expect(unaligned("porch-light", in: house) == [])
    }

    @Test func `the end of a provider is spread over batches, and another kind's is not held up by it`() throws {
        let house = try house()
        let (lamps, buttons) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamps)
        house.send("SERVE log-coffee", from: buttons)
        house.hub.disconnected(lamps.id)
        house.commit()
        house.hub.disconnected(buttons.id)
        for _ in 0..<4 { house.commit() }
        // They take turns.
        #expect(unaligned("porch-light", in: house).count < Self.count)
        #expect(unaligned("log-coffee", in: house).count < Self.count)
        let counts = records(of: house)
        #expect(counts.allSatisfy { $0 <= Self.share })
        #expect(unaligned("porch-light", in: house) + unaligned("log-coffee", in: house) == [])
    }

    @Test func `a key that is yet to be told is told before it is tapped`() throws {
        let house = try house()
        let (provider, screen) = (house.connect(), house.connect())
        house.post("SERVE porch-light", from: provider)
        house.commit()
        let last = Self.count - 1
        #expect(unaligned("porch-light", in: house).contains(last))
        house.post("SET porch-light/\(last) value=on", from: screen)
        house.commit()
        house.flush()
        #expect(house.lines(of: screen).last?.contains("phase=pending") == true)
        #expect(house.lines(of: provider).contains { $0.hasPrefix("DO ") && $0.contains("key=porch-light/\(last) ") })
    }

    @Test func `providers that come and go while keys are told leave each key with the last one`() throws {
        let house = try house()
        var generator = SeededGenerator(seed: 7)
        var acting: HubHarness.Client?
        for _ in 0..<40 {
            if let client = acting { house.hub.disconnected(client.id) }
            let client = house.connect()
            house.post("SERVE porch-light", from: client)
            acting = client
            for _ in 0..<Int.random(in: 0...3, using: &generator) { house.commit() }
        }
        _ = records(of: house)
        #expect(unaligned("porch-light", in: house) == [])
        let other = try house.recovered()
        #expect(house.hub.stateHash == other.stateHash)
    }

    @Test func `on a full disk it pauses, whatever others ask, and goes on when there is room`() throws {
        let house = try house()
        let (lamps, other) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamps)
        house.isFull = true
        house.disconnect(lamps)
        // A pause follows, in which a request that only reads is answered by a batch without records.
        holds(!house.hub.hasWork(at: house.now))
        house.post("PING id=1", from: other)
        let records = house.hub.decide(at: house.now)
        #expect(records.isEmpty)
        house.hub.committed(at: house.now)
        house.flush()
        #expect(house.lines(of: other) == ["PONG id=1"])
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(unaligned("porch-light", in: house) == [])
    }
}
