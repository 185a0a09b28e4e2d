import CFaultVFS
import Glibc
import Journal
import JournalSQLite
import Synchronization
import Testing

import struct TestSupport.SeededGenerator

/// A disk that fills up: batches are refused whole, nothing of them is found later, and writing goes on when there is space.
@Suite(.endsOneDay)
struct JournalFullDiskTests {
    @Test func `a disk that fills up while the log is copied beside the writing refuses, and recovers`() throws {
        let disk = try FaultyDisk()
        var options = disk.copiedAsideOptions()
        let copies = Atomic(0)
        options.observer = { if $0 == .logCopied { copies.add(1, ordering: .relaxed) } }
        let journal = try SQLiteJournal(disk.folder.path, options)
        try journal.append(records(1..<201, byteCount: 500))
        var next: Int64 = 201
        let error = try #require(throws: JournalError.self) {
            while true {
                disk.limitSize(10_000)
                // What comes of a copy is heard after it, perhaps only in the next round.
                let before = copies.load(ordering: .relaxed)
                for _ in 0..<10_000 where copies.load(ordering: .relaxed) == before {
                    _ = try journal.tidy()
                    sched_yield()
                }
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

    @Test func `no record of a refused batch is ever found, while the log is copied beside the writing`() throws {
        let disk = try FaultyDisk()
        let recovery = try FaultyDisk().options()
        var options = disk.copiedAsideOptions()
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
                let killed = JournalTestFolder()
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
            // The remains of a kill: the refused batches were in the log whole, and must be read neither as written nor
            // as damage.
            let killed = JournalTestFolder()
            for name in ["journal.sqlite", "journal.sqlite-wal", "acknowledged"] {
                killed.write(name, disk.folder.read(name))
            }
            #expect(try SQLiteJournal(killed.path).lastSequence == last)
            // After a power failure the last refused batch may be there: the cut is synced with the next write.
            let left = try disk.crash(cfaultvfs_drop, seed: 1, keepsWitness: true)
            #expect([last, last + 20].contains(try SQLiteJournal(left.path).lastSequence))
        }
        disk.keepIndex(false)
        for _ in 0..<3 { try journal.append(next()) }
        let left = try disk.crash(cfaultvfs_tear, seed: 1, keepsWitness: true)
        #expect(try SQLiteJournal(left.path).readAll() == records(1..<journal.lastSequence + 1, byteCount: 500))
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

    @Test func `after a full disk a long reader delays no batch`() throws {
        let disk = try FaultyDisk()
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        try journal.append(records(1..<11))
        let copy = JournalTestFolder()
        var wasRead = false
        try JournalInspector(disk.folder.path).backup(to: copy.path + "/copy") { _, _ in
            guard !wasRead else { return }
            wasRead = true
            disk.limitSize(0)
            #expect(throws: JournalError.self) { try journal.append(records(11..<21)) }
            disk.limitSize(-1)
            do {
                let before = disk.waited
                try journal.write(records(11..<14))
                try journal.write(records(14..<16))
                try journal.commit()
                // It waits for no reader; a wait would be one of ten seconds.
                #expect(disk.waited - before < .seconds(1))
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
