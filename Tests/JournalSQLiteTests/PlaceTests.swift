import Glibc
import Journal
import JournalSQLite
import TestSupport
import Testing

/// The files in the folder: their modes, links in their places, and their removal.
@Suite(.endsOneDay)
struct PlaceTests {
    private func mode(_ file: String, in folder: JournalTestFolder) -> mode_t {
        var status = stat()
        return unsafe lstat(folder.path + "/" + file, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private static let files = ["acknowledged", "journal.sqlite", "journal.sqlite-shm", "journal.sqlite-wal", "lock"]

    @Test func `in a folder that all users may read the files are their owner's alone`() throws {
        let folder = JournalTestFolder()
        _ = unsafe chmod(folder.path, 0o755)
        let journal = try SQLiteJournal(folder.path)
        try journal.append(records(1..<3))
        #expect(folder.files == Self.files)
        for file in folder.files { #expect(mode(file, in: folder) == 0o600, "\(file)") }
        try JournalInspector(folder.path).backup(to: folder.path + "/copy") { _, _ in }
        #expect(mode("copy/journal.sqlite", in: folder) == 0o600)
        _ = unsafe unlink(folder.path + "/copy/journal.sqlite")
        _ = unsafe rmdir(folder.path + "/copy")
    }

    @Test func `a start restricts files that all users could read, and the next start keeps the epoch`()
        throws
    {
        let folder = JournalTestFolder()
        do { try SQLiteJournal(folder.path).append(records(1..<3)) }
        for file in Self.files { _ = unsafe chmod(folder.path + "/" + file, 0o644) }
        let epoch = try SQLiteJournal(folder.path).epoch
        for file in Self.files { #expect(mode(file, in: folder) == 0o600, "\(file)") }
        #expect(try SQLiteJournal(folder.path).epoch == epoch)
    }

    @Test(
        "A link in the place of a file is refused, and its target stays as it was", arguments: ["lock", "acknowledged"])
    func link(file: String) throws {
        let (folder, other) = (JournalTestFolder(), JournalTestFolder())
        other.write("target", Array("somebody's".utf8))
        #expect(unsafe symlink(other.path + "/target", folder.path + "/" + file) == 0)
        let error = try #require(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        #expect("\(error)".contains("\(folder.path)/\(file): it is a symbolic link"))
        #expect(other.read("target") == Array("somebody's".utf8))
    }

    @Test(
        "Without its files a journal acknowledges nothing any more",
        arguments: ["journal.sqlite", "journal.sqlite-wal"])
    func removed(file: String) throws {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        try journal.append(records(1..<3))
        _ = unsafe unlink(folder.path + "/" + file)
        let error = try #require(throws: JournalError.self) { try journal.append(records(3..<5)) }
        guard case .failed(_, let cause) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(cause == "\(folder.path)/\(file) was removed or renamed")
        #expect(throws: error) { try journal.append(records(3..<5)) }
        #expect(throws: error) { try journal.close() }
        #expect(journal.lastSequence == 2)
    }

    @Test func `nor with another file in the place of one of them`() throws {
        let folder = JournalTestFolder()
        let journal = try SQLiteJournal(folder.path)
        try journal.append(records(1..<3))
        folder.write("copy", folder.read("journal.sqlite"))
        _ = unsafe rename(folder.path + "/copy", folder.path + "/journal.sqlite")
        let error = try #require(throws: JournalError.self) { try journal.append(records(3..<5)) }
        #expect("\(error)".contains("another file was put in the place of \(folder.path)/journal.sqlite"))
    }

    @Test(
        "Without its log and with a broken witness a journal is refused until it is repaired", arguments: [true, false])
    func noSign(isLogMissing: Bool) throws {
        let folder = JournalTestFolder()
        do {
            let journal = try SQLiteJournal(folder.path)
            try journal.append(records(1..<3))
            try journal.close()
        }
        do { try SQLiteJournal(folder.path).append(records(3..<5)) }
        if isLogMissing {
            _ = unsafe unlink(folder.path + "/journal.sqlite-wal")
        } else {
            folder.write("journal.sqlite-wal", [])
        }
        var witness = folder.read("acknowledged")
        witness[9] ^= 1
        folder.write("acknowledged", witness)

        let error = try #require(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        guard case .corrupt(let place, let advice) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(place.hasPrefix(folder.path + "/acknowledged"))
        #expect(advice.contains("telltale journal repair \(folder.path)"))
        #expect(throws: error) { try JournalInspector(folder.path).verify { _, _ in } }
        #expect(folder.read("acknowledged") == witness)

        _ = try JournalRepair.repair(folder.path) { _, _ in }
        let journal = try SQLiteJournal(folder.path)
        #expect(journal.lastSequence == 2)
        #expect(journal.opening.epochReplaced == "repaired")
    }
}
