import Foundation
import Glibc
import Journal
import JournalSQLite
import Testing

/// The commands of `telltale journal`.
struct InspectionTests {
    private func fill(_ journal: SQLiteJournal) throws {
        try journal.append(records(1..<101))
        try journal.writeSnapshot(at: 60, chunks: [[1, 2], [3]])
        try journal.append(records(101..<151))
    }

    @Test func `a journal in use can be looked at and copied`() throws {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        try fill(journal)
        let inspector = try JournalInspector(folder.path)
        let summary = try inspector.summary()
        #expect(summary.user == "process \(getpid())")
        #expect(summary.recordCount == 150)
        #expect(summary.snapshot == JournalSnapshot(sequence: 60, chunkCount: 2, byteCount: 3))
        try inspector.verify { _, _ in }
        #expect(try inspector.readRecords(after: 10, limit: 5) == records(11..<16))

        let copy = JournalTestFolder()
        try inspector.backup(to: copy.path) { _, _ in }
        // Later records are not in the backup.
        try journal.append(records(151..<161))
        let restored = try SQLiteJournal(copy.path)
        #expect(try restored.readAll() == records(1..<151))
        #expect(try restored.readSnapshot() == [[1, 2], [3]])
        #expect(restored.opening.epochReplaced == "restored from a backup")
        #expect(restored.epoch != journal.epoch)
        #expect(throws: JournalError.self) { try inspector.backup(to: copy.path) { _, _ in } }
    }

    @Test func `verify names the records that are damaged`() throws {
        let folder = JournalTestFolder()
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path)
        try journal.map(fill)
        try journal?.close()
        journal = nil
        try JournalInspector(folder.path).verify { _, _ in }
        damage(30, in: folder)
        let error = try #require(throws: JournalError.self) { try JournalInspector(folder.path).verify { _, _ in } }
        #expect("\(error)".contains("record 30 does not fit its checksum"))
        #expect("\(error)".contains("telltale journal repair \(folder.path)"))

