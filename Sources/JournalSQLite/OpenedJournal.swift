internal import Glibc
internal import Journal

/// A journal that has passed the checks of its opening.
struct OpenedJournal {
    let folder: JournalFolder
    let lock: JournalLock
    let connection: SQLiteConnection
    let syncMarker: SyncMarker
    let head: Head
    let snapshot: JournalSnapshot?
    let mark: [UInt8]?
    let formerMark: [UInt8]?
    let opening: JournalOpening
    /// Whether the log could not restart because another connection reads it.
    let needsFreshLog: Bool

    /// Opens the existing journal or makes a new one. Nothing is changed until every check has passed.
    init(_ path: String, _ options: SQLiteJournal.Options) throws(JournalError) {
        let folder = JournalFolder(path: path)
        try folder.make()
        lock = try JournalLock(folder)
        let isNew = try Self.make(folder, options)
        let identity = FileIdentity(of: folder.database)
        try Self.checkBeginning(of: folder)
        let log = try WriteAheadLog(reading: folder.log)
        try Self.checkLog(log, of: folder, fileSystem: options.fileSystem)
        let connection = try SQLiteConnection(folder.database, .readWrite, fileSystem: options.fileSystem)
        try Self.configure(connection, options)
        let found = try Self.checkContents(of: connection, folder, log: log)
        let reason = isNew ? nil : Self.reasonForNewEpoch(found.head, folder, identity)
        // If the file was put in the place of another one, the log may belong to that one, and SQLite has merged the
        // two.
        // The log of the cluster says whether it is the same history, whoever has put the file here.
        let isMoved = !isNew && found.head.sync == .follower && reason == nil && found.head.origin != identity.origin
        let isSuspect = !isNew && log.validFrameCount > 0 && !Self.isUnchanged(found.head, folder, identity)
        if isSuspect || Self.fileByteCount(folder) <= options.checkedByteCount {
            try JournalCheck(connection, folder, found.head).run { _, _ in }
        }

        var opening = JournalOpening(ending: isNew ? .new : found.head.isClean ? .clean : .unclean)
        opening.droppedByteCount = log.droppedByteCount
        opening.epochReplaced = reason
        var head = found.head
        let syncMarker = try SyncMarker(folder, isSynced: options.sync == .full && options.fileSystem == nil)
        var needsFreshLog = false
        if isNew || isMoved || reason != nil || JournalFolder.size(of: folder.log) ?? 0 > 0 {
            if isNew || isMoved || reason != nil {
                if reason != nil { head.epoch = options.makeEpoch() }
                head.origin = identity.origin
                // Nothing was acknowledged in the new epoch so far.
                head.isClean = true
                let what = "could not begin to write \(folder.database)"
                try connection.transaction(what) { () throws(JournalError) in
                    try head.write(with: connection.prepare(Head.writing), what)
                }
            }
            // The restart of the log removes the unfinished transaction that a crash may have left.
            do throws(JournalError) {
                needsFreshLog = try !connection.checkpoint(
                    .truncating, of: folder, waiting: options.busyTimeout, syncMarker)
            } catch {
                // A full disk loses nothing, and readers can be served from it; the first write repeats the attempt.
                guard case .full = error, !isNew, reason == nil else { throw error }
                needsFreshLog = true
            }
            // The mark of a copy must not be combined with a log that has records, because such a log would look like
            // another file's.
            guard !needsFreshLog || !found.head.isCopy else {
                throw .unusable(
                    what: "could not begin to write \(folder.database)", cause: "another program reads it",
                    advice: "stop that one, then start again")
            }
        }
        try Self.restrict(folder, syncMarker)
        try syncMarker.write(epoch: head.epoch, sequence: head.sequence)
        mark = try ReplicaTable.mark(in: connection, folder, found.head)
        formerMark = try ReplicaTable.formerMark(in: connection, folder)
        snapshot = found.snapshot
        (self.folder, self.connection, self.syncMarker) = (folder, connection, syncMarker)
        (self.head, self.opening, self.needsFreshLog) = (head, opening, needsFreshLog)
    }

