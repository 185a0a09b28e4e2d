import CFaultVFS
import Journal
import JournalSQLite
import TestSupport
import Testing

/// The read transaction that lasts over several commits.
@Suite(.endsOneDay)
struct ReadHoldTests {
    @Test func `a lone record takes one lock and gives it back`() throws {
        let disk = try FaultyDisk()
        var options = disk.options()
        options.logByteCount = 16 << 20
        let journal = try SQLiteJournal(disk.folder.path, options)
        // The first batch also notes that the journal is in use.
        try journal.append(records(1..<2))
        try journal.append(records(2..<3))
        for sequence in Int64(3)..<100 {
            let before = disk.lockCount
            try journal.append(records(sequence..<sequence + 1))
            #expect(disk.lockCount - before == 2)
        }
        try journal.close()
        #expect(try JournalInspector(disk.folder.path).summary().recordCount == 99)
    }

    @Test(arguments: [false, true])
    func `the log of lone records is copied and begins anew`(aside: Bool) throws {
        let folder = JournalTestFolder()
        var options = SQLiteJournal.Options()
        options.logByteCount = 200_000
        options.logReserveByteCount = 0
        options.copiesLogAside = aside
        let journal = try SQLiteJournal(folder.path, options)
        for sequence in Int64(1)...400 {
            try journal.append(records(sequence..<sequence + 1))
            while try journal.tidy() {}
            // A copier that gets no processor lets the log grow to 16 times its length, and then the batches wait.
            #expect(folder.read("journal.sqlite-wal").count < (aside ? 17 : 5) * 200_000)
        }
        #expect(try journal.readAll().count == 400)
        try journal.close()
        #expect(folder.read("journal.sqlite-wal").isEmpty)
        #expect(try JournalInspector(folder.path).summary().recordCount == 400)
    }

    @Test func `a program that writes although it should not stops no batch`() throws {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        try journal.append(records(1..<2))
        try journal.append(records(2..<3))
        #expect(unsafe cfaultvfs_execute(folder.path + "/journal.sqlite", "PRAGMA user_version = 1") == 0)
        try journal.append(records(3..<4))
        #expect(try journal.readAll().count == 3)
    }

    @Test func `others read what was written under it`() throws {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        for sequence in Int64(1)...20 {
            try journal.append(records(sequence..<sequence + 1))
            #expect(try JournalInspector(folder.path).summary().lastSequence == sequence)
            #expect(try journal.record(at: sequence) != nil)
        }
        try JournalInspector(folder.path).verify { _, _ in }
        let copy = JournalTestFolder()
        try JournalInspector(folder.path).backup(to: copy.path) { _, _ in }
        #expect(try SQLiteJournal(copy.path).readAll().count == 20)
    }
}
