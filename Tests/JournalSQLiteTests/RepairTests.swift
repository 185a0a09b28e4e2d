import Glibc
import Journal
import JournalSQLite
import Testing

/// A repair keeps the undamaged part, and never makes the damage worse.
struct RepairTests {
    private static let pageByteCount = 8_192

    /// A journal that was stopped in order: 250 records of 300 bytes, and a snapshot of the state after 120.
    private func stopped(pruning: Pruning? = nil, snapshot: Int64? = 120) throws -> JournalTestFolder {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        try journal.append(records(1..<251, byteCount: 300))
        if let snapshot { try journal.writeSnapshot(at: snapshot, chunks: [[1, 2], [3]]) }
        if let pruning { try journal.prune(pruning) }
        try journal.tidyUp()
        try journal.close()
        return folder
    }

    private func records(_ sequences: Range<Int64>, byteCount: Int = 300) -> [JournalRecord] {
        JournalSQLiteTests.records(sequences, byteCount: byteCount)
    }

    /// Where the pages lie that hold the body of a record. There are 256 bodies.
    private func pages(of sequence: Int64, in bytes: [UInt8]) -> [Int] {
        let body = records(sequence..<sequence + 1)[0].body
        return stride(from: 0, to: bytes.count, by: Self.pageByteCount).filter { page in
            bytes[page..<min(page + Self.pageByteCount, bytes.count)].indices.contains {
                bytes[$0...].starts(with: body)
            }
        }
    }

    @discardableResult
    private func repair(_ folder: JournalTestFolder) throws -> JournalRepair.Report {
        try JournalRepair.repair(folder.path) { _, _ in }
    }

    @Test func `a broken page of old history costs nothing after the snapshot`() throws {
        let folder = try stopped()
        var bytes = folder.read("journal.sqlite")
        for page in pages(of: 30, in: bytes) { bytes[page] = 0xFF }
        folder.write("journal.sqlite", bytes)
        #expect(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        let report = try repair(folder)
        #expect(report.lastSequence == 250)
        #expect(report.lostHistoryCount > 5 && report.lostHistoryCount < 40)
        #expect(report.keptRecordCount == 250 - report.lostHistoryCount)
        let repaired = try SQLiteJournal(folder.path)
        #expect(try repaired.readAll(after: 120) == records(121..<251))
        #expect(try repaired.readSnapshot() == [[1, 2], [3]])
        try JournalInspector(folder.path).verify { _, _ in }
    }

