import TelltaleModel
import TestSupport
import Testing

@testable import Hub

/// A provider of many keys comes and goes: a batch reports some of them so, and others are served between two batches.
struct ProviderScanTests {
    private static let share = 4
    private static let count = 30

    /// A hub with lamps of two kinds, one behind another in the table.
    private func harness() throws -> HubHarness {
        var configuration = HubConfiguration()
        configuration.limits.keysPerScan = Self.share
        let harness = try HubHarness(
            kinds: [HubHarness.coffee, HubHarness.porchLight(), HubHarness.logCoffee()], configuration: configuration)
        let (lamps, buttons) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: lamps)
        harness.send("SERVE log-coffee", from: buttons)
        for number in 0..<Self.count {
            harness.send("REPORT porch-light/\(number) value=off", from: lamps)
            harness.send("REPORT log-coffee/\(number)", from: buttons)
        }
        harness.disconnect(lamps)
        harness.disconnect(buttons)
        return harness
    }

    /// The keys of a kind that have not been reported which connection acts for them.
    private func unaligned(_ kind: String, in harness: HubHarness) -> [Int] {
        (0..<Self.count).filter { number in
            guard let key = Key("\(kind)/\(number)") else { return true }
            return harness.hub.store.isUnaligned(key, with: harness.hub.providers.acting(for: kind))
        }
    }

    /// Decides batches one by one, and gives the number of records of each.
    private func records(of harness: HubHarness) -> [Int] {
        var counts: [Int] = []
        while harness.hub.hasWork(at: harness.now) {
            let begin = harness.records.count
            harness.commit()
            counts.append(harness.records.count - begin)
        }
        return counts
    }

    @Test func `serving many keys is spread over batches, and its answer is in the first`() throws {
        let harness = try harness()
        let provider = harness.connect()
        harness.post("SERVE porch-light id=1", from: provider)
        harness.commit()
        harness.flush()
        #expect(harness.lines(of: provider) == ["OK id=1"])
        let counts = records(of: harness)
        #expect(counts.allSatisfy { $0 <= Self.share } && counts.reduce(0, +) == Self.count - Self.share)
        #expect(unaligned("porch-light", in: harness) == [])
    }

    @Test func `the end of a provider is spread over batches, and another kind's is not held up by it`() throws {
        let harness = try harness()
        let (lamps, buttons) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: lamps)
        harness.send("SERVE log-coffee", from: buttons)
        harness.hub.disconnected(lamps.id)
        harness.commit()
        harness.hub.disconnected(buttons.id)
        for _ in 0..<4 { harness.commit() }
        // They take turns.
        #expect(unaligned("porch-light", in: harness).count < Self.count)
        #expect(unaligned("log-coffee", in: harness).count < Self.count)
        let counts = records(of: harness)
        #expect(counts.allSatisfy { $0 <= Self.share })
        #expect(unaligned("porch-light", in: harness) + unaligned("log-coffee", in: harness) == [])
    }

    @Test func `a key that is yet to be notified is notified before it is tapped`() throws {
        let harness = try harness()
        let (provider, screen) = (harness.connect(), harness.connect())
        harness.post("SERVE porch-light", from: provider)
        harness.commit()
        let last = Self.count - 1
        #expect(unaligned("porch-light", in: harness).contains(last))
        harness.post("SET porch-light/\(last) value=on", from: screen)
        harness.commit()
        harness.flush()
        #expect(harness.lines(of: screen).last?.contains("phase=pending") == true)
        #expect(harness.lines(of: provider).contains { $0.hasPrefix("DO ") && $0.contains("key=porch-light/\(last) ") })
    }

    @Test func `providers that come and go while keys are reported leave each key with the last one`() throws {
        let harness = try harness()
        var generator = SeededGenerator(seed: 7)
        var acting: HubHarness.Client?
        for _ in 0..<40 {
            if let client = acting { harness.hub.disconnected(client.id) }
            let client = harness.connect()
            harness.post("SERVE porch-light", from: client)
            acting = client
            for _ in 0..<Int.random(in: 0...3, using: &generator) { harness.commit() }
        }
        _ = records(of: harness)
        #expect(unaligned("porch-light", in: harness) == [])
        let other = try harness.recovered()
        #expect(harness.hub.stateHash == other.stateHash)
    }

    @Test func `on a full disk it pauses, whatever others ask, and goes on when there is room`() throws {
        let harness = try harness()
        let (lamps, other) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: lamps)
        harness.isFull = true
        harness.disconnect(lamps)
        // A pause follows, in which a request that only reads is answered by a batch without records.
        holds(!harness.hub.hasWork(at: harness.now))
        harness.post("PING id=1", from: other)
        let records = harness.hub.decide(at: harness.now)
        #expect(records.isEmpty)
        harness.hub.committed(at: harness.now)
        harness.flush()
        #expect(harness.lines(of: other) == ["PONG id=1"])
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(unaligned("porch-light", in: harness) == [])
    }
}