        // The record is of the history before the snapshot: repair keeps everything else.
        let report = try JournalRepair.repair(folder.path) { _, _ in }
        #expect(report.keptRecordCount == 149)
        #expect(report.lastSequence == 150)
        let repaired = try SQLiteJournal(folder.path)
        #expect(repaired.opening.epochReplaced == "repaired")
        #expect(try repaired.readAll() == records(1..<151).filter { $0.sequence != 30 })
        #expect(try repaired.readSnapshot() == [[1, 2], [3]])
        #expect(try repaired.readChain(endingAt: 33, limit: 9).map(\.sequence) == [33])
        try repaired.append(records(151..<152))
        empty(report.damagedFolder)
    }

    @Test func `repair keeps the records before the first damaged one`() throws {
        let folder = JournalTestFolder()
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path)
        try journal.map(fill)
        try journal?.close()
        journal = nil
        damage(120, in: folder)
        #expect(throws: JournalError.self) { try SQLiteJournal(folder.path) }

        let report = try JournalRepair.repair(folder.path) { _, _ in }
        #expect(report.lastSequence == 119)
        #expect(report.lastSequenceBefore == 150)
        #expect(report.findings == ["record 120 is missing or not whole; nothing after it is kept"])
        #expect(try SQLiteJournal(folder.path).readAll() == records(1..<120))
        empty(report.damagedFolder)
    }

    @Test
    func `a folder is free when its journal is closed, though a program that is being started has the lock's file`()
        throws
    {
        let folder = JournalTestFolder()
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path)
        try journal.map(fill)
        let inherited = try #require(
            FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }.first {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
                    == "\(folder.path)/lock"
            })
        let copy = dup(inherited)
        defer { close(copy) }
        journal = nil
        _ = try SQLiteJournal(folder.path)
    }

    @Test func `repair of a truncated log keeps the part that SQLite can read`() throws {
        let folder = JournalTestFolder()
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path)
        try journal.map(fill)
        journal = nil
        let log = folder.read("journal.sqlite-wal")
        folder.write("journal.sqlite-wal", log.dropLast(20_000))
        #expect(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        let report = try JournalRepair.repair(folder.path) { _, _ in }
        #expect(report.lastSequence == 100)
        #expect(report.lastSequenceBefore == 150)
        #expect(try SQLiteJournal(folder.path).readAll() == records(1..<101))
        empty(report.damagedFolder)
    }

    @Test func `repair without anything to start from leaves the files where they are`() throws {
        let folder = JournalTestFolder()
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path)
        try journal.map(fill)
        try journal?.prune(Pruning(through: 50))
        try journal?.tidyUp()
        try journal?.close()
        journal = nil
        var bytes = folder.read("journal.sqlite")
        // Every page but the first.
        for index in bytes.indices.dropFirst(8_192) { bytes[index] ^= 0x55 }
        folder.write("journal.sqlite", bytes)
        #expect(throws: JournalError.self) { try JournalRepair.repair(folder.path) { _, _ in } }
        #expect(folder.read("journal.sqlite") == bytes)
    }

    @Test func `a backup that fails leaves nothing behind`() async throws {
        await #expect(processExitsWith: .success) {
            let folder = JournalTestFolder()
            let copy = JournalTestFolder()
            let journal = try SQLiteJournal(folder.path)
            try journal.append(records(1..<101, byteCount: 3_000))
            _ = signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            limit.rlim_cur = 100_000
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            for path in [copy.path, copy.path + "/new"] {
                do throws(JournalError) {
                    try JournalInspector(folder.path).backup(to: path) { _, _ in }
                    exit(2)
                } catch {
                    guard "\(error)".hasSuffix("(free some space, then run it again)") else { exit(3) }
                }
            }
            guard copy.files == [] else { exit(4) }
        }
    }

    @Test func `an obstacle is named, with its remedy`() throws {
        let folder = JournalTestFolder()
        folder.write("file", [1])
        func message(_ body: () throws -> Void) throws -> String {
            "\(try #require(throws: JournalError.self) { try body() })"
        }
        let file = folder.path + "/file"
        #expect(
            try message { _ = try SQLiteJournal(file) }
                == "could not make the folder \(file): there is a file of that name "
                + "(choose another folder, or move that file away)")
        #expect(
            try message { _ = try JournalInspector(folder.path) }
                == "could not read \(folder.path): there is no journal.sqlite in it "
                + "(give the folder that the daemon's --data names)")
        _ = unsafe unlink(file)
        try SQLiteJournal(folder.path).close()
        #expect(
            try message { try JournalInspector(folder.path).backup(to: folder.path) { _, _ in } }
                == "could not write \(folder.path)/journal.sqlite: there is a journal already "
                + "(give a folder that does not exist yet)")
    }

    @Test func `a folder without permission is not one without a journal`() async throws {
        await #expect(processExitsWith: .success) {
            let folder = JournalTestFolder()
            try SQLiteJournal(folder.path).close()
            _ = unsafe chmod(folder.path, 0)
            // As the user nobody, because root may do everything.
            guard getuid() != 0 || setuid(65_534) == 0 else { exit(2) }
            for open in [{ _ = try SQLiteJournal(folder.path) }, { _ = try JournalInspector(folder.path) }] {
                do {
                    try open()
                    exit(3)
                } catch {
                    guard "\(error)".contains("Permission denied (run it as the user") else { exit(4) }
                }
            }
        }
    }

    /// Flips a bit of one record's body, and of every copy of it that SQLite left in free space.
    private func damage(_ sequence: Int64, in folder: JournalTestFolder) {
        var bytes = folder.read("journal.sqlite")
        let body = records(sequence..<sequence + 1)[0].body
        for place in bytes.indices where bytes[place...].starts(with: body) { bytes[place + 3] ^= 4 }
        folder.write("journal.sqlite", bytes)
    }

    private func empty(_ folder: String) {
        for file in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "acknowledged"] {
            _ = unsafe unlink("\(folder)/\(file)")
        }
        _ = unsafe rmdir(folder)
    }
}
