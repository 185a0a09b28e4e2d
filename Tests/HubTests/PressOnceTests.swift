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

    private func house(_ more: String = "") throws -> (house: HubHarness, machine: HubHarness.Client, operation: String)
    {
        let house = try HubHarness(kinds: [HubHarness.logCoffee(more)])
        let machine = house.connect()
        house.send("SERVE log-coffee", from: machine)
        house.send("REPORT \(Self.key)", from: machine)
        house.post("PRESS \(Self.key)", from: house.connect())
        house.turn()
        return (house, machine, try #require(house.operation(askedOf: machine)))
    }

    private func row(_ house: HubHarness) throws -> JSON {
        try HubHarness.tail(house.send("GET \(Self.key)", from: house.connect()).last)
    }

    private func lose(_ machine: HubHarness.Client, of house: HubHarness, _ how: Loss) throws {
        switch how {
        case .disconnected: house.disconnect(machine)
        case .halfClosed:
            house.hub.inputEnded(machine.id)
            house.turn()
        case .restarted: try house.restart()
        case .restartedFromSnapshot: try house.restartFromSnapshot()
        }
    }

    @Test("The next provider is not asked for it", arguments: Loss.allCases)
    func next(_ how: Loss) throws {
        let (house, machine, operation) = try house()
        try lose(machine, of: house, how)
        for _ in 0..<3 {
            let next = house.connect()
            #expect(house.send("SERVE log-coffee", from: next) == ["OK"])
            house.disconnect(next)
        }
        let last = try #require(try row(house)["last"])
        #expect(last["op"]?.string == operation)
        #expect(last["result"] == "reverted" && last["reason"] == "unavailable")
        _ = try house.recovered()
    }

    @Test func `a provider that stands by is not asked for it`() throws {
        let (house, machine, operation) = try house()
        let standby = house.connect()
        house.send("SERVE log-coffee", from: standby)
        house.disconnect(machine)
        #expect(house.operation(askedOf: standby) == nil)
        #expect(house.send("DONE op=\(operation)", from: standby) == ["OK verdict=ignored"])
        let row = try row(house)
        #expect(row["phase"] == "idle" && row["available"] == true)
        house.send("PRESS \(Self.key)", from: house.connect())
        #expect(house.operation(askedOf: standby) != nil)
    }

    @Test func `a kind that is repeatable has the next provider asked`() throws {
        let (house, machine, operation) = try house(#""repeatable":true"#)
        house.disconnect(machine)
        #expect(try row(house)["phase"] == "performing")
        let next = house.connect()
        house.post("SERVE log-coffee", from: next)
        house.turn()
        #expect(house.operation(askedOf: next) == operation)
        _ = try house.recovered()
    }

    @Test func `a full disk delays its end and loses nothing of it`() throws {
        let (house, machine, operation) = try house()
        house.isFull = true
        house.disconnect(machine)
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(try row(house)["last"]?["op"]?.string == operation)
        _ = try house.recovered()
    }

    /// Releases before this rule asked the next provider. Their records say so by their number.
    @Test func `a record of before replays by the rule of before`() throws {
        let (house, _, operation) = try house()
        let key = try #require(Key(Self.key))
        let earlier: [ConnectionNumber?] = [nil, 77]
        for provider in earlier {
            house.hub.commit.propose(JournalEntry.providerChanged(key, to: provider, asksAgain: true))
            house.turn()
        }
        let entries = try house.records.suffix(2).map { try RecordBody(decoding: $0.body).entry }
        for entry in entries {
            guard case .providerChanged(_, _, asksAgain: true) = entry else {
                Issue.record("another rule: \(entry)")
                continue
            }
        }
        var recovered = try house.recovered()
        recovered.restart()
        try house.restart()
        let last = try #require(try row(house)["last"])
        #expect(last["op"]?.string == operation && last["reason"] == "unavailable")
    }
}
