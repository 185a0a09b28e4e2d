import Hub
import Journal
import Kinds
import TelltaleModel
import Testing

@testable import Server

/// A standby replays what a leader decides, and takes over from it.
struct StandbyTests {
    private static let kind = """
        {"kind":"tea","type":"activity","version":1,"app":"a","title":"Tea",
         "machine":{"initial":"steeping","states":{"steeping":{"after":{"60s":"ready"}},"ready":{"type":"final"}}},
         "views":{"compact":{"leading":{"symbol":"a"},"trailing":{"text":"b"}},"minimal":{"symbol":"a"},
                  "expanded":{"center":{"title":"t"}},"lockScreen":{"title":"t"}}}
        """

    private static func kinds(version: Int = 1) throws -> [Kind] {
        let text = kind.replacing(#""version":1"#, with: #""version":\#(version)"#)
        return [try #require(KindSet.read(Array(text.utf8), file: "tea.json").0)]
    }

    private static func time(_ seconds: Int64) -> HubTime {
        let time = Timestamp(milliseconds: 1_763_719_200_000 + 1_000 * seconds)
        return HubTime(time: time, wall: time, monotonic: MonotonicTime(milliseconds: 1_000 * seconds))
    }

    private static func emptyHub() -> Hub { Hub(configuration: HubConfiguration(), epoch: 7) }

    private static var configuration: ServerConfiguration {
        var configuration = ServerConfiguration()
        configuration.pace = .fixed(.zero)
        configuration.isJournalImmediate = true
        return configuration
    }

    /// Turns a server once, with a journal that stores everything.
    ///
    /// - Returns: The records of the turn.
    private static func turn(_ server: inout Server, at now: HubTime) -> [JournalRecord] {
        var records: [JournalRecord] = []
        server.turn(at: now)
        while let action = server.nextAction(at: now) {
            switch action {
            case .append(let part, let isLast):
                records += part
                if isLast { server.synced(.durable(duration: .zero, wait: .zero), at: now) }
            case .flush:
                while let id = server.nextReady(at: now) {
                    var bytes: [UInt8] = []
                    _ = server.output(for: id, at: now, to: &bytes)
                }
                server.flushed(at: now)
            default: break
            }
        }
        return records
    }

    private static func leader() throws -> Server {
        try Standby(emptyHub()).takeOver(
            beginningWith: kinds(), settings: DecisionSettings(), configuration: configuration)
    }

    private static func post(_ line: String, to server: inout Server, at now: HubTime) -> [JournalRecord] {
        let id = server.connected(at: now)
        _ = server.received(Array((line + "\n").utf8).span, from: id, at: now)
        return turn(&server, at: now)
    }

    @Test func `the state of a standby has the leader's hash behind every batch`() throws {
        var leader = try Self.leader()
        var standby = Standby(Self.emptyHub())
        try standby.replay(Self.turn(&leader, at: Self.time(0)), at: Self.time(0))
        for number in 1...5 {
            try standby.replay(
                Self.post("EVT tea/\(number) type=start eid=\(number)", to: &leader, at: Self.time(Int64(number))),
                at: Self.time(Int64(number)))
            #expect(standby.sequence == leader.hub.lastRecordSequence)
            #expect(standby.stateHash == leader.hub.stateHash)
        }
        // The leader's timers, and not the standby's.
        try standby.replay(Self.turn(&leader, at: Self.time(63)), at: Self.time(63))
        #expect(standby.stateHash == leader.hub.stateHash)
    }

    @Test func `a deadline that fell due meanwhile fires at the takeover, and with it no kind of the node's own`()
        throws
    {
        var leader = try Self.leader()
        var standby = Standby(Self.emptyHub())
        try standby.replay(Self.turn(&leader, at: Self.time(0)), at: Self.time(0))
        try standby.replay(Self.post("EVT tea/1 type=start", to: &leader, at: Self.time(1)), at: Self.time(1))
        var next = try standby.takeOver(
            beginningWith: Self.kinds(version: 2), settings: DecisionSettings(), configuration: Self.configuration)
        #expect(Self.turn(&next, at: Self.time(30)).isEmpty)
        let records = Self.turn(&next, at: Self.time(100))
        #expect(records.map(\.entity) == ["tea/1"])
        #expect(next.epoch == leader.epoch)
    }

    @Test func `an event that the leader stored and did not answer is a duplicate behind the takeover`() throws {
        var leader = try Self.leader()
        var standby = Standby(Self.emptyHub())
        try standby.replay(Self.turn(&leader, at: Self.time(0)), at: Self.time(0))
        let records = Self.post("EVT tea/1 type=start src=shop eid=1", to: &leader, at: Self.time(1))
        try standby.replay(records, at: Self.time(1))
        var next = try standby.takeOver(
            beginningWith: [], settings: DecisionSettings(), configuration: Self.configuration)
        #expect(Self.post("EVT tea/1 type=start src=shop eid=1", to: &next, at: Self.time(2)).isEmpty)
    }

    @Test func `a record that gives another result here stops the standby`() throws {
        var leader = try Self.leader()
        var standby = Standby(Self.emptyHub())
        try standby.replay(Self.turn(&leader, at: Self.time(0)), at: Self.time(0))
        var records = Self.post("EVT tea/1 type=start", to: &leader, at: Self.time(1))
        records[0].time = records[0].time + Milliseconds(1)
        #expect(throws: RecoveryError.self) { try standby.replay(records, at: Self.time(1)) }
    }
}
