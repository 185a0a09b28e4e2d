import CFaultVFS
import Glibc
import Journal
import JournalSQLite
import Testing

/// A journal that was replaced by a copy begins a new epoch, and no other change does.
struct RestoreTests {
    /// Five records, and an end in order or not.
    private func life(_ folder: JournalTestFolder, closes: Bool = true, _ options: SQLiteJournal.Options = .init())
        throws
        -> UInt64
    {
        let journal = try SQLiteJournal(folder.path, options)
        try journal.append(records(journal.lastSequence + 1..<journal.lastSequence + 6))
        if closes { try journal.close() }
        return journal.epoch
    }

    /// As `cp -r COPY/. DIR` does it: the files stay the same ones, with another content.
    private func overwrite(_ folder: JournalTestFolder, with image: [String: [UInt8]]) {
        for (file, bytes) in image { folder.write(file, bytes) }
    }

    @Test("A copy written over the files begins a new epoch", arguments: [true, false])
    func overwritten(isStopped: Bool) throws {
        let folder = JournalTestFolder()
        let epoch = try life(folder, closes: isStopped)
        let image = folder.image
        #expect(try life(folder, closes: isStopped) == epoch)
        overwrite(folder, with: image)
        let restored = try SQLiteJournal(folder.path)
        #expect(restored.epoch != epoch)
        #expect(restored.opening.epochReplaced == "the folder was copied or restored")
        #expect(restored.lastSequence == 5)
    }

    @Test func `a copy in new files begins a new epoch, whatever numbers their inodes have`() throws {
        let folder = JournalTestFolder()
        var epoch = try life(folder)
        for _ in 0..<5 {
            // The file system gives the numbers of the removed files away again.
            folder.restore(folder.image)
            let next = try life(folder)
            #expect(next != epoch)
            epoch = next
        }
    }

    @Test("A stop and a kill keep the epoch, also after the log was copied into the file", arguments: [true, false])
    func kept(closes: Bool) throws {
        let folder = JournalTestFolder()
        let epoch = try life(folder, closes: closes)
        var options = SQLiteJournal.Options()
        options.logByteCount = 0
        for _ in 0..<3 {
            let journal = try SQLiteJournal(folder.path, options)
            #expect(journal.epoch == epoch)
            #expect(journal.opening.epochReplaced == nil)
            for _ in 0..<3 {
                try journal.append(records(journal.lastSequence + 1..<journal.lastSequence + 6))
                try journal.tidyUp()
            }
            if closes { try journal.close() }
        }
    }

    @Test func `an end at any write keeps the epoch, also while the log is copied into the file`() throws {
        let recovery = try FaultyDisk().options()
        for operations in 0..<60 {
            let disk = try FaultyDisk()
            var options = disk.options()
            options.logByteCount = 0
            var journal: SQLiteJournal? = try SQLiteJournal(disk.folder.path, options)
            let epoch = journal?.epoch
            disk.dieAfter(disk.operationCount + operations)
            for _ in 0..<4 {
                let next = (journal?.lastSequence ?? 0) + 1
                try? journal?.append(records(next..<next + 5, byteCount: 500))
                _ = try? journal?.tidy()
            }
            try? journal?.close()
            journal = nil
            #expect(try SQLiteJournal(disk.folder.path, recovery).epoch == epoch)
        }
    }

    @Test("A start that fails before it wrote anything leaves a clean end", arguments: SQLiteJournal.Sync.allCases)
    func failedStart(sync: SQLiteJournal.Sync) throws {
        let folder = JournalTestFolder()
        var options = SQLiteJournal.Options()
        options.sync = sync
        let epoch = try life(folder, options)
        for _ in 0..<2 {
            let failed = try SQLiteJournal(folder.path, options)
            #expect(failed.opening == JournalOpening(ending: .clean))
        }
        #expect(try life(folder, closes: false, options) == epoch)
        #expect(try (life(folder, options) == epoch) == (sync == .full || sync == .follower))
    }

    @Test(
        "The mark of a daemon without full syncs survives a power failure",
        arguments: [SQLiteJournal.Sync.normal, .off])
    func mark(sync: SQLiteJournal.Sync) throws {
        let disk = try FaultyDisk()
        try SQLiteJournal(disk.folder.path, disk.options()).close()
        let journal = try SQLiteJournal(disk.folder.path, disk.options(sync))
        try journal.append(records(1..<4))
        let left = try disk.crash(cfaultvfs_drop, seed: 1, keepsWitness: true)
        let summary = try JournalInspector(left.path).summary()
        #expect(!summary.isClean)
        #expect(summary.sync == sync)
    }

    @Test func `a backup that is put in the journal's place is not taken for damage`() throws {
        let folder = JournalTestFolder()
        let backup = JournalTestFolder()
        let epoch = try life(folder)
        try JournalInspector(folder.path).backup(to: backup.path) { _, _ in }
        #expect(try life(folder) == epoch)
        folder.write("journal.sqlite", backup.read("journal.sqlite"))
        let restored = try SQLiteJournal(folder.path)
        #expect(restored.opening.epochReplaced == "restored from a backup")
        #expect(restored.epoch != epoch)
        #expect(try restored.readAll() == records(1..<6))
    }

    @Test func `a log that another journal left beside a backup is named, with the command that removes it`() throws {
        let folder = JournalTestFolder()
        let backup = JournalTestFolder()
        _ = try life(folder)
        try JournalInspector(folder.path).backup(to: backup.path) { _, _ in }
        _ = try life(folder, closes: false)
        folder.write("journal.sqlite", backup.read("journal.sqlite"))
        let uses: [() throws -> Void] = [
            { _ = try SQLiteJournal(folder.path) }, { _ = try JournalInspector(folder.path) },
            { _ = try JournalRepair.repair(folder.path) { _, _ in } },
        ]
        for use in uses {
            let error = try #require(throws: JournalError.self) { try use() }
            #expect("\(error)".contains("it is a backup, and \(folder.path)/journal.sqlite-wal is of the journal"))
            #expect("\(error)".contains("run: rm \(folder.path)/journal.sqlite-wal"))
        }
        _ = unsafe unlink(folder.path + "/journal.sqlite-wal")
        _ = unsafe unlink(folder.path + "/journal.sqlite-shm")
        #expect(try SQLiteJournal(folder.path).readAll() == records(1..<6))
    }

    @Test func `a reader holds up neither a stop nor a start`() throws {
        let disk = try FaultyDisk()
        let copy = JournalTestFolder()
        var journal: SQLiteJournal? = try SQLiteJournal(disk.folder.path, disk.options())
        try journal?.append(records(1..<6))
        var wasRead = false
        // While a daemon runs, an inspector leaves the folder's lock to it.
        try JournalInspector(disk.folder.path).backup(to: copy.path + "/copy") { _, _ in
            guard !wasRead else { return }
            wasRead = true
            do {
                try journal?.close()
                journal = nil
                journal = try SQLiteJournal(disk.folder.path, disk.options())
                try journal?.append(records(6..<11))
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(wasRead)
        // A stop and a start wait a quarter of a second each. A wait for the reader would be one of ten seconds.
        #expect(disk.waited > .zero && disk.waited < .seconds(2))
        #expect(try journal?.readAll() == records(1..<11))
        for file in ["journal.sqlite", "lock"] { _ = unsafe unlink("\(copy.path)/copy/\(file)") }
        _ = unsafe rmdir(copy.path + "/copy")
    }
}
