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

    private static func reportedRules(by hub: HubHarness) throws -> String? {
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
        #expect(try Self.reportedRules(by: hub) == "\(DecisionRules.newest.number)")
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
        #expect(try Self.reportedRules(by: hub) == "1")
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
        #expect(try Self.reportedRules(by: hub) == "2")
        try hub.restart(kinds: [HubHarness.coffee], fromSnapshot: fromSnapshot)
        #expect(try Self.reportedRules(by: hub) == "2")
        #expect(
            try hub.hub.differences(from: [try HubHarness.kind(HubHarness.coffee)], Self.former.decisions)
                == ["rules is 2, and 1 here, which a history does not go back to"])
        let count = hub.records.count
        try hub.hub.adopt(Self.former.decisions)
        hub.turn()
        #expect(hub.hub.rules == 2 && hub.records.count == count)
        var other = Self.former.decisions
        other.retention = .days(3)
        try hub.hub.adopt(other)
        hub.turn()
        #expect(try hub.records.last.flatMap(Self.settings)?["rules"] == 2)
        #expect(try Self.reportedRules(by: hub) == "2" && hub.records.count == count + 1)
    }

    @Test("Settings have one edition, by which activities are decided")
    func oneEdition() {
        var settings = DecisionSettings()
        #expect(settings.rules == nil && settings.activities.rules == .newest)
        settings.rules = .first
        #expect(settings.activities.rules == .first)
        settings.activities = ActivitySettings()
        #expect(settings.rules == settings.activities.rules)
        settings.rules = nil
        #expect(settings == DecisionSettings())
    }

    @Test("Settings that are refused leave the kinds, and kinds that are refused leave the settings")
    func bothOrNeither() throws {
        let hub = try HubHarness()
        hub.send("EVT coffee-order/1 type=start", from: hub.connect())
        let count = hub.records.count
        let newer = try HubHarness.kind(HubHarness.coffee.replacing(#""version":1"#, with: #""version":2"#))
        var (faster, shorter) = (DecisionSettings(), DecisionSettings())
        faster.clockSpeed = 2
        shorter.retention = .days(3)
        #expect(throws: SettingsRefusal.self) { try hub.hub.adopt([newer], faster) }
        #expect(throws: KindRefusal.self) { try hub.hub.adopt([], shorter) }
        hub.turn()
        #expect(hub.records.count == count)
        try hub.hub.adopt([newer], shorter)
        hub.turn()
        #expect(hub.records.count == count + 2)
    }

    @Test("A history of rules that this release does not know is not opened, from records or a snapshot")
    func laterRelease() throws {
        var json = try #require(DecisionSettings().json.object)
        json["rules"] = .integer(DecisionRules.newest.number + 1)
        #expect(throws: UnknownRules.self) { try DecisionSettings(.object(json)) }
        let store = EntityStore(epoch: 1)
        #expect(store.rules == .first)
        var changed = EntityStore(epoch: 1)
        #expect(throws: (any Error).self) { _ = try Decisions.apply(.settings(.object(json)), &changed) }
        #expect(changed.rules == .first)
    }

    /// An order is ready when the kitchen says so, and a question about it is open.
    private static let bowl = """
        {"kind":"bowl","type":"activity","version":1,"app":"com.example.bowls","title":"Bowl",
         "machine":{"initial":"making","states":{
           "making":{"on":{"ready":"done"},"regions":[
             {"id":"kitchen","initial":"cooking","states":{"cooking":{"on":{"plate":"plated"}},"plated":{}}},
             {"id":"question","initial":"none","states":{
               "none":{"on":{"ask":"open"}},"open":{"defer":["ready"],"on":{"answer":"none"}}}}]},
           "done":{"on":{"collect":"collected"}},"collected":{"type":"final"}}},
         "views":{"compact":{"leading":{"symbol":"cup"},"trailing":{"text":"{{state.title}}"}},"minimal":{"symbol":"cup"},
           "lockScreen":{"title":"{{state.title}}"},"expanded":{"center":{"title":"{{state.title}}"}}}}
        """

    @Test("A region that defers an event is overruled by the state around it under the first rules alone")
    func deferral() throws {
        let harness = try HubHarness(kinds: [Self.bowl], configuration: Self.former)
        let client = harness.connect()
        func verdict(_ key: String) -> String? {
            harness.send("EVT \(key) type=start", from: client)
            harness.send("EVT \(key) type=ask", from: client)
            return harness.send("EVT \(key) type=ready", from: client).first.flatMap {
                HubHarness.attribute("verdict", of: $0)
            }
        }
        #expect(verdict("bowl/1") == "applied")
        var newer = DecisionSettings()
        newer.rules = .newest
        try harness.hub.adopt(newer)
        harness.turn()
        #expect(verdict("bowl/2") == "deferred")
        let answered = harness.send("EVT bowl/2 type=answer", from: client).first
        #expect(answered.flatMap { HubHarness.attribute("state", of: $0) } == "done")
        // Each record replays by the rules that were in force before it.
        #expect(try harness.recovered().stateHash == harness.hub.stateHash)
    }
}
