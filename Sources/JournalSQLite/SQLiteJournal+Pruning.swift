public import Journal
internal import TelltaleModel

extension SQLiteJournal {
    /// The number of records that one ``tidy()`` removes, which takes some milliseconds.
    private static let recordPortion = 1_000

    public func prune(_ pruning: Pruning) throws(JournalError) {
        guard pruning.through > head.pruning || !pruning.chains.isEmpty else { return }
        let what = "could not note what to prune"
        var next = head
        next.pruning = max(next.pruning, pruning.through)
        try write(what) { () throws(JournalError) in
            let statement = try connection.prepare("INSERT OR IGNORE INTO doomed VALUES(?1)")
            for sequence in pruning.chains where sequence > 0 {
                statement.bind(sequence, 1)
                try statement.run(what)
            }
            try next.write(with: statements.writeHead, what)
        }
        head = next
        hasChores = true
    }

    public func tidy() throws(JournalError) -> Bool {
        guard hasChores else { return false }
        do throws(JournalError) {
            if try copyLog() { return true }
            reserveLog()
            if try dropOldChunk() { return true }
            if try dropOldBlocks() { return true }
            if try pruneRange() { return true }
            if try pruneChains() { return true }
        } catch {
            throw fail(error)
        }
        hasChores = copyCount > 0
        return false
    }

    /// Copies a long log into the file, so that it can restart.
    private func copyLog() throws(JournalError) -> Bool {
        let length = connection.logLength
        if length < copiedLogLength { copiedLogLength = 0 }
        guard copyCount > 0 || isLogLong else { return false }
        if let copier, try isCopiedAside(by: copier, length) { return false }
        copyCount = 0
        try checkpoint(.passive)
        copiedLogLength = length
        options.observer?(.logCopied)
        return false
    }

    /// Whether the rest of a log of `length` pages is left to the copier, or need not be copied yet.
    ///
    /// The log grows while it is copied; the copier then copies the new part, until little is left. With a disk that is
    /// slower than the writer this would never end. Batches then wait, as they do for a copier that gets no processor
    /// time.
    ///
    /// While a reader needs older pages, the newest ones cannot be copied, and a batch would wait in vain. A reader
    /// therefore lets the log grow, and after it has ended the copier copies the log however long it is.
    private func isCopiedAside(by copier: LogCopier, _ length: Int) throws(JournalError) -> Bool {
        if copyCount == 0 { lengthToCopy = length }
        let limit = Self.lengthLimit * options.logByteCount / options.pageByteCount
        let isLong = length > max(limit, Self.growthLimit * lengthToCopy)
        guard !copier.isAtWork else { return !isLong }
        let copy = try copier.takeOutcome()
        if let copy, !copy.isWhole {
            copyCount = 0
            copiedLogLength = length
            return true
        }
        let rest = length - (copy?.length ?? 0)
        guard !isLong, copyCount < Self.copyLimit, copyCount == 0 || rest > Self.restLength else { return false }
        copyCount += 1
        endReadHold()
        copier.begin(needsRelaxing ? .full : options.sync)
        return true
    }

    /// The number of pages that a batch may wait for.
    private static let restLength = 64
    private static let copyLimit = 4
    /// The largest length of the log while it is copied, as a multiple of ``SQLiteJournal/Options/logByteCount``.
    private static let lengthLimit = 16
    /// The largest growth during a copy, as a multiple, if a reader had already let the log grow beyond that.
    private static let growthLimit = 2

    // A reader such as a backup prevents the log from restarting. It is then copied again after it has grown further.
    var isLogLong: Bool {
        let length = connection.logLength
        let copied = length < copiedLogLength ? 0 : copiedLogLength
        return length > copied + options.logByteCount / options.pageByteCount
    }

    /// Extends the log's file by the bytes that it will need next.
    private func reserveLog() {
        guard isLogTight else { return }
        reservedLogByteCount = logByteCount + options.logReserveByteCount
        connection.lengthenLog(to: reservedLogByteCount)
    }

    var isLogTight: Bool {
        options.sync != .off && logByteCount + options.logReserveByteCount / 4 > reservedLogByteCount
    }

    private var logByteCount: Int { connection.logLength * (options.pageByteCount + 24) }

