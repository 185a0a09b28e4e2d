import Hub
import Journal
import Kinds
import TelltaleModel
import Testing

@testable import Server

/// A server that follows replays what a leader decides, answers reads, and takes over from it.
struct FollowingTests {
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
        var server = follower()
        try server.lead(beginningWith: kinds(), DecisionSettings())
        return server
    }

    private static func follower() -> Server {
        var server = Server(emptyHub(), configuration: configuration, snapshotSequence: 0)
        server.follow(at: time(0))
        return server
    }

    private static func post(_ line: String, to server: inout Server, at now: HubTime) -> [JournalRecord] {
        let id = server.connected(at: now)
        _ = server.received(Array((line + "\n").utf8).span, from: id, at: now)
        return turn(&server, at: now)
    }

    @Test func `the state of a standby has the hash of the leader after each batch`() throws {
        var leader = try Self.leader()
        var standby = Self.follower()
        try standby.replay(Self.turn(&leader, at: Self.time(0)), at: Self.time(0))
        for number in 1...5 {
            try standby.replay(
                Self.post("EVT tea/\(number) type=start eid=\(number)", to: &leader, at: Self.time(Int64(number))),
                at: Self.time(Int64(number)))
            check(standby.sequence == leader.sequence && standby.stateHash == leader.stateHash)
        }
        // The leader's timers, and not the standby's.
        try standby.replay(Self.turn(&leader, at: Self.time(63)), at: Self.time(63))
        check(standby.stateHash == leader.stateHash)
    }

    @Test func `a deadline that fell due meanwhile fires at the takeover, and with it no kind of the node's own`()
        throws
    {
        var leader = try Self.leader()
        var standby = Self.follower()
        try standby.replay(Self.turn(&leader, at: Self.time(0)), at: Self.time(0))
        try standby.replay(Self.post("EVT tea/1 type=start", to: &leader, at: Self.time(1)), at: Self.time(1))
        // It fires nothing itself, and a turn of reads leaves its clocks where the records put them.
        #expect(Self.post("KINDS", to: &standby, at: Self.time(99)).isEmpty)
        check(standby.lastTimes.record == Self.time(1).time)
        try standby.lead(beginningWith: Self.kinds(version: 2), DecisionSettings())
        #expect(Self.turn(&standby, at: Self.time(30)).isEmpty)
        let records = Self.turn(&standby, at: Self.time(100))
        #expect(records.map(\.entity) == ["tea/1"])
        check(standby.epoch == leader.epoch)
    }

    @Test func `an event that the leader stored and did not answer is a duplicate after the takeover`() throws {
        var leader = try Self.leader()
        var standby = Self.follower()
        try standby.replay(Self.turn(&leader, at: Self.time(0)), at: Self.time(0))
        let records = Self.post("EVT tea/1 type=start src=shop eid=1", to: &leader, at: Self.time(1))
        try standby.replay(records, at: Self.time(1))
        try standby.lead(beginningWith: [], DecisionSettings())
        #expect(Self.post("EVT tea/1 type=start src=shop eid=1", to: &standby, at: Self.time(2)).isEmpty)
    }

    @Test func `a record that gives another result here stops the standby`() throws {
        var leader = try Self.leader()
        var standby = Self.follower()
        try standby.replay(Self.turn(&leader, at: Self.time(0)), at: Self.time(0))
        var records = Self.post("EVT tea/1 type=start", to: &leader, at: Self.time(1))
        records[0].time = records[0].time + Milliseconds(1)
        #expect(throws: RecoveryError.self) { try standby.replay(records, at: Self.time(1)) }
    }

    /// Decides a batch, which the log is yet to store.
    ///
    /// - Returns: The batch, and the connections that are closed with what they were sent.
    private static func decide(_ server: inout Server, at now: HubTime) -> [JournalRecord] {
        var records: [JournalRecord] = []
        server.turn(at: now)
        while let action = server.nextAction(at: now) { if case .append(let part, _) = action { records += part } }
        return records
    }

    @Test func `a leader that follows another one undoes its batch, and replays it where the log has it`() throws {
        var leader = try Self.leader()
        _ = Self.turn(&leader, at: Self.time(0))
        let (shop, screen) = (leader.connected(at: Self.time(0)), leader.connected(at: Self.time(0)))
        _ = leader.received(Array("SUB *\n".utf8).span, from: screen, at: Self.time(1))
        _ = Self.turn(&leader, at: Self.time(1))
        let hash = leader.stateHash
        _ = leader.received(Array("EVT tea/1 type=start\n".utf8).span, from: shop, at: Self.time(2))
        let records = Self.decide(&leader, at: Self.time(2))
        #expect(records.count == 1)
        leader.follow(at: Self.time(3))
        check(leader.isFollowing && !leader.isCommitting && leader.stateHash == hash)
        check(leader.lastTimes.record == Self.time(0).time)
        // Nothing is said of a write whose fate is not known, and the screen stays.
        var (closed, rows): ([SessionID], String) = ([], "")
        func perform(_ server: inout Server, at now: HubTime) {
            server.turn(at: now)
            while let action = server.nextAction(at: now) {
                switch action {
                case .close(let id):
                    closed.append(id)
                    server.disconnected(id)
                case .flush:
                    while let id = server.nextReady(at: now) {
                        var bytes: [UInt8] = []
                        let output = server.output(for: id, at: now, to: &bytes)
                        bytes += server.sharedRows[output.sharedRange]
                        if id == shop { #expect(bytes.isEmpty) }
                        if id == screen { rows += String(decoding: bytes, as: UTF8.self) }
                    }
                    server.flushed(at: now)
                default: break
                }
            }
        }
        perform(&leader, at: Self.time(3))
        #expect(closed == [shop] && rows.isEmpty)
        try leader.replay(records, at: Self.time(4))
        perform(&leader, at: Self.time(4))
        #expect(rows.contains("UPD") && rows.contains("key=tea/1"))
    }

    @Test func `a server that follows has the clocks of the newest record, also where it ran a batch of reads`() throws
    {
        var leader = try Self.leader()
        _ = Self.turn(&leader, at: Self.time(0))
        #expect(Self.post("KINDS", to: &leader, at: Self.time(9)).isEmpty)
        check(leader.lastTimes.record == Self.time(9).time)
        leader.follow(at: Self.time(10))
        check(leader.lastTimes.record == Self.time(0).time)
    }

    @Test func `what a leader was to originate, another one decides`() throws {
        var leader = try Self.leader()
        _ = Self.turn(&leader, at: Self.time(0))
        try leader.adopt(Self.kinds(version: 2))
        leader.follow(at: Self.time(1))
        try leader.lead(beginningWith: [], DecisionSettings())
        #expect(Self.turn(&leader, at: Self.time(2)).isEmpty)
    }

    @Test func `a deadline whose record was refused is fired by the next term of the same node`() throws {
        var leader = try Self.leader()
        _ = Self.turn(&leader, at: Self.time(0))
        _ = Self.post("EVT tea/1 type=start", to: &leader, at: Self.time(1))
        #expect(Self.decide(&leader, at: Self.time(100)).count == 1)
        leader.follow(at: Self.time(101))
        try leader.lead(beginningWith: [], DecisionSettings())
        #expect(Self.turn(&leader, at: Self.time(102)).map(\.entity) == ["tea/1"])
    }

    private func check(_ condition: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(condition, sourceLocation: sourceLocation)
    }
}
