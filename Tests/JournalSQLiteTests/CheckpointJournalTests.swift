import Journal
import JournalSQLite
import Testing

/// A journal that becomes the local journal of a log by a checkpoint.
struct CheckpointJournalTests {
    private static let epoch: UInt64 = 0xABCD

    private static var options: SQLiteJournal.Options {
        var options = SQLiteJournal.Options()
        options.sync = .follower
        return options
    }

    /// Takes a checkpoint of record 100, and two records behind it.
    private func join(_ journal: SQLiteJournal) throws {
        try journal.beginCheckpoint(at: 100)
        try journal.appendToSnapshot([1, 2, 3])
        try journal.appendToSnapshot([4])
        try journal.finishCheckpoint(link: 77, mark: Array("base".utf8), epoch: Self.epoch)
        #expect(journal.lastSequence == 100 && journal.prunedThrough == 100 && journal.snapshot?.sequence == 100)
        try journal.write(records(101..<103))
        try journal.write(mark: Array("next".utf8), epoch: Self.epoch)
        try journal.commit()
    }

    private func expectJoined(_ folder: JournalTestFolder) throws {
        var options = Self.options
        options.checkedByteCount = .max
        let journal = try SQLiteJournal(folder.path, options)
        #expect(journal.epoch == Self.epoch && journal.lastSequence == 102 && journal.mark == Array("next".utf8))
        #expect(try journal.readChunk(0) == [1, 2, 3] && journal.readChunk(1) == [4])
        #expect(try journal.readRecords(after: 100, limit: 9).map(\.sequence) == [101, 102])
        while try journal.tidy() {}
        #expect(try journal.readRecords(after: 0, limit: 9).map(\.sequence) == [101, 102])
    }

    @Test func `an empty folder begins with the checkpoint, and goes on behind it`() throws {
        let folder = JournalTestFolder()
        try join(SQLiteJournal(folder.path, Self.options))
        try expectJoined(folder)
    }

    @Test func `what was in the folder is pruned behind the checkpoint`() throws {
        let folder = JournalTestFolder()
        do {
            let journal = try SQLiteJournal(folder.path, Self.options)
            try journal.write(records(1..<11))
            try journal.write(mark: Array("old".utf8), epoch: Self.epoch)
            try journal.commit()
            try journal.writeSnapshot(at: 10, chunks: [[9]])
            try journal.tidyUp()
            try join(journal)
            try journal.tidyUp()
            #expect(try journal.readRecords(after: 0, limit: 99).map(\.sequence) == [101, 102])
        }
        try expectJoined(folder)
    }

    @Test func `a checkpoint that is not finished changes nothing`() throws {
        let folder = JournalTestFolder()
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path, Self.options)
        try journal?.write(records(1..<11))
        try journal?.write(mark: Array("old".utf8), epoch: Self.epoch)
        try journal?.commit()
        try journal?.beginCheckpoint(at: 100)
        try journal?.appendToSnapshot([1])
        journal = nil
        let next = try SQLiteJournal(folder.path, Self.options)
        #expect(next.lastSequence == 10 && next.mark == Array("old".utf8) && next.snapshot == nil)
    }
}
