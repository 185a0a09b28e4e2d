import Glibc
import Journal
import JournalSQLite
import Testing

/// Opening a folder: its lock, the refusals, and the changes of the epoch.
struct OpeningTests {
    private func write(_ folder: JournalTestFolder, _ options: SQLiteJournal.Options = .init()) throws -> UInt64 {
        let journal = try SQLiteJournal(folder.path, options)
        try journal.append(records(journal.lastSequence + 1..<journal.lastSequence + 6))
        return journal.epoch
    }

    @Test func `a missing folder is made, with the folders above it`() throws {
        let folder = JournalTestFolder()
        let deep = folder.path + "/a"
        let journal = try SQLiteJournal(deep + "/b")
        try journal.append(records(1..<2))
        #expect(journal.opening == JournalOpening(ending: .new))
        for file in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "lock", "acknowledged"] {
            _ = unsafe unlink("\(deep)/b/\(file)")
        }
        _ = unsafe rmdir(deep + "/b")
        _ = unsafe rmdir(deep)
    }

    @Test func `a folder that cannot be made is one clear error`() throws {
        #expect(
            throws: JournalError.unusable(
                what: "could not make the folder /proc/telltale", cause: "No such file or directory",
                advice: "choose another folder")
        ) {
            try SQLiteJournal("/proc/telltale")
        }
    }

    @Test func `one daemon a folder, until it is gone`() throws {
        let folder = JournalTestFolder()
        var journal: SQLiteJournal? = try SQLiteJournal(folder.path)
        #expect(throws: JournalError.locked(folder: folder.path, by: "process \(getpid())")) {
            try SQLiteJournal(folder.path)
        }
        journal = nil
        _ = journal
        #expect(try SQLiteJournal(folder.path).lastSequence == 0)
    }

    @Test func `the epoch stays when nothing can have been lost`() throws {
        let folder = JournalTestFolder()
        let epoch = try write(folder)
        let killed = try SQLiteJournal(folder.path)
        #expect(killed.epoch == epoch)
        #expect(killed.opening == JournalOpening(ending: .unclean))
        try killed.close()
    }

    @Test("An unclean end without full syncs begins a new epoch", arguments: [SQLiteJournal.Sync.normal, .off])
    func weakSync(sync: SQLiteJournal.Sync) throws {
        let folder = JournalTestFolder()
        var options = SQLiteJournal.Options()
        options.sync = sync
        let epoch = try write(folder, options)
        var second: SQLiteJournal? = try SQLiteJournal(folder.path, options)
        let next = try #require(second?.epoch)
        #expect(next != epoch)
        #expect(second?.opening.epochReplaced?.contains("--sync \(sync.rawValue)") == true)
        #expect(second?.lastSequence == 5)
        try second?.close()
        second = nil
        // After a clean end it stays.
        #expect(try SQLiteJournal(folder.path).epoch == next)
    }

    @Test func `a copied folder begins a new epoch`() throws {
        let folder = JournalTestFolder()
        let epoch = try write(folder)
        let image = folder.image
        let copy = JournalTestFolder()
        copy.restore(image)
        let journal = try SQLiteJournal(copy.path)
        #expect(journal.epoch != epoch)
        #expect(journal.opening.epochReplaced == "the folder was copied or restored")
    }

    @Test func `a file that is no journal is refused and left unchanged`() throws {
        let folder = JournalTestFolder()
        folder.write(
            "journal.sqlite", Array("this is a text file, and a long one, ".utf8) + Array(repeating: 65, count: 200))
        let before = folder.image
        #expect(throws: JournalError.foreign(file: folder.path + "/journal.sqlite", reason: "is not an SQLite file")) {
            try SQLiteJournal(folder.path)
        }
        #expect(folder.image["journal.sqlite"] == before["journal.sqlite"])

        _ = unsafe unlink(folder.path + "/journal.sqlite")
        _ = try write(folder)
        var bytes = folder.read("journal.sqlite")
        bytes[71] ^= 1
        folder.write("journal.sqlite", bytes)
        #expect(
            throws: JournalError.foreign(file: folder.path + "/journal.sqlite", reason: "is not a journal of Telltale")
        ) {
            try SQLiteJournal(folder.path)
        }
        bytes[71] ^= 1
        bytes[63] = 4
        folder.write("journal.sqlite", bytes)
        #expect(
            throws: JournalError.foreign(
                file: folder.path + "/journal.sqlite", reason: "was made by a newer release (format 4)")
        ) {
            try SQLiteJournal(folder.path)
        }
    }

    @Test("A file that is gone is not taken for a new journal", arguments: ["journal.sqlite", "journal.sqlite-wal"])
    func missing(file: String) throws {
        let folder = JournalTestFolder()
        _ = try write(folder)
        _ = unsafe unlink(folder.path + "/" + file)
        let error = try #require(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        guard case .corrupt(let place, _) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(place.contains(file))
    }

    @Test func `a refusal leaves every file as it was`() throws {
        let folder = JournalTestFolder()
        _ = try write(folder)
        var log = folder.read("journal.sqlite-wal")
        log[5_000] ^= 1
        folder.write("journal.sqlite-wal", log)
        let before = folder.image
        #expect(throws: JournalError.self) { try SQLiteJournal(folder.path) }
        for file in ["journal.sqlite", "journal.sqlite-wal", "acknowledged"] {
            #expect(folder.read(file) == before[file])
        }
    }

    @Test func `a file-size limit is a full disk`() async throws {
        await #expect(processExitsWith: .success) {
            let folder = JournalTestFolder()
            let journal = try SQLiteJournal(folder.path)
            _ = signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            limit.rlim_cur = 200_000
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            var refusals = 0
            while journal.lastSequence < 2_000 {
                let next = journal.lastSequence + 1
                do throws(JournalError) {
                    try journal.append(records(next..<next + 50, byteCount: 300))
                    _ = try journal.tidy()
                } catch {
                    guard case .full = error else { exit(2) }
                    refusals += 1
                    limit.rlim_cur += 200_000
                    unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
                }
            }
            guard refusals > 2, try journal.readAll() == records(1..<2_001, byteCount: 300) else { exit(3) }
        }
    }
}
