internal import Journal

/// When a snapshot is due, and what is pruned with it.
struct SnapshotPolicy: Sendable {
    private let recordsBetween: Int64
    private static let recordsBetweenAttempts: Int64 = 10_000
    /// The newest record of the newest snapshot, written or under way.
    private(set) var sequence: Int64
    private(set) var isWriting = false
    /// The newest record of the last written snapshot, and the record at which to retry after a failed one.
    private var written: Int64
    private var retry: Int64 = 0
    /// The pruning that belongs to a snapshot in progress.
    private var pruning = Pruning()

    /// - Parameter sequence: The newest record of the journal's snapshot; 0 = there is none. After a crash, the records
    ///   after it are replayed at every start until a snapshot contains them.
    init(recordsBetween: Int64, sequence: Int64) {
        self.recordsBetween = recordsBetween
        self.sequence = sequence
        written = sequence
    }

    func isDue(durable: Int64, entityCount: Int) -> Bool {
        let count = durable - sequence
        return !isWriting && durable >= retry && count > recordsBetween && count > 2 * Int64(entityCount)
    }

    /// A snapshot of the state at `durable` begins.
    ///
    /// - Returns: What is to be pruned with it.
    mutating func begin(at durable: Int64, through prunable: Int64, chains: [Int64]) -> Pruning {
        isWriting = true
        sequence = durable
        pruning = Pruning(through: max(pruning.through, prunable), chains: pruning.chains + chains)
        return pruning
    }

    mutating func finished(isWritten: Bool) {
        isWriting = false
        if isWritten {
            written = sequence
            pruning = Pruning()
        } else {
            // A disk that was full may have room again soon.
            retry = sequence + min(recordsBetween, Self.recordsBetweenAttempts)
            sequence = written
        }
    }
}
