import Journal
import JournalSQLite
import Testing

/// The log's file is longer than the log, so that a commit need not lengthen it.
struct LogReserveTests {
    private static let log = "journal.sqlite-wal"

    @Test func `batches are written into bytes that the log's file has already`() throws {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        try journal.tidyUp()
        let size = folder.read(Self.log).count
        #expect(size >= 1 << 20)
        for sequence in 1..<Int64(20) {
            try journal.append(records(sequence..<sequence + 1))
            #expect(folder.read(Self.log).count == size)
        }
    }

    @Test func `the reserve goes ahead of the log, and a stop gives it back`() throws {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        for round in 0..<Int64(10) {
            try journal.append(records(round * 100 + 1..<round * 100 + 101, byteCount: 2_000))
            try journal.tidyUp()
            let bytes = folder.read(Self.log)
            let used = bytes.count - bytes.reversed().prefix { $0 == 0 }.count
            #expect(bytes.count - used > 200_000)
        }
        try journal.close()
        #expect(folder.read(Self.log).isEmpty)
    }

    @Test func `a disk without room for a reserve takes batches all the same`() throws {
        let disk = try FaultyDisk()
        disk.limitSize(60_000)
        var options = disk.options()
        options.logReserveByteCount = 1 << 20
        let journal = try SQLiteJournal(disk.folder.path, options)
        try journal.tidyUp()
        try journal.append(records(1..<10))
        try journal.tidyUp()
        #expect(try journal.readAll().count == 9)
        #expect(disk.folder.read(Self.log).count < 30_000)
    }
}
