import Glibc
import Journal
import JournalSQLite
import Testing

/// A journal that is a node's local journal of a replicated log.
struct FollowerTests {
    private static let epoch: UInt64 = 0xABCD

    private static var options: SQLiteJournal.Options {
        var options = SQLiteJournal.Options()
        options.sync = .follower
        return options
    }

    /// Keeps records 1 to `count` in batches of five, and leaves without closing.
    private func write(_ folder: JournalTestFolder, count: Int64 = 10) throws {
        let journal = try SQLiteJournal(folder.path, Self.options)
        for start in stride(from: journal.lastSequence + 1, through: count, by: 5) {
            try journal.write(records(start..<start + 5))
            try journal.write(mark: Array("mark \(start + 4)".utf8), epoch: Self.epoch)
            try journal.commit()
        }
    }

    @Test func `the history gets its epoch from the log, and keeps it after an unclean stop`() throws {
        let folder = JournalTestFolder()
        try write(folder)
        let journal = try SQLiteJournal(folder.path, Self.options)
        #expect(journal.opening == JournalOpening(ending: .unclean))
        #expect(journal.epoch == Self.epoch && journal.lastSequence == 10)
        #expect(journal.mark == Array("mark 10".utf8))
    }

    @Test func `a mark without records is kept too`() throws {
        let folder = JournalTestFolder()
        try write(folder)
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path, Self.options)
        try journal?.write(mark: [1, 2, 3], epoch: Self.epoch)
        try journal?.commit()
        #expect(journal?.mark == [1, 2, 3])
        journal = nil
        #expect(try SQLiteJournal(folder.path, Self.options).mark == [1, 2, 3])
    }

    @Test func `a batch that is not committed leaves neither records nor a mark`() throws {
        let folder = JournalTestFolder()
        try write(folder)
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path, Self.options)
        try journal?.write(records(11..<12))
        try journal?.write(mark: [1], epoch: Self.epoch)
        #expect(journal?.mark == Array("mark 10".utf8))
        journal = nil
        let next = try SQLiteJournal(folder.path, Self.options)
        #expect(next.lastSequence == 10 && next.mark == Array("mark 10".utf8))
    }

    @Test func `a copy of the folder is the same history, because the log says so`() throws {
        let folder = JournalTestFolder()
        try write(folder)
        let copy = JournalTestFolder()
        copy.restore(folder.image)
        for _ in 0..<2 {
            let journal = try SQLiteJournal(copy.path, Self.options)
            #expect(journal.epoch == Self.epoch && journal.opening.epochReplaced == nil)
            try journal.write(records(journal.lastSequence + 1..<journal.lastSequence + 2))
            try journal.write(mark: [7], epoch: Self.epoch)
            try journal.commit()
        }
    }

    @Test func `a backup of the folder seeds another node`() throws {
        let folder = JournalTestFolder()
        try write(folder)
        let backup = JournalTestFolder()
        try JournalInspector(folder.path).backup(to: backup.path) { _, _ in }
        let journal = try SQLiteJournal(backup.path, Self.options)
        #expect(journal.epoch == Self.epoch && journal.mark == Array("mark 10".utf8) && journal.lastSequence == 10)
        #expect(try journal.readAll() == records(1..<11))
    }

    @Test func `records without the mark that belongs to them are refused, with the place`() throws {
        let folder = JournalTestFolder()
        try write(folder)
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path, Self.options)
        try journal?.append(records(11..<12))
        journal = nil
        #expect {
            try SQLiteJournal(folder.path, Self.options)
        } throws: { error in
            guard case JournalError.corrupt(let place, let advice) = error else { return false }
            return place.hasSuffix("the mark of record 10 does not fit record 11")
                && advice.contains("reads the whole log again")
        }
    }

    @Test func `a journal of before gets the table with its first mark, and an ordinary one never`() throws {
        let folder = JournalTestFolder()
        let plain = try SQLiteJournal(folder.path)
        try plain.append(records(1..<6))
        #expect(plain.mark == nil)
        try plain.write(mark: [1], epoch: plain.epoch)
        try plain.commit()
        try plain.writeSnapshot(at: 5, chunks: [[1, 2]])
        try plain.beginSnapshot(at: 5)
        try plain.appendToSnapshot([SnapshotBlock(name: "a", bytes: [1, 2, 3])])
        try plain.finishSnapshot()
        #expect(plain.mark == [1])
    }

    @Test func `a copy that is released is a journal by itself, of the same epoch, and may become a copy again`() throws
    {
        let folder = JournalTestFolder()
        try write(folder)
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path)
        #expect(journal?.formerMark == nil)
        try journal?.release()
        #expect(journal?.mark == nil && journal?.formerMark == Array("mark 10".utf8))
        try journal?.close()
        journal = nil
        journal = try SQLiteJournal(folder.path)
        #expect(journal?.epoch == Self.epoch && journal?.opening == JournalOpening(ending: .clean))
        #expect(journal?.mark == nil && journal?.lastSequence == 10)
        #expect(journal?.formerMark == Array("mark 10".utf8))
        try journal?.append(records(11..<12))
        journal = nil
        #expect(try SQLiteJournal(folder.path).epoch == Self.epoch)
        journal = try SQLiteJournal(folder.path, Self.options)
        try journal?.write(mark: [5], epoch: 0xF0)
        try journal?.commit()
        journal = nil
        journal = try SQLiteJournal(folder.path, Self.options)
        #expect(journal?.mark == [5] && journal?.epoch == 0xF0 && journal?.lastSequence == 11)
        #expect(journal?.formerMark == Array("mark 10".utf8))
        try journal?.release()
        journal = nil
        #expect(try SQLiteJournal(folder.path).formerMark == [5])
    }
}
