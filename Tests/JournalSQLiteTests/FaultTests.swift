import CFaultVFS
import Glibc
import Journal
import Synchronization
import TelltaleModel
import Testing

import struct TestSupport.SeededGenerator

@testable import JournalSQLite

/// What the journal makes of a disk that fails, fills up or loses what was not synced.
@Suite(.endsOneDay)
struct FaultTests {
    /// TELLTALE_EVERY_BYTE=1 stops the disk at every single operation.
    private static let isComplete = unsafe getenv("TELLTALE_EVERY_BYTE") != nil

    /// Writes until the disk is gone.
    ///
    /// - Returns: The sequence of the last record that was acknowledged, and of the last that was sent.
    private func write(to journal: SQLiteJournal, seed: UInt64) -> (acknowledged: Int64, sent: Int64) {
        var random = seed
        var acknowledged: Int64 = 0
        var snapshot: Int64 = 0
        for _ in 0..<60 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let count = Int64(random >> 33) % 12 + 1
            let batch = records(acknowledged + 1..<acknowledged + 1 + count, byteCount: Int(random >> 40) % 700)
            do {
                // A long one comes in parts.
                for start in stride(from: 0, to: batch.count, by: 5) {
                    try journal.write(Array(batch[start...].prefix(5)))
                }
                try journal.commit()
                acknowledged += count
                if random >> 60 == 0 {
                    try journal.writeSnapshot(
                        at: acknowledged,
                        chunks: [Array(repeating: UInt8(truncatingIfNeeded: acknowledged), count: 3_000)])
                    snapshot = acknowledged
                    try journal.prune(Pruning(chains: [snapshot / 2]))
                }
                _ = try journal.tidy()
            } catch {
                return (acknowledged, acknowledged + count)
            }
        }
        return (acknowledged, acknowledged)
    }

    private struct Verdict {
        var tries = 0
        var lost = 0
        var refused = 0
    }

    /// Kills the disk at every few operations, and recovers from what it left.
    private func crashes(_ sync: SQLiteJournal.Sync, copyingAside: Bool = false, step: Int) throws -> Verdict {
        var verdict = Verdict()
        var operations = 0
        // Real syncs would take most of the time, and show nothing.
        let recovery = try FaultyDisk().options()
        while true {
            let disk = try FaultyDisk()
            var options = disk.options(sync)
            options.copiesLogAside = copyingAside
            let journal = try SQLiteJournal(disk.folder.path, options)
            disk.dieAfter(operations)
            let seed = UInt64(operations)
            let (acknowledged, sent) = write(to: journal, seed: seed % 5)
            for (loss, keepsWitness) in [
                (cfaultvfs_drop, true), (cfaultvfs_reorder, true), (cfaultvfs_reorder, false), (cfaultvfs_tear, true),
                (cfaultvfs_tear, false),
            ] {
                let left = try disk.crash(loss, seed: seed, keepsWitness: keepsWitness)
                verdict.tries += 1
                do {
                    let recovered = try SQLiteJournal(left.path, recovery)
                    let start = recovered.snapshot?.sequence ?? 0
                    let rest = try recovered.readAll(after: start)
                    _ = try recovered.readSnapshot()
                    if recovered.lastSequence < acknowledged { verdict.lost += 1 }
                    // What was not acknowledged may be there, or not; what was never sent may not.
                    #expect(recovered.lastSequence <= sent)
                    #expect(rest.map(\.sequence) == Array(start..<recovered.lastSequence).map { $0 + 1 })
                } catch {
                    verdict.refused += 1
                    if sync == .full { Issue.record("operation \(operations), loss \(loss.rawValue): \(error)") }
                }
            }
            if disk.operationCount < operations { return verdict }
            operations += step
        }
    }

    @Test func `nothing acknowledged is lost when the disk drops, reorders or tears what was not synced`() throws {
        let verdict = try crashes(.full, step: Self.isComplete ? 1 : 23)
        print("power failures: \(verdict.tries), lost: \(verdict.lost), refused: \(verdict.refused)")
        #expect(verdict.tries > 200)
        #expect(verdict.lost == 0)
        #expect(verdict.refused == 0)
    }

    @Test func `nor while the log is copied beside the writing`() throws {
        let verdict = try crashes(.full, copyingAside: true, step: Self.isComplete ? 1 : 23)
        print("power failures with a copier: \(verdict.tries), lost: \(verdict.lost), refused: \(verdict.refused)")
        #expect(verdict.tries > 200)
        #expect(verdict.lost == 0)
        #expect(verdict.refused == 0)
    }

    @Test func `without the sync the same test finds losses`() throws {
        let verdict = try crashes(.off, step: 61)
        print("power failures without sync: \(verdict.tries), lost: \(verdict.lost), refused: \(verdict.refused)")
        #expect(verdict.lost + verdict.refused > verdict.tries / 4)
        #expect(verdict.lost > 0)
    }

    @Test func `a failed sync stops the journal for good`() throws {
        let disk = try FaultyDisk()
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        try journal.append(records(1..<3))
        disk.failSyncAfter(0)
        let error = try #require(throws: JournalError.self) { try journal.append(records(3..<5)) }
        guard case .failed = error else {
            Issue.record("\(error)")
            return
        }
        #expect(throws: error) { try journal.append(records(3..<5)) }
        #expect(throws: error) { try journal.prune(Pruning(chains: [1])) }
        #expect(throws: error) { try journal.close() }
        #expect(journal.lastSequence == 2)
    }

    @Test func `a failed sync while the log is copied stops it too`() throws {
        let disk = try FaultyDisk()
        var options = disk.options()
        options.logByteCount = 0
        let journal = try SQLiteJournal(disk.folder.path, options)
        try journal.append(records(1..<3))
        disk.failSyncAfter(0)
        let error = try #require(throws: JournalError.self) { try journal.tidy() }
        #expect(throws: error) { try journal.append(records(3..<5)) }
    }

    /// Of a journal whose log of 200 records of 500 bytes is long, and not so long that batches wait for it.
    private static func copiedAside(_ disk: FaultyDisk) -> SQLiteJournal.Options {
        var options = disk.options()
        options.logByteCount = 40_000
        options.copiesLogAside = true
        return options
    }

    @Test(arguments: [false, true])
    func `a failed sync while the log is copied beside the writing stops it too`(closes: Bool) throws {
        let disk = try FaultyDisk()
        var options = Self.copiedAside(disk)
        let copies = Atomic(0)
        options.observer = { if $0 == .logCopied { copies.add(1, ordering: .relaxed) } }
        let journal = try SQLiteJournal(disk.folder.path, options)
        try journal.append(records(1..<201, byteCount: 500))
        // That of the log succeeds, that of the file does not; whoever writes would find its own to succeed.
        disk.failSyncAfter(1)
        let error = try #require(throws: JournalError.self) {
            _ = try journal.tidy()
            while copies.load(ordering: .relaxed) == 0 { sched_yield() }
            guard !closes else { return try journal.close() }
            while copies.load(ordering: .relaxed) < 2 { _ = try journal.tidy() }
        }
        guard case .failed = error else {
            Issue.record("\(error)")
            return
        }
        #expect(copies.load(ordering: .relaxed) == 1)
        #expect(throws: JournalError.self) { try journal.append(records(201..<203)) }
        let left = try disk.crash(cfaultvfs_drop, seed: 1, keepsWitness: true)
        #expect(try SQLiteJournal(left.path).readAll() == records(1..<201, byteCount: 500))
    }

    @Test func `a disk that fills up while the log is copied beside the writing refuses, and recovers`() throws {
        let disk = try FaultyDisk()
        let journal = try SQLiteJournal(disk.folder.path, Self.copiedAside(disk))
        try journal.append(records(1..<201, byteCount: 500))
        var next: Int64 = 201
        let error = try #require(throws: JournalError.self) {
            while true {
                disk.limitSize(10_000)
                while journal.hasChores { _ = try journal.tidy() }
                // It was just reading, and in the way of the copy: that begins again when the log has grown.
                disk.limitSize(-1)
                try journal.append(records(next..<next + 100, byteCount: 500))
                next += 100
            }
        }
        guard case .full = error else {
            Issue.record("\(error)")
            return
        }
        #expect(throws: JournalError.self) { try journal.append(records(next..<next + 10)) }
        #expect(try journal.readAll() == records(1..<next, byteCount: 500))
        disk.limitSize(-1)
        try journal.append(records(next..<next + 10, byteCount: 500))
        let left = try disk.crash(cfaultvfs_tear, seed: 1, keepsWitness: true)
        #expect(try SQLiteJournal(left.path).readAll() == records(1..<next + 10, byteCount: 500))
    }

    @Test func `nothing of what is refused while the log is copied beside the writing is ever found`() throws {
        let disk = try FaultyDisk()
        let recovery = try FaultyDisk().options()
        var options = Self.copiedAside(disk)
        options.logByteCount = 20_000
        let copies = Atomic(0)
        options.observer = { if $0 == .logCopied { copies.add(1, ordering: .relaxed) } }
        let journal = try SQLiteJournal(disk.folder.path, options)
        var random = SeededGenerator(seed: 1)
        var refusals = 0
        for round in 0..<60 {
            let next = journal.lastSequence + 1
            let batch = records(next..<next + 1 + Int64(random.below(40)), byteCount: 500)
            // The log finds no room, or the file.
            if random.chance(40) { disk.limitSize(Int64(random.below(60_000))) }
            do throws(JournalError) {
                try journal.append(batch)
            } catch {
                guard case .full = error else { throw error }
                refusals += 1
                // As a kill leaves it: the file first, because the log has all that is being copied into it.
                let killed = TemporaryFolder()
                for name in ["journal.sqlite", "journal.sqlite-wal", "acknowledged"] {
                    killed.write(name, disk.folder.read(name))
                }
                #expect(try SQLiteJournal(killed.path, recovery).readAll().count == journal.lastSequence)
            }
            disk.limitSize(-1)
            // Begins a copy, or hears of one; that may have found no room either.
            do throws(JournalError) { _ = try journal.tidy() } catch { guard case .full = error else { throw error } }
            guard round % 10 == 0 else { continue }
            let left = try disk.crash(cfaultvfs_tear, seed: UInt64(round), keepsWitness: true)
            let found = try SQLiteJournal(left.path, recovery)
            #expect(try found.readAll().count == found.lastSequence)
            #expect(found.lastSequence >= journal.lastSequence)
        }
        #expect(refusals > 5)
        #expect(copies.load(ordering: .relaxed) > 5)
        #expect(try journal.readAll() == records(1..<journal.lastSequence + 1, byteCount: 500))
    }

    @Test func `a full disk refuses whole batches, and takes them again when there is space`() throws {
        let disk = try FaultyDisk()
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        try journal.append(records(1..<11, byteCount: 500))
        for limit in stride(from: Int64(0), to: 60_000, by: 1_100) {
            disk.limitSize(limit)
            let before = journal.lastSequence
            let batch = records(before + 1..<before + 21, byteCount: 500)
            do throws(JournalError) {
                try journal.append(batch)
                #expect(journal.lastSequence == before + 20)
            } catch {
                guard case .full = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(journal.lastSequence == before)
                // Reading goes on.
                #expect(try journal.readAll().count == Int(before))
                disk.limitSize(-1)
                try journal.append(batch)
            }
            // And nothing half-written is found after a crash.
            let left = try disk.crash(cfaultvfs_tear, seed: UInt64(limit), keepsWitness: true)
            let recovered = try SQLiteJournal(left.path)
            #expect(try recovered.readAll() == records(1..<journal.lastSequence + 1, byteCount: 500))
        }
    }

    @Test func `a disk that fills up when the index of the log has to grow refuses, and recovers`() throws {
        let disk = try FaultyDisk()
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        try journal.append(records(1..<11, byteCount: 500))
        func next(_ count: Int64 = 100) -> [JournalRecord] {
            records(journal.lastSequence + 1..<journal.lastSequence + 1 + count, byteCount: 500)
        }
        // A reader that stays lets the log become as long, and keeps it from beginning anew.
        try JournalInspector(disk.folder.path).recover(chunk: { _ in }) { record in
            guard record == nil else { return }
            disk.keepIndex(true)
            var refusal: JournalError?
            for _ in 0..<200 where refusal == nil {
                do throws(JournalError) { try journal.append(next()) } catch { refusal = error }
            }
            guard case .full = try #require(refusal) else {
                Issue.record("\(String(describing: refusal))")
                return
            }
            // Where even one has no room, none has.
            #expect(throws: JournalError.self) { while true { try journal.append(next(1)) } }
            let last = journal.lastSequence
            #expect(last > 1_000)
            for count: Int64 in [90, 7, 60, 20] {
                let batch = next(count)
                #expect(throws: JournalError.self) { try journal.append(batch) }
            }
            #expect(try journal.readAll().count == last)
            // What a kill leaves: the refused batches were in the log whole, and must not be read as written, or damaged.
            let killed = TemporaryFolder()
            for name in ["journal.sqlite", "journal.sqlite-wal", "acknowledged"] {
                killed.write(name, disk.folder.read(name))
            }
            #expect(try SQLiteJournal(killed.path).lastSequence == last)
            // After a power failure the last of them may be there: the cut is synced with what is written next.
            let left = try disk.crash(cfaultvfs_drop, seed: 1, keepsWitness: true)
            #expect([last, last + 20].contains(try SQLiteJournal(left.path).lastSequence))
        }
        disk.keepIndex(false)
        for _ in 0..<3 { try journal.append(next()) }
        let left = try disk.crash(cfaultvfs_tear, seed: 1, keepsWitness: true)
        #expect(try SQLiteJournal(left.path).readAll() == records(1..<journal.lastSequence + 1, byteCount: 500))
    }

    @Test func `without syncs all is synced as long as a reader keeps the file from saying that it is in use`() throws {
        let disk = try FaultyDisk()
        do {
            let journal = try SQLiteJournal(disk.folder.path, disk.options())
            try journal.append(records(1..<11))
            try journal.close()
        }
        let journal = try SQLiteJournal(disk.folder.path, disk.options(.off))
        try JournalInspector(disk.folder.path).recover(chunk: { _ in }) { record in
            guard record == nil else { return }
            try journal.append(records(11..<21))
            try journal.append(records(21..<31))
            let left = try disk.crash(cfaultvfs_drop, seed: 1, keepsWitness: true)
            #expect(try SQLiteJournal(left.path).readAll() == records(1..<31))
        }
    }

    @Test(arguments: [SQLiteJournal.Sync.off, .normal])
    func `a disk that is full when syncs are to be relaxed keeps them until the file says that it is in use`(
        sync: SQLiteJournal.Sync
    ) throws {
        let began = try FaultyDisk()
        do {
            let journal = try SQLiteJournal(began.folder.path, began.options())
            try journal.append(records(1..<11))
            try journal.close()
        }
        let recovery = try FaultyDisk().options()
        var refusals = 0
        for limit in stride(from: Int64(0), to: 16_000, by: 1_000) {
            let disk = try FaultyDisk()
            disk.folder.restore(began.folder.image)
            let journal = try SQLiteJournal(disk.folder.path, disk.options(sync))
            func append(_ count: Int64) throws(JournalError) {
                let next = journal.lastSequence + 1
                try journal.append(records(next..<next + count, byteCount: 500))
            }
            func checkMark() throws {
                for seed in UInt64(0)..<4 {
                    let left = try disk.crash(cfaultvfs_reorder, seed: seed, keepsWitness: false)
                    guard let found = try? SQLiteJournal(left.path, recovery) else { continue }
                    #expect(found.lastSequence == journal.lastSequence || found.opening.ending == .unclean)
                }
            }
            disk.limitSize(limit)
            for count: Int64 in [10, 1] {
                do throws(JournalError) { try append(count) } catch { refusals += 1 }
                try checkMark()
            }
            disk.limitSize(-1)
            for _ in 0..<2 {
                try append(2)
                try checkMark()
            }
            // They are relaxed when there is space again: nothing is synced that could fail.
            disk.failSyncAfter(0)
            for _ in 0..<2 { try append(2) }
        }
        #expect(refusals > 10)
    }

    @Test func `a disk that fills up between two parts of a batch takes all of it back`() throws {
        let disk = try FaultyDisk()
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        try journal.append(records(1..<11))
        try journal.write(records(11..<21))
        disk.limitSize(20_000)
        try journal.write(records(21..<121, byteCount: 500))
        let error = try #require(throws: JournalError.self) { try journal.commit() }
        guard case .full = error else {
            Issue.record("\(error)")
            return
        }
        try journal.commit()
        #expect(journal.lastSequence == 10)
        disk.limitSize(-1)
        try journal.append(records(11..<14))
        #expect(try journal.readAll() == records(1..<14))
        let left = try disk.crash(cfaultvfs_tear, seed: 1, keepsWitness: true)
        #expect(try SQLiteJournal(left.path).readAll() == records(1..<14))
    }

    @Test func `after a full disk a reader that stays is in nobody's way`() throws {
        let disk = try FaultyDisk()
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        try journal.append(records(1..<11))
        let copy = TemporaryFolder()
        var wasRead = false
        try JournalInspector(disk.folder.path).backup(to: copy.path + "/copy") { _, _ in
            guard !wasRead else { return }
            wasRead = true
            disk.limitSize(0)
            #expect(throws: JournalError.self) { try journal.append(records(11..<21)) }
            disk.limitSize(-1)
            do {
                let began = ContinuousClock.now
                try journal.write(records(11..<14))
                try journal.write(records(14..<16))
                try journal.commit()
                // It waits for no reader; a wait would be one of ten seconds.
                #expect(ContinuousClock.now - began < .seconds(5))
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(wasRead)
        try journal.append(records(16..<18))
        #expect(try journal.readAll() == records(1..<18))
    }

    @Test func `a full disk makes no new journal, and keeps none from a stop in order`() throws {
        let disk = try FaultyDisk()
        disk.limitSize(0)
        let error = try #require(throws: JournalError.self) { try SQLiteJournal(disk.folder.path, disk.options()) }
        #expect("\(error)".hasSuffix("(free some space, then start again)"))
        disk.limitSize(-1)
        var journal: SQLiteJournal? = try SQLiteJournal(disk.folder.path, disk.options())
        try journal?.append(records(1..<11))
        disk.limitSize(0)
        try journal?.close()
        journal = nil
        disk.limitSize(-1)
        #expect(try SQLiteJournal(disk.folder.path, disk.options()).readAll() == records(1..<11))
    }

    @Test func `a journal whose log is full of records opens on a full disk, and writes when there is space`() throws {
        let disk = try FaultyDisk()
        do {
            let journal = try SQLiteJournal(disk.folder.path, disk.options())
            try journal.append(records(1..<11))
        }
        disk.limitSize(0)
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        #expect(try journal.readAll() == records(1..<11))
        let error = try #require(throws: JournalError.self) { try journal.append(records(11..<13)) }
        guard case .full = error else {
            Issue.record("\(error)")
            return
        }
        disk.limitSize(-1)
        try journal.append(records(11..<13))
        #expect(try journal.readAll() == records(1..<13))
    }

    @Test func `a snapshot that does not fit is given up, and the old one stays`() throws {
        let disk = try FaultyDisk()
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        try journal.append(records(1..<11))
        try journal.writeSnapshot(at: 3, chunks: [[3]])
        disk.limitSize(100_000)
        let error = try #require(throws: JournalError.self) {
            try journal.writeSnapshot(at: 10, chunks: repeatElement(Array(repeating: 1, count: 30_000), count: 10))
        }
        guard case .full = error else {
            Issue.record("\(error)")
            return
        }
        disk.limitSize(-1)
        #expect(try journal.readSnapshot() == [[3]])
        try journal.tidyUp()
        try journal.writeSnapshot(at: 10, chunks: [[10]])
        #expect(try journal.readSnapshot() == [[10]])
    }
}