    /// Removes chunks of snapshots that are neither the newest nor being written.
    private func dropOldChunk() throws(JournalError) -> Bool {
        let kept = head.snapshot * JournalSchema.chunkLimit
        let after = (head.snapshot + 1) * JournalSchema.chunkLimit
        let own = (draft?.id ?? -1) * JournalSchema.chunkLimit
        guard
            let old = try connection.integer(
                """
                SELECT id FROM (SELECT id FROM chunk WHERE id < \(kept) \
                UNION ALL SELECT id FROM chunk WHERE id >= \(after) \
                AND NOT (id >= \(own) AND id < \(own + JournalSchema.chunkLimit))) LIMIT 1
                """)
        else { return false }
        let what = "could not drop an old snapshot"
        try write(what) { () throws(JournalError) in
            try connection.execute("DELETE FROM chunk WHERE id = \(old)", what)
            try connection.execute("DELETE FROM snapshot WHERE id < \(head.snapshot)", what)
        }
        return true
    }

    /// Removes blocks that no snapshot uses any more, once the chunks of old snapshots are gone.
    private func dropOldBlocks() throws(JournalError) -> Bool {
        // A snapshot that is being written may take up any block.
        guard hasOldBlocks, draft == nil else { return false }
        hasOldBlocks = false
        guard try JournalSchema.hasBlocks(connection) else { return false }
        let rows = try connection.prepare(
            """
            SELECT id FROM block WHERE id NOT IN (SELECT body FROM chunk WHERE typeof(body) = 'integer') \
            LIMIT \(Self.blockPortion)
            """)
        var old: [Int64] = []
        while try rows.step() { old.append(rows.integer(0)) }
        rows.reset()
        guard !old.isEmpty else { return false }
        let what = "could not drop an old snapshot"
        try write(what) { () throws(JournalError) in
            for id in old { try connection.execute("DELETE FROM block WHERE id = \(id)", what) }
        }
        hasOldBlocks = true
        return true
    }

    private static let blockPortion = 16

    private func pruneRange() throws(JournalError) -> Bool {
        let target = min(head.pruning, snapshot?.sequence ?? 0)
        guard target > head.prunedThrough || head.pruning > 0,
            let first = try connection.integer("SELECT min(sequence) FROM record"), first <= target
        else { return false }
        let last = min(target, first + Int64(Self.recordPortion) - 1)
        let what = "could not prune"
        var next = head
        next.prunedThrough = max(next.prunedThrough, last)
        try write(what) { () throws(JournalError) in
            try connection.execute("DELETE FROM record WHERE sequence <= \(last)", what)
            try next.write(with: statements.writeHead, what)
        }
        head = next
        options.observer?(.pruned)
        return true
    }

    private func pruneChains() throws(JournalError) -> Bool {
        let covered = snapshot?.sequence ?? 0
        guard try connection.integer("SELECT 1 FROM doomed WHERE sequence <= \(covered) LIMIT 1") != nil else {
            return false
        }
        let what = "could not prune"
        var next = head
        try write(what) { () throws(JournalError) in
            // Chains are followed together, oldest first, because records of the same time are on the same pages.
            let heads = try connection.prepare(
                "SELECT sequence FROM doomed WHERE sequence <= \(covered) ORDER BY sequence LIMIT 200")
            var chains: [Int64] = []
            while try heads.step() { chains.append(heads.integer(0)) }
            heads.reset()
            let previous = try connection.prepare("SELECT previous FROM record WHERE sequence = ?1")
            let delete = try connection.prepare("DELETE FROM record WHERE sequence = ?1")
            let undoom = try connection.prepare("DELETE FROM doomed WHERE sequence = ?1")
            let redoom = try connection.prepare("INSERT OR IGNORE INTO doomed VALUES(?1)")
            var left = Self.recordPortion
            for head in chains {
                var sequence = head
                while sequence > 0, left > 0 {
                    previous.bind(sequence, 1)
                    let before = try previous.step(what) ? previous.integer(0) : 0
                    previous.reset()
                    delete.bind(sequence, 1)
                    try delete.run(what)
                    next.prunedThrough = max(next.prunedThrough, sequence)
                    left -= 1
                    sequence = min(before, sequence - 1)
                }
                undoom.bind(head, 1)
                try undoom.run(what)
                if sequence > 0 {
                    redoom.bind(sequence, 1)
                    try redoom.run(what)
                    break
                }
            }
            try next.write(with: statements.writeHead, what)
        }
        head = next
        options.observer?(.pruned)
        return true
    }
}
