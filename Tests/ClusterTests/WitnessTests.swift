import Hub
import Journal
import Replication
import TelltaleModel
import Testing

/// A folder whose node has stopped because the log lost what it had read: it remembers that.
struct WitnessTests {
    private static var settings: CheckpointSettings {
        var settings = CheckpointSettings()
        settings.every = .seconds(60)
        settings.retention = .seconds(100)
        (settings.checkInterval, settings.turn) = (.seconds(2), .seconds(4))
        return settings
    }

    private static func post(_ count: Int, _ prefix: String, in cluster: TestCluster) throws {
        let leader = try #require(cluster.leaders.first)
        let client = leader.connect()
        for number in 1...count { _ = leader.post("tea/\(prefix)-\(number)", from: client) }
    }

    private static func mark(of daemon: TestDaemon) throws -> LogReader {
        try LogReader(mark: #require(daemon.contents.mark))
    }

    /// Three daemons of which each has reported that the log lost messages.
    private static func stopped() throws -> (town: TestCluster, lost: [[UInt8]]) {
        let cluster = try TestCluster(3, checkpoints: settings)
        cluster.pass(.seconds(10))
        try post(30, "a", in: cluster)
        cluster.pass(.seconds(1))
        let lost = cluster.log.lose(5)
        cluster.pass(.seconds(50))
        for daemon in cluster.daemons {
            #expect(daemon.stopReason?.contains("are lost") == true, "\(daemon.stopReason ?? "goes on")")
            daemon.kill()
            #expect(try mark(of: daemon).loss == daemon.stopReason)
        }
        return (cluster, lost)
    }

    @Test
    func `a node that reported a loss takes no checkpoint of the log that has lost it, before an operator decides`()
        throws
    {
        let (cluster, _) = try Self.stopped()
        let witness = cluster.daemons[0]
        let before = witness.contents
        // Another operator takes the log for right, and forgets this folder.
        for daemon in cluster.daemons.dropFirst() {
            daemon.adopt(InMemoryJournal.Contents(epoch: 1))
            try daemon.start()
        }
        cluster.pass(.seconds(10))
        for round in 0..<4 {
            try Self.post(30, "b\(round)", in: cluster)
            cluster.pass(.seconds(70))
        }
        #expect(try cluster.log.first > Self.mark(of: witness).position + 1)
        for _ in 0..<2 {
            try witness.start()
            cluster.pass(.seconds(50))
            let reason = try #require(witness.stopReason)
            #expect(reason.hasPrefix("this node stopped before, because the log ends with message "), "\(reason)")
            #expect(reason.contains("the log was purged since"), "\(reason)")
            witness.kill()
            #expect(witness.contents.records == before.records && witness.contents.mark == before.mark)
        }
        #expect(!witness.reported.contains { $0.hasPrefix("base of record ") })
        witness.adopt(InMemoryJournal.Contents(epoch: 1))
        try witness.start()
        cluster.pass(.seconds(10))
        #expect(witness.stopReason == nil && witness.status?.lag == 0)
    }

    @Test func `a loss that is none any more is forgotten, and one that is there is reported again`() throws {
        let (cluster, lost) = try Self.stopped()
        let witness = cluster.daemons[0]
        try witness.start()
        cluster.pass(.seconds(50))
        #expect(witness.stopReason?.contains("are lost") == true)
        witness.kill()
        // The server of before has the log again.
        for message in lost { cluster.log.store(message) }
        for daemon in cluster.daemons { try daemon.start() }
        cluster.pass(.seconds(10))
        try Self.post(3, "c", in: cluster)
        cluster.pass(.seconds(1))
        for daemon in cluster.daemons {
            #expect(daemon.stopReason == nil && daemon.status?.lag == 0)
            daemon.kill()
            #expect(try Self.mark(of: daemon).loss == nil)
        }
    }
}