    /// Restricts the files that an earlier release made to their owner.
    ///
    /// The change sets the database's time of change. The sync marker records it, because the next start would otherwise
    /// take the database for a copy.
    private static func restrict(_ folder: JournalFolder, _ syncMarker: SyncMarker) throws(JournalError) {
        OwnFile.restrict(folder.log)
        OwnFile.restrict(folder.sharedMemory)
        guard OwnFile.isOpenToOthers(folder.database) else { return }
        try syncMarker.databaseChanges()
        OwnFile.restrict(folder.database)
        try syncMarker.databaseSettled(FileIdentity(of: folder.database).changeTime)
    }

    /// The reason why history may be incomplete or may continue elsewhere; `nil` if neither is possible.
    private static func reasonForNewEpoch(
        _ head: Head, _ folder: JournalFolder, _ identity: FileIdentity
    ) -> String? {
        switch head.origin {
        case Head.isRepaired: "repaired"
        case _ where head.sync == .follower: nil
        case Head.isBackup: "restored from a backup"
        case _ where isUnchanged(head, folder, identity):
            head.isClean || head.sync == .full
                ? nil : "the daemon ran with --sync \(head.sync.rawValue) and was not stopped in order"
        default: "the folder was copied or restored"
        }
    }

    /// Whether the file is unchanged since the daemon last wrote it.
    private static func isUnchanged(_ head: Head, _ folder: JournalFolder, _ identity: FileIdentity) -> Bool {
        head.origin == identity.origin && SyncMarker.readNote(folder)?.fits(identity.changeTime) == true
    }

