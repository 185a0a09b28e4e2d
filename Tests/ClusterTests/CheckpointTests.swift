import Hub
import Journal
import Replication
import TelltaleModel
import Testing

/// Checkpoints: made by a standby, loaded by nodes that join, and what the log forgets behind them.
struct CheckpointTests {
    private static var settings: CheckpointSettings {
        var settings = CheckpointSettings()
        settings.every = .seconds(60)
        settings.retention = .seconds(100)
        (settings.checkInterval, settings.turn) = (.seconds(2), .seconds(4))
        return settings
    }

    /// Three daemons, with events and several checkpoints.
    private static func cluster(checkpoints: Int = 3) throws -> TestCluster {
        let cluster = try TestCluster(3, checkpoints: settings)
        cluster.pass(.seconds(10))
        for round in 0..<checkpoints {
            let leader = try #require(cluster.leaders.first)
            let client = leader.connect()
            for number in 1...30 { _ = leader.post("tea/\(round)-\(number)", from: client) }
            cluster.pass(.seconds(70))
        }
        return cluster
    }

    /// The checkpoints that are whole, oldest first.
    private static func checkpoints(_ cluster: TestCluster) -> [CheckpointManifest] {
        StoredCheckpoint.usable(
            cluster.log.checkpoints.map {
                StoredCheckpoint(id: $0, manifest: $1.manifest, pieceCount: $1.pieces.count)
            },
            cluster: "shop", epoch: nil)
    }

    /// A cluster, and a daemon that is down and behind the first message of its log.
    private static func behind() throws -> (TestCluster, TestDaemon) {
        let cluster = try cluster(checkpoints: 1)
        let late = try #require(cluster.daemons.first { !$0.isLeading })
        late.kill()
        for round in 0..<3 {
            let leader = try #require(cluster.leaders.first)
            let client = leader.connect()
            for number in 1...30 { _ = leader.post("tea/a\(round)-\(number)", from: client) }
            cluster.pass(.seconds(70))
        }
        #expect(try cluster.log.first > LogReader(mark: #require(late.contents.mark)).position + 1)
        return (cluster, late)
    }

    @Test func `a standby makes each checkpoint, and the two newest are kept`() throws {
        let cluster = try Self.cluster()
        #expect(Self.checkpoints(cluster).count == 2)
        #expect(cluster.log.checkpoints.count == 2)
        let leader = try #require(cluster.leaders.first)
        let makers = cluster.daemons.filter { $0.reported.contains { $0.hasSuffix(" made") } }
        #expect(makers.count == 1 && makers[0] !== leader)
    }

    @Test func `the leader makes a checkpoint where no standby does`() throws {
        let cluster = try Self.cluster(checkpoints: 1)
        let leader = try #require(cluster.leaders.first)
        for daemon in cluster.daemons where daemon !== leader { daemon.kill() }
        _ = leader.post("tea/9", from: leader.connect())
        cluster.pass(.seconds(80))
        #expect(leader.reported.contains { $0.hasSuffix(" made") })
    }

    @Test func `the log is purged up to the last checkpoint but one, and not before the retention`() throws {
        let cluster = try Self.cluster(checkpoints: 3)
        // At the third checkpoint the first one is 120 s old.
        let checkpoints = Self.checkpoints(cluster)
        #expect(cluster.log.first > 1)
        #expect(cluster.log.first <= checkpoints[0].reader.position)
        // Messages that the checkpoint remembers stay.
        #expect(checkpoints[0].reader.position - cluster.log.first >= 15)
    }

    @Test func `a checkpoint is read no faster than the local journal takes it`() throws {
        let cluster = try Self.cluster()
        let wiped = try #require(cluster.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.adopt(InMemoryJournal.Contents(epoch: 1))
        (wiped.checkpointStepLimit, wiped.isDiskSlow) = (1, true)
        try wiped.start()
        cluster.pass(.seconds(1))
        // The beginning, and the chunks of the one answer that came before there were too many.
        let steps = wiped.checkpointSteps
        #expect(steps >= 2)
        cluster.pass(.seconds(1))
        #expect(wiped.checkpointSteps == steps)
        #expect(!wiped.reported.contains { $0.hasPrefix("base of record") })
        wiped.isDiskSlow = false
        cluster.pass(.seconds(2))
        #expect(wiped.reported.contains { $0.hasPrefix("base of record") } && wiped.status?.lag == 0)
    }

