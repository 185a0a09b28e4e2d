import Journal
import JournalSQLite
import TestSupport
import Testing

/// Blocks: parts of a snapshot that the snapshots after it share.
@Suite(.endsOneDay)
struct BlockTests {
    private static func block(_ name: String) -> SnapshotBlock {
        let seed = name.utf8.reduce(0) { $0 &* 31 &+ Int($1) }
        return SnapshotBlock(name: name, bytes: (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ seed) })
    }

    private static func write(_ names: [String], at sequence: Int64, to journal: SQLiteJournal) throws {
        try journal.beginSnapshot(at: sequence)
        try journal.appendToSnapshot([1, 2, 3])
        for name in names { try journal.appendToSnapshot([block(name)]) }
        try journal.appendToSnapshot([4])
        try journal.finishSnapshot()
    }

    private static func content(of journal: SQLiteJournal) throws -> [[UInt8]] {
        try (0..<(journal.snapshot?.chunkCount ?? 0)).map { try journal.readChunk($0) }
    }

    private static func expected(_ names: [String]) -> [[UInt8]] {
        [[1, 2, 3]] + names.map { block($0).bytes } + [[4]]
    }

    @Test func `a block that a snapshot before had is not written again`() throws {
        let disk = try FaultyDisk()
        try writeThree(to: disk)
        let again = try SQLiteJournal(disk.folder.path)
        #expect(try Self.content(of: again) == Self.expected(["a", "b", "c"]))
        try JournalInspector(disk.folder.path).verify { _, _ in }
    }

    private func writeThree(to disk: FaultyDisk) throws {
        let journal = try SQLiteJournal(disk.folder.path, disk.options())
        try journal.append(records(1..<5))
        try Self.write(["a", "b"], at: 2, to: journal)
        while try journal.tidy() {}
        #expect(try Self.content(of: journal) == Self.expected(["a", "b"]))
        // A page of this disk has 1,024 bytes: a block takes 49 of them.
        var before = disk.operationCount
        try Self.write(["a", "b"], at: 3, to: journal)
        #expect(disk.operationCount - before < 90)
        before = disk.operationCount
        try Self.write(["a", "b", "c"], at: 4, to: journal)
        #expect(disk.operationCount - before > 98)
        #expect(journal.snapshot?.byteCount == 150_004)
        #expect(try Self.content(of: journal) == Self.expected(["a", "b", "c"]))
        try journal.close()
    }

    @Test func `blocks that no snapshot has any more are removed`() throws {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        try journal.append(records(1..<100))
        for sequence in Int64(1)..<60 {
            try Self.write(["\(sequence)", "\(sequence + 1)"], at: sequence, to: journal)
            while try journal.tidy() {}
        }
        // An unfinished one leaves nothing either.
        try journal.beginSnapshot(at: 60)
        try journal.appendToSnapshot((0..<20).map { Self.block("u\($0)") })
        try journal.abandonSnapshot()
        while try journal.tidy() {}
        #expect(try Self.content(of: journal) == Self.expected(["59", "60"]))
        try journal.close()
        #expect(folder.read("journal.sqlite").count < 1_600_000)
    }

    @Test func `after a kill within a snapshot the one before it is there, and its blocks`() throws {
        let folder = JournalTestFolder()
        do {
            let journal = try SQLiteJournal(folder.path)
            try journal.append(records(1..<10))
            try Self.write(["a"], at: 3, to: journal)
            try journal.beginSnapshot(at: 5)
            try journal.appendToSnapshot([Self.block("a"), Self.block("b")])
        }
        let journal = try SQLiteJournal(folder.path)
        while try journal.tidy() {}
        #expect(try Self.content(of: journal) == Self.expected(["a"]))
        try Self.write(["a", "b"], at: 7, to: journal)
        #expect(try Self.content(of: journal) == Self.expected(["a", "b"]))
        try JournalInspector(folder.path).verify { _, _ in }
    }

    /// The number of the format stands in the header of the file.
    private static func version(_ folder: JournalTestFolder) -> UInt8 { folder.read("journal.sqlite")[63] }

    @Test
    func `a journal without blocks keeps the format of earlier releases, and gets the next one with the first block`()
        throws
    {
        let folder = JournalTestFolder()
        do {
            let journal = try SQLiteJournal(folder.path)
            try journal.append(records(1..<10))
            try journal.writeSnapshot(at: 3, chunks: [[1], [2]])
            try journal.close()
        }
        #expect(Self.version(folder) == 1)
        do {
            let journal = try SQLiteJournal(folder.path)
            #expect(try Self.content(of: journal) == [[1], [2]])
            try Self.write(["a"], at: 5, to: journal)
            try journal.close()
        }
        #expect(Self.version(folder) == 2)
        let journal = try SQLiteJournal(folder.path)
        #expect(try Self.content(of: journal) == Self.expected(["a"]))
        #expect(journal.opening.epochReplaced == nil)
    }

    @Test func `a damaged block is refused`() throws {
        let folder = JournalTestFolder()
        do {
            let journal = try SQLiteJournal(folder.path)
            try journal.append(records(1..<10))
            try Self.write(["a"], at: 5, to: journal)
            try journal.close()
        }
        var bytes = folder.read("journal.sqlite")
        let part = Array(Self.block("a").bytes[20_000..<20_064])
        let place = try #require((0..<bytes.count - 64).first { Array(bytes[$0..<$0 + 64]) == part })
        bytes[place] ^= 1
        folder.write("journal.sqlite", bytes)
        let error = try #require(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        #expect("\(error)".contains("chunk 1 of the snapshot"), "\(error)")
        #expect(throws: JournalError.self) { try JournalInspector(folder.path).verify { _, _ in } }
    }

    @Test func `a backup and a repair keep the blocks`() throws {
        let folder = JournalTestFolder()
        do {
            let journal = try SQLiteJournal(folder.path)
            try journal.append(records(1..<10))
            try Self.write(["a", "b"], at: 5, to: journal)
            try journal.close()
        }
        let copy = JournalTestFolder()
        try JournalInspector(folder.path).backup(to: copy.path) { _, _ in }
        #expect(try Self.content(of: SQLiteJournal(copy.path)) == Self.expected(["a", "b"]))
        _ = try JournalRepair.repair(folder.path) { _, _ in }
        #expect(try Self.content(of: SQLiteJournal(folder.path)) == Self.expected(["a", "b"]))
        var chunks: [[UInt8]] = []
        try JournalInspector(folder.path).recover(chunk: { chunks.append($0) }, record: { _ in })
        #expect(chunks == Self.expected(["a", "b"]))
    }
}
