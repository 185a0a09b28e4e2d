import Journal
import Machines
import TelltaleModel
import Testing

@testable import Hub

/// A press that a provider was asked for is asked of no other one: it may have been performed.
struct PressOnceTests {
    private static let key = "log-coffee/desk"

    enum Loss: CaseIterable {
        case disconnected, halfClosed, restarted, restartedFromSnapshot
    }

    private func harness(_ more: String = "") throws -> (
        harness: HubHarness, machine: HubHarness.Client, operation: String
    ) {
        let harness = try HubHarness(kinds: [HubHarness.logCoffee(more)])
        let machine = harness.connect()
        harness.send("SERVE log-coffee", from: machine)
        harness.send("REPORT \(Self.key)", from: machine)
        harness.post("PRESS \(Self.key)", from: harness.connect())
        harness.turn()
        return (harness, machine, try #require(harness.operation(askedOf: machine)))
    }

    private func row(_ harness: HubHarness) throws -> JSON {
        try HubHarness.tail(harness.send("GET \(Self.key)", from: harness.connect()).last)
    }

    private func lose(_ machine: HubHarness.Client, of harness: HubHarness, _ how: Loss) throws {
        switch how {
        case .disconnected: harness.disconnect(machine)
        case .halfClosed:
            harness.hub.inputEnded(machine.id)
            harness.turn()
        case .restarted: try harness.restart()
        case .restartedFromSnapshot: try harness.restartFromSnapshot()
        }
    }

    @Test("The next provider is not asked for it", arguments: Loss.allCases)
    func next(_ how: Loss) throws {
        let (harness, machine, operation) = try harness()
        try lose(machine, of: harness, how)
        for _ in 0..<3 {
            let next = harness.connect()
            #expect(harness.send("SERVE log-coffee", from: next) == ["OK"])
            harness.disconnect(next)
        }
        let last = try #require(try row(harness)["last"])
        #expect(last["op"]?.string == operation)
        #expect(last["result"] == "reverted" && last["reason"] == "unavailable")
        _ = try harness.recovered()
    }

    @Test func `a provider that stands by is not asked for it`() throws {
        let (harness, machine, operation) = try harness()
        let standby = harness.connect()
        harness.send("SERVE log-coffee", from: standby)
        harness.disconnect(machine)
        #expect(harness.operation(askedOf: standby) == nil)
        #expect(harness.send("DONE op=\(operation)", from: standby) == ["OK verdict=ignored"])
        let row = try row(harness)
        #expect(row["phase"] == "idle" && row["available"] == true)
        harness.send("PRESS \(Self.key)", from: harness.connect())
        #expect(harness.operation(askedOf: standby) != nil)
    }

    @Test func `a kind that is repeatable has the next provider asked`() throws {
        let (harness, machine, operation) = try harness(#""repeatable":true"#)
        harness.disconnect(machine)
        #expect(try row(harness)["phase"] == "performing")
        let next = harness.connect()
        harness.post("SERVE log-coffee", from: next)
        harness.turn()
        #expect(harness.operation(askedOf: next) == operation)
        _ = try harness.recovered()
    }

    @Test func `a full disk delays its end and loses nothing of it`() throws {
        let (harness, machine, operation) = try harness()
        harness.isFull = true
        harness.disconnect(machine)
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(try row(harness)["last"]?["op"]?.string == operation)
        _ = try harness.recovered()
    }

    /// Releases before this rule asked the next provider. Their records say so by their number.
    @Test func `a record of before replays by the rule of before`() throws {
        let (harness, _, operation) = try harness()
        let key = try #require(Key(Self.key))
        let earlier: [ConnectionNumber?] = [nil, 77]
        for provider in earlier {
            harness.hub.commit.propose(JournalEntry.providerChanged(key, to: provider, refreshesAgain: true))
            harness.turn()
        }
        let entries = try harness.records.suffix(2).map { try RecordBody(decoding: $0.body).entry }
        for entry in entries {
            guard case .providerChanged(_, _, refreshesAgain: true) = entry else {
                Issue.record("another rule: \(entry)")
                continue
            }
        }
        var recovered = try harness.recovered()
        recovered.restart()
        try harness.restart()
        let last = try #require(try row(harness)["last"])
        #expect(last["op"]?.string == operation && last["reason"] == "unavailable")
    }
}
