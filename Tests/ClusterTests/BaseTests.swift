import Hub
import Journal
import Replication
import TelltaleModel
import Testing

/// Bases: made by a standby, loaded by nodes that join, and what the log forgets behind them.
struct BaseTests {
    private static var settings: BaseSettings {
        var settings = BaseSettings()
        settings.every = .seconds(60)
        settings.retention = .seconds(100)
        (settings.look, settings.turn) = (.seconds(2), .seconds(4))
        return settings
    }

    /// Three daemons, with events and several bases.
    private static func town(bases: Int = 3) throws -> Town {
        let town = try Town(3, bases: settings)
        town.pass(.seconds(10))
        for round in 0..<bases {
            let leader = try #require(town.leaders.first)
            let client = leader.connect()
            for number in 1...30 { _ = leader.post("tea/\(round)-\(number)", from: client) }
            town.pass(.seconds(70))
        }
        return town
    }

    /// The bases that are whole, oldest first.
    private static func bases(_ town: Town) -> [BaseManifest] {
        StoredBase.usable(
            town.log.bases.map { StoredBase(id: $0, manifest: $1.manifest, pieceCount: $1.pieces.count) },
            cluster: "shop", epoch: nil)
    }

    /// A town, and a daemon that is down and behind the first message of its log.
    private static func behind() throws -> (Town, TownDaemon) {
        let town = try town(bases: 1)
        let late = try #require(town.daemons.first { !$0.isLeading })
        late.kill()
        for round in 0..<3 {
            let leader = try #require(town.leaders.first)
            let client = leader.connect()
            for number in 1...30 { _ = leader.post("tea/a\(round)-\(number)", from: client) }
            town.pass(.seconds(70))
        }
        #expect(try town.log.first > LogReader(mark: #require(late.contents.mark)).position + 1)
        return (town, late)
    }

    @Test func `a standby makes each base, and the two newest are kept`() throws {
        let town = try Self.town()
        #expect(Self.bases(town).count == 2)
        #expect(town.log.bases.count == 2)
        let leader = try #require(town.leaders.first)
        let makers = town.daemons.filter { $0.told.contains { $0.hasSuffix(" made") } }
        #expect(makers.count == 1 && makers[0] !== leader)
    }

    @Test func `the leader makes a base where no standby does`() throws {
        let town = try Self.town(bases: 1)
        let leader = try #require(town.leaders.first)
        for daemon in town.daemons where daemon !== leader { daemon.kill() }
        _ = leader.post("tea/9", from: leader.connect())
        town.pass(.seconds(80))
        #expect(leader.told.contains { $0.hasSuffix(" made") })
    }

    @Test func `the log is purged up to the last base but one, and not before the retention`() throws {
        let town = try Self.town(bases: 3)
        // At the third base the first one is 120 s old.
        let bases = Self.bases(town)
        #expect(town.log.first > 1)
        #expect(town.log.first <= bases[0].reader.position)
        // Messages that the base remembers stay.
        #expect(bases[0].reader.position - town.log.first >= 15)
    }

    @Test func `a base is read no faster than the local copy takes it`() throws {
        let town = try Self.town()
        let wiped = try #require(town.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.take(InMemoryJournal.Contents(epoch: 1))
        (wiped.baseStepLimit, wiped.isDiskSlow) = (1, true)
        try wiped.start()
        town.pass(.seconds(1))
        // The beginning, and the chunks of the one answer that came before there were too many.
        let steps = wiped.baseSteps
        #expect(steps >= 2)
        town.pass(.seconds(1))
        #expect(wiped.baseSteps == steps)
        #expect(!wiped.told.contains { $0.hasPrefix("base of record") })
        wiped.isDiskSlow = false
        town.pass(.seconds(2))
        #expect(wiped.told.contains { $0.hasPrefix("base of record") } && wiped.standing?.lag == 0)
    }