    /// Makes a new file if there is none. It gets its name when it is complete.
    private static func make(_ folder: JournalFolder, _ options: SQLiteJournal.Options) throws(JournalError) -> Bool {
        guard try !JournalFolder.exists(folder.database) else { return false }
        if let leftover = try folder.leftover("could not start from \(shellQuoted(folder.path))") { throw leftover }
        let acknowledged = SyncMarker.read(folder, epoch: nil)
        guard acknowledged == 0, JournalFolder.size(of: folder.log) ?? 0 == 0 else {
            throw .corrupt(
                place: "\(folder.database) is missing, and there were \(acknowledged) records",
                advice: "put it back, or empty the folder to begin anew")
        }
        folder.removeDatabase(folder.draft)
        folder.remove(folder.log)
        let connection = try SQLiteConnection(folder.draft, .create, fileSystem: options.fileSystem)
        let what = "could not make \(folder.database)"
        try connection.execute("PRAGMA page_size = \(options.pageByteCount)", what)
        try create(Head(epoch: options.makeEpoch()), in: connection, what)
        guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw .unusable(
                what: what, cause: "no write-ahead log on this file system", advice: "choose a folder on a local disk")
        }
        try connection.checkpoint(.truncating)
        try folder.adopt(folder.draft, as: folder.database)
        // The draft's log is empty and of no use under the new name.
        folder.removeDatabase(folder.draft)
        return true
    }

    /// Writes the tables and the head in one transaction.
    static func create(_ head: Head, in connection: SQLiteConnection, _ what: String) throws(JournalError) {
        try connection.transaction(what) { () throws(JournalError) in
            try connection.execute("PRAGMA application_id = \(JournalSchema.applicationID)", what)
            try connection.execute("PRAGMA user_version = \(JournalSchema.oldestVersion)", what)
            for table in JournalSchema.tables { try connection.execute(table, what) }
            try head.write(with: connection.prepare(Head.writing), what)
        }
    }

    /// Checks the beginning of the file before SQLite opens it.
    static func checkBeginning(of folder: JournalFolder) throws(JournalError) {
        let file = folder.database
        let bytes = try JournalFolder.beginning(of: file, count: 100)
        func number(_ offset: Int) -> Int64 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
        guard bytes.count == 100 else {
            throw .corrupt(place: "\(file) ends after \(bytes.count) bytes", advice: folder.repairAdvice)
        }
        guard bytes.starts(with: "SQLite format 3\0".utf8) else {
            throw .foreign(file: file, reason: "is not an SQLite file")
        }
        guard number(68) == JournalSchema.applicationID else {
            throw .foreign(file: file, reason: "is not a journal of Telltale")
        }
        guard number(60) <= JournalSchema.version else {
            throw .foreign(file: file, reason: "was made by a newer release (format \(number(60)))")
        }
        guard number(60) >= JournalSchema.oldestVersion, bytes[18] == 2, bytes[19] == 2 else {
            throw .corrupt(place: "\(file), bytes 18 to 63", advice: folder.repairAdvice)
        }
    }

    /// Detects a log that belongs to another file: a backup was put in the place of a journal whose log was left
    /// behind.
    ///
    /// SQLite would merge the two. A journal that was started from a backup loses that mark before its log has a second
    /// page.
    static func checkLog(
        _ log: WriteAheadLog, of folder: JournalFolder, fileSystem: String? = nil
    ) throws(JournalError) {
        guard log.validFrameCount > 1,
            let connection = try? SQLiteConnection(folder.database, .withoutLog, fileSystem: fileSystem),
            let head = try? Head(reading: connection, folder: folder), head.isCopy
        else { return }
        let name = head.origin == Head.isBackup ? "a backup" : "a repaired journal"
        throw .unusable(
            what: "could not use \(folder.database)",
            cause: "it is \(name), and \(folder.log) is of the journal that was there before",
            advice: "run: rm \(shellQuoted(folder.log)) \(shellQuoted(folder.sharedMemory)), then try again")
    }

    static func configure(_ connection: SQLiteConnection, _ options: SQLiteJournal.Options) throws(JournalError) {
        let what = "could not open \(connection.path)"
        // Without spilling, a transaction writes each page to the log once, at its commit.
        for pragma in [
            "synchronous = FULL", "cache_spill = OFF",
            "secure_delete = OFF", "cache_size = -32768", "journal_size_limit = \(max(64 << 20, options.logByteCount))",
            "temp_store = MEMORY", "trusted_schema = OFF",
        ] {
            try connection.execute("PRAGMA \(pragma)", what)
        }
        try connection.takeCheckpoints()
    }

    /// Compares the content that SQLite finds with what was acknowledged.
    static func checkContents(
        of connection: SQLiteConnection, _ folder: JournalFolder, log: WriteAheadLog
    ) throws(JournalError) -> (head: Head, snapshot: JournalSnapshot?) {
        let schema = try connection.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid")
        var tables: [String] = []
        while try schema.step() { tables.append(schema.text(0)) }
        guard JournalSchema.isWhole(tables) else { throw folder.damage("the tables are not ours") }
        let head = try Head(reading: connection, folder: folder)
        // For a backup or a repaired journal, the acknowledgements recorded at this place do not apply.
        if head.sync == .full, !head.isCopy {
            if let offset = log.damageOffset {
                throw .corrupt(place: "\(folder.log), from byte \(offset) on", advice: folder.repairAdvice)
            }
            // If both are gone, nothing shows how much was acknowledged.
            guard log.validFrameCount > 0 || !SyncMarker.isDamaged(folder) else {
                throw .corrupt(
                    place: "\(folder.syncMarker), and \(folder.log) is empty or missing: whether records after "
                        + "\(head.sequence) were acknowledged cannot be told",
                    advice: "put the log back if there is a copy; to begin from record \(head.sequence), "
                        + folder.repairAdvice)
            }
            let acknowledged = SyncMarker.read(folder, epoch: head.epoch)
            guard head.sequence >= acknowledged else {
                throw .corrupt(
                    place: "\(folder.log) leads to record \(head.sequence), and \(acknowledged) were acknowledged",
                    advice: folder.repairAdvice)
            }
        }
        let snapshot = try SnapshotStore.readNewest(of: connection, folder, head)
        let last = try connection.integer("SELECT max(sequence) FROM record") ?? 0
        guard last == head.sequence || (last < head.sequence && head.sequence <= head.prunedThrough) else {
            throw folder.damage("the last record is \(last), not \(head.sequence)")
        }
        return (head, snapshot)
    }

    private static func fileByteCount(_ folder: JournalFolder) -> Int {
        (JournalFolder.size(of: folder.database) ?? 0) + (JournalFolder.size(of: folder.log) ?? 0)
    }
}
