import Hub
import Journal
import Replication
import TelltaleModel
import Testing

/// A folder whose node has stopped because the log lost what it had read: it remembers that.
struct WitnessTests {
    private static var settings: BaseSettings {
        var settings = BaseSettings()
        settings.every = .seconds(60)
        settings.retention = .seconds(100)
        (settings.look, settings.turn) = (.seconds(2), .seconds(4))
        return settings
    }

    private static func post(_ count: Int, _ prefix: String, in town: Town) throws {
        let leader = try #require(town.leaders.first)
        let client = leader.connect()
        for number in 1...count { _ = leader.post("tea/\(prefix)-\(number)", from: client) }
    }

    private static func mark(of daemon: TownDaemon) throws -> LogReader {
        try LogReader(mark: #require(daemon.contents.mark))
    }

    /// Three daemons of which each has told that the log lost messages.
    private static func stopped() throws -> (town: Town, lost: [[UInt8]]) {
        let town = try Town(3, bases: settings)
        town.pass(.seconds(10))
        try post(30, "a", in: town)
        town.pass(.seconds(1))
        let lost = town.log.lose(5)
        town.pass(.seconds(50))
        for daemon in town.daemons {
            #expect(daemon.stopReason?.contains("are lost") == true, "\(daemon.stopReason ?? "goes on")")
            daemon.kill()
            #expect(try mark(of: daemon).loss == daemon.stopReason)
        }
        return (town, lost)
    }

    @Test func `a node that told a loss takes no base of the log that has lost it, before an operator decides`() throws
    {
        let (town, _) = try Self.stopped()
        let witness = town.daemons[0]
        let before = witness.contents
        // Another operator takes the log for right, and forgets this folder.
        for daemon in town.daemons.dropFirst() {
            daemon.take(InMemoryJournal.Contents(epoch: 1))
            try daemon.start()
        }
        town.pass(.seconds(10))
        for round in 0..<4 {
            try Self.post(30, "b\(round)", in: town)
            town.pass(.seconds(70))
        }
        #expect(try town.log.first > Self.mark(of: witness).position + 1)
        for _ in 0..<2 {
            try witness.start()
            town.pass(.seconds(50))
            let reason = try #require(witness.stopReason)
            #expect(reason.hasPrefix("this node stopped before, because the log ends with message "), "\(reason)")
            #expect(reason.contains("the log was purged since"), "\(reason)")
            witness.kill()
            #expect(witness.contents.records == before.records && witness.contents.mark == before.mark)
        }
        #expect(!witness.told.contains { $0.hasPrefix("base of record ") })
        witness.take(InMemoryJournal.Contents(epoch: 1))
        try witness.start()
        town.pass(.seconds(10))
        #expect(witness.stopReason == nil && witness.standing?.lag == 0)
    }

    @Test func `a loss that is none any more is forgotten, and one that is there is told again`() throws {
        let (town, lost) = try Self.stopped()
        let witness = town.daemons[0]
        try witness.start()
        town.pass(.seconds(50))
        #expect(witness.stopReason?.contains("are lost") == true)
        witness.kill()
        // The server of before has the log again.
        for message in lost { town.log.store(message) }
        for daemon in town.daemons { try daemon.start() }
        town.pass(.seconds(10))
        try Self.post(3, "c", in: town)
        town.pass(.seconds(1))
        for daemon in town.daemons {
            #expect(daemon.stopReason == nil && daemon.standing?.lag == 0)
            daemon.kill()
            #expect(try Self.mark(of: daemon).loss == nil)
        }
    }
}