    @Test func `a base of another record than it says leaves the local copy as it is, and an older one is taken`()
        throws
    {
        let town = try Self.town()
        let bases = Self.bases(town)
        let (older, newest) = (bases[0], bases[1])
        let pieces = try #require(town.log.bases[older.id]?.pieces)
        var manifest = newest
        (manifest.pieceCount, manifest.checksum) = (pieces.count, BaseCutter.checksum(of: pieces))
        town.log.bases[newest.id] = InMemoryLog.Base(pieces: pieces, manifest: manifest.encoded())
        let wiped = try #require(town.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.take(InMemoryJournal.Contents(epoch: 1))
        try wiped.start()
        town.pass(.seconds(5))
        let (found, told) = (older.reader.chain.sequence, newest.reader.chain.sequence)
        #expect(
            wiped.told.contains(
                "warning: the base of message \(newest.reader.position) is not used: it ends with record \(found), and not with record \(told)"
            ), "\(wiped.told)")
        #expect(wiped.told.contains("base of record \(found)") && wiped.standing?.lag == 0)
    }

    @Test func `a base that is given up leaves the local copy to the log`() throws {
        let town = try Self.town(bases: 1)
        let base = try #require(Self.bases(town).last)
        var pieces = try #require(town.log.bases[base.id]?.pieces)
        pieces[pieces.count - 1][0] ^= 0x10
        town.log.bases[base.id]?.pieces = pieces
        let wiped = try #require(town.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.take(InMemoryJournal.Contents(epoch: 1))
        try wiped.start()
        town.pass(.seconds(5))
        #expect(wiped.told.contains("base abandoned"), "\(wiped.told)")
        #expect(wiped.standing?.lag == 0 && wiped.standing?.historySince == nil)
        #expect(wiped.stateHash == town.daemons.first { !$0.isLeading && $0 !== wiped }?.stateHash)
    }

    @Test func `a wiped folder joins by the newest base, with the same state`() throws {
        let town = try Self.town()
        let wiped = try #require(town.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.take(InMemoryJournal.Contents(epoch: 1))
        try wiped.start()
        town.pass(.seconds(5))
        #expect(wiped.stopReason == nil)
        let newest = try #require(Self.bases(town).last)
        #expect(wiped.told.contains("base of record \(newest.reader.chain.sequence)"))
        #expect(wiped.standing?.lag == 0)
        #expect(wiped.stateHash == town.daemons.first { !$0.isLeading && $0 !== wiped }?.stateHash)
        #expect(wiped.standing?.historySince != nil)
        // It leads, and knows what it has not replayed.
        for daemon in town.daemons where daemon !== wiped { daemon.kill() }
        town.pass(.seconds(8))
        #expect(wiped.isLeading)
        let client = wiped.connect()
        #expect(client.take().first?.contains(" epoch=000000000000e0c1 ") == true)
        #expect(wiped.send("GET tea/0-1", from: client).last?.hasPrefix("OK") == true)
    }

    @Test func `a node that is behind the first message takes the base, and one that is not goes on`() throws {
        let (town, late) = try Self.behind()
        try late.start()
        town.pass(.seconds(5))
        #expect(late.stopReason == nil && late.standing?.lag == 0)
        #expect(late.told.contains { $0.hasPrefix("base of record ") })
        // Killed and started again: its copy is whole, and no base is needed.
        late.kill()
        let count = late.told.count
        try late.start()
        town.pass(.seconds(5))
        #expect(late.standing?.lag == 0)
        #expect(!late.told.dropFirst(count).contains { $0.hasPrefix("base of record ") })
    }

    @Test func `no base begins in the middle of a snapshot`() throws {
        let (town, late) = try Self.behind()
        try late.start()
        late.isWritingSnapshot = true
        town.pass(.seconds(5))
        #expect(!late.told.contains { $0.hasPrefix("base of record ") } && late.stopReason == nil)
        late.isWritingSnapshot = false
        town.pass(.seconds(5))
        #expect(late.told.contains { $0.hasPrefix("base of record ") } && late.standing?.lag == 0)
    }

    @Test func `a node that ends while a base takes its place has no snapshot of before`() throws {
        let (town, late) = try Self.behind()
        try late.start()
        #expect(late.hasSnapshot)
        late.isDiskSlow = true
        town.pass(.seconds(5))
        #expect(late.isInstalling)
        #expect(!late.end() && !late.hasSnapshot)
    }

    @Test func `a base that is not whole, changed, or of another log is not used`() throws {
        let town = try Self.town()
        let newest = try #require(Self.bases(town).last)
        let older = try #require(Self.bases(town).first)
        var forged = newest
        forged.id = "\(newest.reader.position + 1)-1-1"
        forged.reader = LogReader(
            cluster: "shop", epoch: newest.reader.epoch, position: newest.reader.position + 1,
            digests: newest.reader.digests, chain: newest.reader.chain, leader: newest.reader.leader)
        town.log.bases[forged.id] = InMemoryLog.Base(
            pieces: town.log.bases[newest.id]?.pieces ?? [], manifest: forged.encoded())
        town.log.bases[newest.id]?.pieces[0][20] ^= 1
        let wiped = try #require(town.daemons.first { !$0.isLeading })
        wiped.kill()
        wiped.take(InMemoryJournal.Contents(epoch: 1))
        try wiped.start()
        town.pass(.seconds(5))
        #expect(wiped.told.contains("base of record \(older.reader.chain.sequence)"))
        #expect(wiped.told.count { $0.contains("is not used") } >= 2)
        #expect(wiped.standing?.lag == 0 && wiped.stopReason == nil)
    }

    @Test func `a log that begins later than every base stops the node that needs one, with its place`() throws {
        let town = try Town(3)
        town.pass(.seconds(10))
        let late = try #require(town.daemons.first { !$0.isLeading })
        late.kill()
        let leader = try #require(town.leaders.first)
        let client = leader.connect()
        for number in 1...5 { _ = leader.post("tea/b\(number)", from: client) }
        town.log.purge(before: town.log.end)
        try late.start()
        town.pass(.seconds(40))
        #expect(late.stopReason?.hasPrefix("the log begins with message ") == true)
        #expect(leader.isLeading && leader.stopReason == nil)
    }
}