    @Test func `however much of the history is broken, the records after the snapshot are kept`()
        throws
    {
        let folder = JournalTestFolder()
        let all = JournalSQLiteTests.records(1..<13_001)
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path)
        try journal?.append(all)
        try journal?.writeSnapshot(at: 12_900, chunks: [[1]])
        try journal?.close()
        journal = nil
        var bytes = folder.read("journal.sqlite")
        // Past the roots of the tables; each leaf of records by the number of its first one.
        for page in stride(from: 6 * Self.pageByteCount, to: bytes.count, by: Self.pageByteCount)
        where bytes[page] == 0x0D {
            let cell = page + Int(bytes[page + 8]) << 8 + Int(bytes[page + 9])
            let number = Int(bytes[cell + 1] & 0x7F) << 7 + Int(bytes[cell + 2])
            if bytes[cell] < 0x80, bytes[cell + 1] >= 0x80, number < 12_700 { bytes[page] = 0xFF }
        }
        folder.write("journal.sqlite", bytes)
        let report = try repair(folder)
        #expect(report.lostHistoryCount > 12_000)
        #expect(report.lastSequence == 13_000)
        #expect(try SQLiteJournal(folder.path).readAll(after: 12_900) == Array(all[12_900...]))
    }

    @Test
    func `a record that reads as a later one ends neither the history nor the records after it`()
        throws
    {
        let folder = try stopped()
        var bytes = folder.read("journal.sqlite")
        var flippedCount = 0
        // A row begins with its length in two bytes, its number, and the length of its header.
        for page in pages(of: 30, in: bytes) {
            for place in page..<page + Self.pageByteCount - 400
            where bytes[place] == 30 && bytes[place - 2] & 0x80 != 0 && bytes[place + 1] == 9 {
                bytes[place] = 0x7F  // 127
                flippedCount += 1
            }
        }
        #expect(flippedCount == 1)
        folder.write("journal.sqlite", bytes)
        let report = try repair(folder)
        #expect(report.lastSequence == 250)
        #expect(report.keptRecordCount == 249)
        #expect(try SQLiteJournal(folder.path).readAll(after: 120) == records(121..<251))
    }

    @Test func `a file that was cut by a page is read as far as it goes`() throws {
        let folder = try stopped(snapshot: nil)
        folder.write("journal.sqlite", folder.read("journal.sqlite").dropLast(Self.pageByteCount))
        #expect(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        var exported: [JournalRecord] = []
        let findings = try JournalInspector(folder.path).readWhole(after: 0) { exported += $0 }
        #expect(exported.count > 200)
        #expect(!findings.isEmpty)
        let report = try repair(folder)
        #expect(report.lastSequence > 200)
        #expect(report.lastSequenceBefore == 250)
        #expect(try SQLiteJournal(folder.path).readAll() == records(1..<report.lastSequence + 1))
    }

    @Test func `without its head a journal goes on from the newest whole snapshot`() throws {
        let folder = try stopped(pruning: Pruning(through: 90))
        var bytes = folder.read("journal.sqlite")
        // The head is the first table: the page after the one with the schema. Its row ends with the page.
        bytes[2 * Self.pageByteCount - 20] ^= 1
        folder.write("journal.sqlite", bytes)
        #expect(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        let report = try repair(folder)
        #expect(report.findings.first?.hasPrefix("the head: ") == true)
        #expect(report.findings.allSatisfy { !$0.contains("telltale journal") })
        #expect(report.snapshot?.sequence == 120)
        let repaired = try SQLiteJournal(folder.path)
        #expect(repaired.lastSequence == 250)
        #expect(try repaired.readSnapshot() == [[1, 2], [3]])
        #expect(try repaired.readAll(after: 120) == records(121..<251))
    }

    @Test("A page that names a record twice does not end the repair", arguments: [false, true])
    func twice(isInTail: Bool) throws {
        let folder = try stopped()
        var bytes = folder.read("journal.sqlite")
        for page in pages(of: isInTail ? 200 : 30, in: bytes) where bytes[page] == 0x0D {
            // The sixth cell pointer of a leaf becomes the fifth.
            bytes[page + 8 + 10] = bytes[page + 8 + 8]
            bytes[page + 8 + 11] = bytes[page + 8 + 9]
        }
        folder.write("journal.sqlite", bytes)
        let report = try repair(folder)
        #expect(isInTail ? (121..<200).contains(report.lastSequence) : report.lastSequence == 250)
        #expect(try SQLiteJournal(folder.path).lastSequence == report.lastSequence)
    }

    @Test func `two repairs at once leave two folders, and the first one's files as they were`()
        throws
    {
        let folder = try stopped()
        var bytes = folder.read("journal.sqlite")
        for page in pages(of: 30, in: bytes) { bytes[page] = 0xFF }
        folder.write("journal.sqlite", bytes)
        let reports = [try repair(folder), try repair(folder), try repair(folder)]
        #expect(Set(reports.map(\.damagedFolder)).count == 3)
        let first = reports[0].damagedFolder.dropFirst(folder.path.utf8.count + 1)
        #expect(folder.read("\(first)/journal.sqlite") == bytes)
        #expect(folder.files.filter { $0.hasPrefix("damaged-") }.count == 3)
        #expect(try SQLiteJournal(folder.path).lastSequence == 250)
    }

    /// Every state in which a kill can leave the folder, made with the repaired file of a repair that was finished.
    @Test(
        "A repair that was killed leaves a journal or a refusal, and another one finishes it",
        arguments: 0...4)
    func killed(movedFileCount: Int) throws {
        let folder = try stopped()
        var bytes = folder.read("journal.sqlite")
        for page in pages(of: 30, in: bytes) { bytes[page] = 0xFF }
        folder.write("journal.sqlite", bytes)
        folder.write("journal.sqlite-shm", [1, 2, 3])
        let before = folder.image
        let report = try repair(folder)
        let repaired = folder.read("journal.sqlite")
        let name = String(report.damagedFolder.dropFirst(folder.path.utf8.count + 1))

        let killed = killed(before, repaired: repaired, name, movedFileCount: movedFileCount)
        // Of two repairs in one second, long ago.
        _ = unsafe mkdir("\(killed.path)/damaged-1000000000-2", 0o700)
        killed.write("damaged-1000000000-2/journal.sqlite", [1])
        let error = try #require(throws: JournalError.self) { try SQLiteJournal(killed.path) }
        #expect("\(error)".contains("run: telltale journal repair \(killed.path)"))
        #expect(try repair(killed).lastSequence == 250)
        #expect(try SQLiteJournal(killed.path).readAll(after: 120) == records(121..<251))
        let folders = killed.files.filter { $0.hasPrefix("damaged-") }
        #expect(folders.count == 2, "an empty one would only puzzle")
        let kept = folders.map { folder in
            ["journal.sqlite", "acknowledged"].filter { !killed.read("\(folder)/\($0)").isEmpty }
        }
        #expect(kept == [["journal.sqlite"], ["journal.sqlite", "acknowledged"]])
        #expect(!killed.files.contains("journal.sqlite-repaired"))
    }

    private func killed(
        _ before: [String: [UInt8]], repaired: [UInt8], _ name: String, movedFileCount: Int
    ) -> JournalTestFolder {
        let killed = JournalTestFolder()
        killed.restore(before.filter { !$0.key.hasPrefix("damaged-") })
        killed.write("journal.sqlite-repaired", repaired)
        _ = unsafe mkdir("\(killed.path)/\(name)", 0o700)
        let files = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "acknowledged"]
        for file in files.prefix(movedFileCount) {
            _ = unsafe rename("\(killed.path)/\(file)", "\(killed.path)/\(name)/\(file)")
        }
        return killed
    }

    @Test(arguments: 1...4)
    func `a repair that finishes an interrupted one reports the loss`(movedFileCount: Int) throws {
        let folder = try stopped(snapshot: nil)
        folder.write("journal.sqlite", folder.read("journal.sqlite").dropLast(Self.pageByteCount))
        let before = folder.image
        let report = try repair(folder)
        #expect(report.lastSequence < 250)
        let killed = killed(
            before, repaired: folder.read("journal.sqlite"), "damaged-1", movedFileCount: movedFileCount)
        let finished = try repair(killed)
        #expect(finished.lastSequence == report.lastSequence)
        #expect(finished.lastSequenceBefore == 250)
        #expect(finished.findings.first?.hasPrefix("an earlier repair was interrupted") == true)
    }

    @Test func `the damaged files of the newest repair have the newest name, whatever the clock shows`() throws {
        let folder = try stopped()
        for name in ["damaged-9999999999", "damaged-9999999999-3"] {
            _ = unsafe mkdir("\(folder.path)/\(name)", 0o700)
            folder.write("\(name)/journal.sqlite", [1])
        }
        // These names belong to no repair.
        for name in ["damaged-9999999999-\(Int.max)", "damaged-\(Int.max)0-7", "damaged-by-cat"] {
            _ = unsafe mkdir("\(folder.path)/\(name)", 0o700)
            folder.write("\(name)/journal.sqlite", [1])
        }
        #expect(try repair(folder).damagedFolder == folder.path + "/damaged-9999999999-4")
    }

    @Test
    func `damaged files without their journal are not taken for an empty folder, and are put back`()
        throws
    {
        let folder = try stopped()
        _ = unsafe mkdir(folder.path + "/damaged-1", 0o700)
        for file in ["journal.sqlite", "acknowledged"] {
            _ = unsafe rename("\(folder.path)/\(file)", "\(folder.path)/damaged-1/\(file)")
        }
        _ = unsafe unlink(folder.path + "/journal.sqlite-wal")
        let error = try #require(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        #expect("\(error)".contains("run: telltale journal repair \(folder.path)"))
        #expect(try repair(folder).lastSequence == 250)
        #expect(try SQLiteJournal(folder.path).readAll() == records(1..<251))
    }

    @Test func `an unfinished backup is not taken for an empty folder`() throws {
        let folder = JournalTestFolder()
        folder.write("journal.sqlite-copy", [1])
        let error = try #require(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        #expect("\(error)".contains("journal.sqlite-copy is of a backup that was not finished"))
    }

    @Test func `another program's file is refused, and stays where it is`() throws {
        let folder = try stopped()
        // Ours in everything but its name and its tables.
        var bytes = folder.read("journal.sqlite")
        bytes[68] ^= 1
        for place in 100..<Self.pageByteCount
        where bytes[place...].starts(with: Array("CREATE TABLE ".utf8)) {
            bytes[place + 14] ^= 1
        }
        folder.write("journal.sqlite", bytes)
        let error = try #require(throws: JournalError.self) { try repair(folder) }
        guard case .foreign = error else {
            Issue.record("\(error)")
            return
        }
        #expect(folder.read("journal.sqlite") == bytes)
        #expect(!folder.files.contains { $0.hasPrefix("damaged-") || $0.hasSuffix("-copy") })
    }

    @Test func `nothing is made of a file in which nothing can be read`() throws {
        let folder = try stopped()
        _ = unsafe unlink(folder.path + "/acknowledged")
        var bytes = folder.read("journal.sqlite")
        for place in bytes.indices.dropFirst(Self.pageByteCount) { bytes[place] ^= 0x55 }
        folder.write("journal.sqlite", bytes)
        #expect(throws: JournalError.self) { try repair(folder) }
        #expect(folder.read("journal.sqlite") == bytes)
    }

    @Test func `a command is quoted for a shell`() throws {
        let folder = JournalTestFolder()
        let path = folder.path + "/my dir's"
        let journal = try SQLiteJournal(path)
        try journal.append(records(1..<3))
        try journal.close()
        _ = unsafe truncate(path + "/journal.sqlite", 50)
        let error = try #require(throws: JournalError.self) { try JournalInspector(path).summary() }
        #expect("\(error)".contains("run: telltale journal repair '\(folder.path)/my dir'\\''s'"))
        for file in [
            "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "acknowledged", "lock",
        ] {
            _ = unsafe unlink(path + "/" + file)
        }
        _ = unsafe rmdir(path)
    }
}
