internal import FanOut
internal import TelltaleModel

/// The counters of `STATS`.
public struct Statistics: Sendable {
    public var rows = 0
    /// Rows that came late, by cause: folded for a slow reader, held back by a rate, sent again by a resume.
    public var foldedSlow = 0
    public var foldedRate = 0
    public var resumedRows = 0
    public var commits = 0
    public var deadlinesFired = 0
    public var refusals = 0
    public var verdicts = [Int](repeating: 0, count: Verdict.allCases.count)
    public var storageFullBatches = 0

    /// The memory of connections and subscriptions at a moment.
    struct Footprint: Sendable {
        /// As many connections and subscriptions are counted in no time.
        static let quickCount = 1_024

        let time: MonotonicTime
        var dirtyKeyCount = 0
        var sessionByteCount = 0

        init(time: MonotonicTime) {
            self.time = time
        }
    }

    var footprint: Footprint?

    /// Commits that were synced, and how long that took.
    public private(set) var syncCount = 0
    public private(set) var syncMicroseconds = 0
    public private(set) var longestSyncMicroseconds = 0

    public mutating func countSync(microseconds: Int) {
        syncCount += 1
        syncMicroseconds += microseconds
        longestSyncMicroseconds = max(longestSyncMicroseconds, microseconds)
    }

    mutating func count(_ verdict: Verdict) {
        if let index = Verdict.allCases.firstIndex(of: verdict) { verdicts[index] += 1 }
    }

    mutating func count(_ writing: borrowing RowWriting) {
        rows += writing.rowCount
        foldedSlow += writing.slowCount
        foldedRate += writing.rateCount
        resumedRows += writing.resumeCount
    }
}
