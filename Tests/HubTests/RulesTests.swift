import Journal
import Machines
import TelltaleModel
import Testing

@testable import Hub

/// The edition of the rules of a history: journaled, kept over a new release, and moved by an operator alone.
struct RulesTests {
    private static var former: HubConfiguration {
        var configuration = HubConfiguration()
        configuration.decisions.rules = .first
        return configuration
    }

    private static func rulesTold(by hub: HubHarness) throws -> String? {
        let reply = try #require(hub.send("STATS", from: hub.connect()).last)
        return reply.firstMatch(of: /"rules":(\d+)/).map { String($0.1) }
    }

    private static func settings(of record: JournalRecord) throws -> JSON? {
        guard case .settings(let json) = try RecordBody(decoding: record.body).entry else { return nil }
        return json
    }

    @Test("A new history begins with the newest rules, and a start with the same settings leaves them")
    func newHistory() throws {
        let hub = try HubHarness()
        #expect(
            try hub.records.compactMap(Self.settings).map { $0["rules"] } == [.integer(DecisionRules.newest.number)])
        #expect(try Self.rulesTold(by: hub) == "\(DecisionRules.newest.number)")
        let count = hub.records.count
        try hub.hub.adopt(DecisionSettings())
        hub.turn()
        #expect(hub.records.count == count)
    }

    @Test(
        "A history without a number keeps the first rules, over restarts and a change of another setting",
        arguments: [true, false])
    func formerHistory(fromSnapshot: Bool) throws {
        let hub = try HubHarness(configuration: Self.former)
        #expect(try hub.records.compactMap(Self.settings).map { $0["rules"] } == [nil])
        try hub.restart(kinds: [HubHarness.coffee], fromSnapshot: fromSnapshot)
        let count = hub.records.count
        try hub.hub.adopt(DecisionSettings())
        hub.turn()
        #expect(hub.records.count == count)
        var other = DecisionSettings()
        other.retention = .days(3)
        try hub.hub.adopt(other)
        hub.turn()
        #expect(hub.records.count == count + 1)
        #expect(try Self.rulesTold(by: hub) == "1")
        #expect(try hub.recovered().rules == 1)
    }

    @Test("An operator moves a history to newer rules, once and never back", arguments: [true, false])
    func moves(fromSnapshot: Bool) throws {
        let hub = try HubHarness(configuration: Self.former)
        var newer = DecisionSettings()
        newer.rules = .newest
        #expect(
            try hub.hub.differences(from: [try HubHarness.kind(HubHarness.coffee)], newer) == ["rules is 1, and 2 here"]
        )
        try hub.hub.adopt(newer)
        #expect(hub.hub.rules == 2)
        hub.turn()
        #expect(try Self.rulesTold(by: hub) == "2")
        try hub.restart(kinds: [HubHarness.coffee], fromSnapshot: fromSnapshot)
        #expect(try Self.rulesTold(by: hub) == "2")
        #expect(throws: SettingsRefusal.formerRules(journal: 2, asked: 1)) {
            try hub.hub.adopt(Self.former.decisions)
        }
    }

    @Test("A history of rules that this release does not know is not opened, from records or a snapshot")
    func laterRelease() throws {
        var json = try #require(DecisionSettings().json.object)
        json["rules"] = .integer(DecisionRules.newest.number + 1)
        #expect(throws: UnknownRules.self) { try DecisionSettings(.object(json)) }
        let store = EntityStore(epoch: 1)
        #expect(store.rules == .first)
        var changed = EntityStore(epoch: 1)
        #expect(throws: (any Error).self) { _ = try changed.apply(.settings(.object(json))) }
        #expect(changed.rules == .first)
    }
}