    @Test
    func `a checkpoint of another record than it says leaves the local journal as it is, and an older one is taken`()
        throws
    {
        let cluster = try Self.cluster()
        let checkpoints = Self.checkpoints(cluster)
        let (older, newest) = (checkpoints[0], checkpoints[1])
        let pieces = try #require(cluster.log.checkpoints[older.id]?.pieces)
        var manifest = newest
        (manifest.pieceCount, manifest.checksum) = (pieces.count, CheckpointCutter.checksum(of: pieces))
        cluster.log.checkpoints[newest.id] = InMemoryLog.Checkpoint(pieces: pieces, manifest: manifest.encoded())
        let wiped = try #require(cluster.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.adopt(InMemoryJournal.Contents(epoch: 1))
        try wiped.start()
        cluster.pass(.seconds(5))
        let (found, reported) = (older.reader.chain.sequence, newest.reader.chain.sequence)
        #expect(
            wiped.reported.contains(
                "warning: the base of message \(newest.reader.position) is not used: it ends with record \(found), and not with record \(reported)"
            ), "\(wiped.reported)")
        #expect(wiped.reported.contains("base of record \(found)") && wiped.status?.lag == 0)
    }

    @Test func `a checkpoint that is given up leaves the local journal to the log`() throws {
        let cluster = try Self.cluster(checkpoints: 1)
        let checkpoint = try #require(Self.checkpoints(cluster).last)
        var pieces = try #require(cluster.log.checkpoints[checkpoint.id]?.pieces)
        pieces[pieces.count - 1][0] ^= 0x10
        cluster.log.checkpoints[checkpoint.id]?.pieces = pieces
        let wiped = try #require(cluster.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.adopt(InMemoryJournal.Contents(epoch: 1))
        try wiped.start()
        cluster.pass(.seconds(5))
        #expect(wiped.reported.contains("base abandoned"), "\(wiped.reported)")
        #expect(wiped.status?.lag == 0 && wiped.status?.historySince == nil)
        #expect(wiped.stateHash == cluster.daemons.first { !$0.isLeading && $0 !== wiped }?.stateHash)
    }

    @Test func `a wiped folder joins by the newest checkpoint, with the same state`() throws {
        let cluster = try Self.cluster()
        let wiped = try #require(cluster.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.adopt(InMemoryJournal.Contents(epoch: 1))
        try wiped.start()
        cluster.pass(.seconds(5))
        #expect(wiped.stopReason == nil)
        let newest = try #require(Self.checkpoints(cluster).last)
        #expect(wiped.reported.contains("base of record \(newest.reader.chain.sequence)"))
        #expect(wiped.status?.lag == 0)
        #expect(wiped.stateHash == cluster.daemons.first { !$0.isLeading && $0 !== wiped }?.stateHash)
        #expect(wiped.status?.historySince != nil)
        // It leads, and knows what it has not replayed.
        for daemon in cluster.daemons where daemon !== wiped { daemon.kill() }
        cluster.pass(.seconds(8))
        #expect(wiped.isLeading)
        let client = wiped.connect()
        #expect(client.take().first?.contains(" epoch=000000000000e0c1 ") == true)
        #expect(wiped.send("GET tea/0-1", from: client).last?.hasPrefix("OK") == true)
    }

    @Test func `a node that is behind the first message takes the checkpoint, and one that is not goes on`() throws {
        let (cluster, late) = try Self.behind()
        try late.start()
        cluster.pass(.seconds(5))
        #expect(late.stopReason == nil && late.status?.lag == 0)
        #expect(late.reported.contains { $0.hasPrefix("base of record ") })
        // Killed and started again: its copy is whole, and no checkpoint is needed.
        late.kill()
        let count = late.reported.count
        try late.start()
        cluster.pass(.seconds(5))
        #expect(late.status?.lag == 0)
        #expect(!late.reported.dropFirst(count).contains { $0.hasPrefix("base of record ") })
    }

    @Test func `no checkpoint begins in the middle of a snapshot`() throws {
        let (cluster, late) = try Self.behind()
        try late.start()
        late.isWritingSnapshot = true
        cluster.pass(.seconds(5))
        #expect(!late.reported.contains { $0.hasPrefix("base of record ") } && late.stopReason == nil)
        late.isWritingSnapshot = false
        cluster.pass(.seconds(5))
        #expect(late.reported.contains { $0.hasPrefix("base of record ") } && late.status?.lag == 0)
    }

    @Test func `a node that ends while a checkpoint takes its place has no snapshot of before`() throws {
        let (cluster, late) = try Self.behind()
        try late.start()
        #expect(late.hasSnapshot)
        late.isDiskSlow = true
        cluster.pass(.seconds(5))
        #expect(late.isInstalling)
        #expect(!late.end() && !late.hasSnapshot)
    }

    @Test func `a checkpoint that is not whole, changed, or of another log is not used`() throws {
        let cluster = try Self.cluster()
        let newest = try #require(Self.checkpoints(cluster).last)
        let older = try #require(Self.checkpoints(cluster).first)
        var forged = newest
        forged.id = "\(newest.reader.position + 1)-1-1"
        forged.reader = LogReader(
            cluster: "shop", epoch: newest.reader.epoch, position: newest.reader.position + 1,
            digests: newest.reader.digests, chain: newest.reader.chain, leader: newest.reader.leader)
        cluster.log.checkpoints[forged.id] = InMemoryLog.Checkpoint(
            pieces: cluster.log.checkpoints[newest.id]?.pieces ?? [], manifest: forged.encoded())
        cluster.log.checkpoints[newest.id]?.pieces[0][20] ^= 1
        let wiped = try #require(cluster.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.adopt(InMemoryJournal.Contents(epoch: 1))
        try wiped.start()
        cluster.pass(.seconds(5))
        #expect(wiped.reported.contains("base of record \(older.reader.chain.sequence)"))
        #expect(wiped.reported.count { $0.contains("is not used") } >= 2)
        #expect(wiped.status?.lag == 0 && wiped.stopReason == nil)
    }

    @Test func `a log that begins later than every checkpoint stops the node that needs one, with its place`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let late = try #require(cluster.daemons.first { !$0.isLeading })
        late.kill()
        let leader = try #require(cluster.leaders.first)
        let client = leader.connect()
        for number in 1...5 { _ = leader.post("tea/b\(number)", from: client) }
        cluster.log.purge(before: cluster.log.end)
        try late.start()
        cluster.pass(.seconds(40))
        #expect(late.stopReason?.hasPrefix("the log begins with message ") == true)
        #expect(leader.isLeading && leader.stopReason == nil)
    }
}
