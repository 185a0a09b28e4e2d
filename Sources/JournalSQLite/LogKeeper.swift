internal import Journal
internal import TelltaleModel

/// The write-ahead log of an open journal: copies it into the file when it is long, and extends its file ahead of the
/// commits.
struct LogKeeper {
    private let folder: JournalFolder
    private let options: SQLiteJournal.Options
    private let connection: SQLiteConnection
    private let beginStatement: SQLiteStatement
    private let readHold: ReadHold
    private let syncMarker: SyncMarker
    private let copier: LogCopier?
    /// The number of the log's pages that were copied since it restarted and that cannot be copied further.
    private var copiedLength = 0
    /// The number of copies by the ``copier`` since the whole log was last copied.
    private var copyCount = 0
    /// The number of pages in the log at the first of these copies.
    private var lengthToCopy = 0
    /// The size to which the log's file was extended, in bytes.
    private var reservedByteCount = 0

    /// The number of pages that a batch may wait for.
    private static let restLength = 64
    private static let copyLimit = 4
    /// The largest length of the log while it is copied, as a multiple of ``SQLiteJournal/Options/logByteCount``.
    private static let lengthLimit = 16
    /// The largest growth during a copy, as a multiple, if a reader had already let the log grow beyond that.
    private static let growthLimit = 2

    init(_ opened: OpenedJournal, _ options: SQLiteJournal.Options) throws(JournalError) {
        folder = opened.folder
        self.options = options
        connection = opened.connection
        syncMarker = opened.syncMarker
        copier = options.copiesLogAside ? try LogCopier(opened.folder, options, opened.syncMarker) : nil
        readHold = try ReadHold(opened.connection)
        beginStatement = try opened.connection.prepare(SQLiteConnection.beginning)
    }

    // A reader such as a backup prevents the log from restarting. It is then copied again after it has grown further.
    private var isLong: Bool {
        let length = connection.logLength
        let copied = length < copiedLength ? 0 : copiedLength
        return length > copied + options.logByteCount / options.pageByteCount
    }

    private var isTight: Bool {
        options.sync != .off && byteCount + options.logReserveByteCount / 4 > reservedByteCount
    }

    private var byteCount: Int { connection.logLength * (options.pageByteCount + 24) }

    /// Begins the transaction of a batch.
    func beginTransaction(_ what: String) throws(JournalError) {
        // While the log is copied, all of it should be, and then it should restart.
        let isCopied = copyCount > 0 || isLong
        if isCopied { readHold.end() } else { readHold.endIfOld() }
        do throws(JournalError) {
            try beginStatement.run(what)
        } catch {
            // Another program has written meanwhile, although it should not: what the hold reads is out of date.
            guard readHold.isHeld else { throw error }
            readHold.end()
            try beginStatement.run(what)
        }
        if !isCopied { try readHold.begin(what) }
    }

    func endReadHold() { readHold.end() }

    /// ``SQLiteConnection/checkpoint(_:waiting:)``, with the notifications of the sync marker.
    @discardableResult
    func checkpoint(
        _ checkpoint: SQLiteConnection.Checkpoint, waiting timeout: Milliseconds = .zero
    ) throws(JournalError) -> Bool {
        readHold.end()
        // Two checkpoints at once would block each other; and after a failed sync nothing may be copied.
        try copier?.finish()
        return try connection.checkpoint(checkpoint, of: folder, waiting: timeout, syncMarker)
    }

    /// Copies the whole log, so that it restarts.
    ///
    /// - Returns: Whether it does; a reader can prevent that.
    mutating func restart() throws(JournalError) -> Bool {
        let isFresh = try checkpoint(.truncating)
        reservedByteCount = 0
        return isFresh
    }

    /// Truncates what a transaction has written that failed on a full disk, and the reserve.
    mutating func cut() {
        connection.cutLog()
        reservedByteCount = 0
    }

    /// Copies a long log into the file, so that it can restart.
    ///
    /// - Parameter sync: The durability of the commits.
    mutating func copy(_ sync: SQLiteJournal.Sync) throws(JournalError) {
        let length = connection.logLength
        if length < copiedLength { copiedLength = 0 }
        guard copyCount > 0 || isLong else { return }
        if let copier, try isCopiedAside(by: copier, length, sync) { return }
        copyCount = 0
        try checkpoint(.passive)
        copiedLength = length
        options.observer?(.logCopied)
    }

    /// Whether the rest of a log of `length` pages is left to the copier, or need not be copied yet.
    ///
    /// The log grows while it is copied; the copier then copies the new part, until little is left. With a disk that is
    /// slower than the writer this would never end. Batches then wait, as they do for a copier that gets no processor
    /// time.
    ///
    /// While a reader needs older pages, the newest ones cannot be copied, and a batch would wait in vain. A reader
    /// therefore lets the log grow, and after it has ended the copier copies the log however long it is.
    private mutating func isCopiedAside(
        by copier: LogCopier, _ length: Int, _ sync: SQLiteJournal.Sync
    ) throws(JournalError) -> Bool {
        if copyCount == 0 { lengthToCopy = length }
        let limit = Self.lengthLimit * options.logByteCount / options.pageByteCount
        let isLong = length > max(limit, Self.growthLimit * lengthToCopy)
        guard !copier.isAtWork else { return !isLong }
        let copy = try copier.takeOutcome()
        if let copy, !copy.isWhole {
            copyCount = 0
            copiedLength = length
            return true
        }
        let rest = length - (copy?.length ?? 0)
        guard !isLong, copyCount < Self.copyLimit, copyCount == 0 || rest > Self.restLength else { return false }
        copyCount += 1
        readHold.end()
        copier.begin(sync)
        return true
    }

    /// Extends the log's file by the bytes that it will need next.
    mutating func extend() {
        guard isTight else { return }
        reservedByteCount = byteCount + options.logReserveByteCount
        connection.lengthenLog(to: reservedByteCount)
    }
}
