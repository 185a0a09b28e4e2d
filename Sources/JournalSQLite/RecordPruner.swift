internal import Journal

/// Removes the records of an open journal that are no longer needed.
///
/// The file has what to remove: records up to a sequence in the head, and histories in the table `doomed`.
struct RecordPruner {
    private let file: JournalFile
    private let connection: SQLiteConnection
    /// Whether there may be something to remove.
    private var hasWork = true

    /// The number of records that one ``tidy(covered:)`` removes, which takes some milliseconds.
    private static let portion = 1_000

    init(_ file: JournalFile, _ connection: SQLiteConnection) {
        self.file = file
        self.connection = connection
    }

    /// Notes what is no longer needed.
    mutating func note(_ pruning: Pruning) throws(JournalError) {
        guard pruning.through > file.head.pruning || !pruning.chains.isEmpty else { return }
        hasWork = true
        try file.change("could not note what to prune") { transaction throws(JournalError) in
            let statement = try connection.prepare("INSERT OR IGNORE INTO doomed VALUES(?1)")
            for sequence in pruning.chains where sequence > 0 {
                statement.bind(sequence, 1)
                try transaction.run(statement)
            }
            transaction.head.pruning = max(transaction.head.pruning, pruning.through)
        }
    }

    /// A snapshot contains more records, which may now be removed.
    mutating func snapshotFinished() { hasWork = true }

    /// Removes a part of what was noted.
    ///
    /// - Parameter covered: The newest record that a snapshot contains. Later ones are kept.
    /// - Returns: Whether there may be more of it.
    mutating func tidy(covered: Int64) throws(JournalError) -> Bool {
        guard hasWork else { return false }
        if try pruneRange(covered: covered) { return true }
        if try pruneChains(covered: covered) { return true }
        hasWork = false
        return false
    }

    private func pruneRange(covered: Int64) throws(JournalError) -> Bool {
        let head = file.head
        let target = min(head.pruning, covered)
        guard target > head.prunedThrough || head.pruning > 0,
            let first = try connection.integer("SELECT min(sequence) FROM record"), first <= target
        else { return false }
        let last = min(target, first + Int64(Self.portion) - 1)
        try file.change("could not prune") { transaction throws(JournalError) in
            try connection.execute("DELETE FROM record WHERE sequence <= \(last)", transaction.what)
            transaction.head.prunedThrough = max(head.prunedThrough, last)
        }
        file.report(.pruned)
        return true
    }

    private func pruneChains(covered: Int64) throws(JournalError) -> Bool {
        guard try connection.integer("SELECT 1 FROM doomed WHERE sequence <= \(covered) LIMIT 1") != nil else {
            return false
        }
        try file.change("could not prune") { transaction throws(JournalError) in
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
            var left = Self.portion
            for head in chains {
                var sequence = head
                while sequence > 0, left > 0 {
                    previous.bind(sequence, 1)
                    let before = try previous.step(transaction.what) ? previous.integer(0) : 0
                    previous.reset()
                    delete.bind(sequence, 1)
                    try transaction.run(delete)
                    transaction.head.prunedThrough = max(transaction.head.prunedThrough, sequence)
                    left -= 1
                    sequence = min(before, sequence - 1)
                }
                undoom.bind(head, 1)
                try transaction.run(undoom)
                if sequence > 0 {
                    redoom.bind(sequence, 1)
                    try transaction.run(redoom)
                    break
                }
            }
        }
        file.report(.pruned)
        return true
    }
}
