import CFaultVFS
import Glibc
import Journal
import JournalSQLite
import Synchronization
import Testing

import struct TestSupport.SeededGenerator
import func TestSupport.spinUntil

/// A disk that fails, or loses writes that were not synced.
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

    /// Kills the disk at every few operations, and recovers from its remains.
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
                    // Unacknowledged records may be there or not; records that were never sent may not.
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

    @Test func `nothing acknowledged is lost when the disk drops, reorders or tears unsynced writes`() throws {
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

    @Test(arguments: [false, true])
    func `a failed sync while the log is copied beside the writing stops it too`(closes: Bool) throws {
        let disk = try FaultyDisk()
        var options = disk.copiedAsideOptions()
        let copies = Atomic(0)
        options.observer = { if $0 == .logCopied { copies.add(1, ordering: .relaxed) } }
        let journal = try SQLiteJournal(disk.folder.path, options)
        try journal.append(records(1..<201, byteCount: 500))
        // The sync of the log succeeds and that of the file fails. A writer that syncs again would see its own sync
        // succeed.
        disk.failSyncAfter(1)
        let error = try #require(throws: JournalError.self) {
            _ = try journal.tidy()
            try spinUntil { copies.load(ordering: .relaxed) > 0 }
            guard !closes else { return try journal.close() }
            try spinUntil {
                _ = try journal.tidy()
                return copies.load(ordering: .relaxed) > 1
            }
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
}
