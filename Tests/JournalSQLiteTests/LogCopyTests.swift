import Glibc
import Journal
import JournalSQLite
import Synchronization
import TestSupport
import Testing

/// The log is copied into the file while batches go on.
@Suite(.endsOneDay)
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
        let folder = JournalTestFolder()
        let longest = try Self.write(to: folder, aside: aside)
        // However little the copier is allowed: at 16 times the length the writer copies the log itself.
        #expect(longest > Self.limit && longest < 17 * Self.limit)
        #expect(folder.read(Self.log).isEmpty)
        #expect(try SQLiteJournal(folder.path).readAll().count == 2_000)
    }

    /// - Returns: The longest that the log was.
    private static func write(to folder: JournalTestFolder, aside: Bool) throws -> Int {
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
        let folder = JournalTestFolder()
        for round in 0..<Int64(20) {
            let journal = try SQLiteJournal(folder.path, Self.options(aside: true))
            #expect(journal.lastSequence == round * 100)
            #expect(journal.opening.epochReplaced == nil)
            try journal.append(records(round * 100 + 1..<round * 100 + 101, byteCount: 4_000))
            _ = try journal.tidy()
        }
        #expect(try SQLiteJournal(folder.path).readAll().count == 2_000)
    }

    /// Whether this thread or another one has copied the log since the last call.
    private final class Copies: Sendable {
        private let own = pthread_self()
        private let seen = Mutex<[Bool]>([])

        func note(_ step: SQLiteJournal.Step) {
            if step == .logCopied { seen.withLock { $0.append(pthread_self() == own) } }
        }

        func take() -> [Bool] {
            seen.withLock { seen in
                defer { seen = [] }
                return seen
            }
        }
    }

    @Test(arguments: [SQLiteJournal.Sync.full, .off])
    func `a log that has grown long under a reader is copied beside the writing when it has gone`(
        sync: SQLiteJournal.Sync
    ) throws {
        let folder = JournalTestFolder()
        let copies = Copies()
        var options = Self.options(aside: true)
        options.sync = sync
        options.observer = { copies.note($0) }
        let journal = try SQLiteJournal(folder.path, options)
        var last: Int64 = 0
        func write() throws {
            try journal.append(records(last + 1..<last + 11, byteCount: 4_000))
            last += 10
            _ = try journal.tidy()
        }
        for _ in 0..<20 { try write() }
        try JournalInspector(folder.path).recover(chunk: { _ in }) { record in
            // Within its transaction, in which it reads the journal of that moment.
            guard record == nil else { return }
            // The copy that had begun comes to its end. From there on only the reader is in the way.
            while folder.read(Self.log).count < 9 * Self.limit { try write() }
            _ = copies.take()
            while folder.read(Self.log).count < 20 * Self.limit { try write() }
        }
        // The reader blocks every copy, so no batch waited for one.
        #expect(!copies.take().contains(true))
        let longest = folder.read(Self.log).count
        var seen: [Bool] = []
        for _ in 0..<400 where seen.last != true {
            try write()
            seen += copies.take()
        }
        #expect(seen.first == false, "a batch waited while all of the log was copied")
        #expect(seen.last == true, "the rest is for whoever writes")
        for _ in 0..<20 { try write() }
        // It has begun anew, where the file has room.
        #expect(folder.read(Self.log).count < 2 * longest)
        #expect(try journal.readAll().count == last)
        try journal.close()
        #expect(try JournalInspector(folder.path).summary().recordCount == last)
    }
}
