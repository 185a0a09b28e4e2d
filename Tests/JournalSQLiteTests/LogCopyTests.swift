import Journal
import JournalSQLite
import Testing

/// The log is copied into the file while batches go on.
@Suite(.timeLimit(.minutes(2)))
struct LogCopyTests {
    private static let log = "journal.sqlite-wal"
    private static let limit = 200_000

    private static func options(aside: Bool) -> SQLiteJournal.Options {
        var options = SQLiteJournal.Options()
        options.logByteCount = limit
        options.logReserveByteCount = 0
        options.copiesLogAside = aside
        return options
    }

    @Test(arguments: [false, true])
    func `a log begins anew however much is written`(aside: Bool) throws {
        let folder = TemporaryFolder()
        let longest = try Self.write(to: folder, aside: aside)
        // Whatever the copier is let do: a log of eight times the length is copied by whoever writes.
        #expect(longest > Self.limit && longest < 9 * Self.limit)
        #expect(folder.read(Self.log).isEmpty)
        #expect(try SQLiteJournal(folder.path).readAll().count == 2_000)
    }

    /// - Returns: The longest that the log was.
    private static func write(to folder: TemporaryFolder, aside: Bool) throws -> Int {
        let journal = try SQLiteJournal(folder.path, options(aside: aside))
        var longest = 0
        for round in 0..<Int64(200) {
            try journal.append(records(round * 10 + 1..<round * 10 + 11, byteCount: 4_000))
            _ = try journal.tidy()
            longest = max(longest, folder.read(log).count)
        }
        #expect(try journal.readAll().count == 2_000)
        try journal.close()
        return longest
    }

    @Test func `a journal that is dropped while its log is copied leaves a folder for the next one`() throws {
        let folder = TemporaryFolder()
        for round in 0..<Int64(20) {
            let journal = try SQLiteJournal(folder.path, Self.options(aside: true))
            #expect(journal.lastSequence == round * 100)
            #expect(journal.opening.epochReplaced == nil)
            try journal.append(records(round * 100 + 1..<round * 100 + 101, byteCount: 4_000))
            _ = try journal.tidy()
        }
        #expect(try SQLiteJournal(folder.path).readAll().count == 2_000)
    }
}
