public import TelltaleModel

/// The counters of `STATS`.
public struct Statistics: Sendable {
    public var rows = 0
    /// Delayed rows, by cause: folded for a slow reader, held back by a rate, sent again by a resume.
    public var foldedSlow = 0
    public var foldedRate = 0
    public var resumedRows = 0
    /// Rows of widgets that were charged to a device's budget, and those that had to wait for it.
    public var budgetPaid = 0
    public var budgetHeld = 0
    public var commits = 0
    public var deadlinesFired = 0
    public var refusals = 0
    public var verdicts = [Int](repeating: 0, count: Verdict.allCases.count)
    public var storageFullBatches = 0
    /// Deadlines of activities that widgets had predicted correctly, and deadlines that an event overtook, counted once for each
    /// widget.
    public var foreseenKept = 0
    public var foreseenMissed = 0

    /// The memory of connections and subscriptions at one moment.
    struct Footprint: Sendable {
        /// How many connections and subscriptions can be counted without a noticeable delay.
        static let quickCount = 1_024

        let time: MonotonicTime
        var dirtyKeyCount = 0
        var sessionByteCount = 0
        /// Activities left out of views of accounts, counted once for each view.
        var leftOutCount = 0
    }

    var footprint: Footprint?

    /// Commits that were synced, and the total time that took.
    public private(set) var syncCount = 0
    public private(set) var syncMicroseconds = 0
    public private(set) var longestSyncMicroseconds = 0

    /// Upper bounds of the buckets of ``syncBuckets``, in microseconds.
    static let syncBounds = [
        100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    ]
    /// Commits by sync time: those of a bucket took longer than the previous bound.
    private var syncCounts = [Int](repeating: 0, count: syncBounds.count)

    /// Each bound, and how many syncs took at most that long.
    var syncBuckets: [(microseconds: Int, count: Int)] {
        var count = 0
        return zip(Self.syncBounds, syncCounts).map { bound, own in
            count += own
            return (bound, count)
        }
    }

    /// When the certificate of the encrypted listeners expires; `nil` = there is none.
    public var certificateExpiry: Timestamp?

    /// What became of the folder of kinds; `nil` = it is not followed.
    public var kindFolder: KindFolderReport?

    public mutating func countSync(microseconds: Int) {
        if let bucket = Self.syncBounds.firstIndex(where: { microseconds <= $0 }) { syncCounts[bucket] += 1 }
        syncCount += 1
        syncMicroseconds += microseconds
        longestSyncMicroseconds = max(longestSyncMicroseconds, microseconds)
    }

    mutating func count(_ verdict: Verdict) {
        if let index = Verdict.allCases.firstIndex(of: verdict) { verdicts[index] += 1 }
    }

    mutating func count(_ derived: DerivedChanges) {
        foreseenKept += derived.keptCount
        foreseenMissed += derived.missedCount
    }

    mutating func count(_ writing: borrowing RowWriting) {
        rows += writing.rowCount
        foldedSlow += writing.slowCount
        foldedRate += writing.rateCount
        resumedRows += writing.resumeCount
        budgetPaid += writing.paidCount
        budgetHeld += writing.heldCount
    }
}

/// What became of a folder of kinds that is followed, as `STATS` reports it. A class, because few servers have one.
public final class KindFolderReport: Sendable {
    /// How often it was read since the start.
    public let readings: Int
    /// Whether what it holds is in force; `false` = the kinds of before are.
    public let isInForce: Bool
    /// For people: what changed, or the faults.
    public let text: String

    public init(readings: Int, isInForce: Bool, text: String) {
        (self.readings, self.isInForce, self.text) = (readings, isInForce, text)
    }

    func write(to body: inout JSONWriter) {
        body.name("kindFolder")
        body.beginObject()
        body.member("readings", readings)
        body.member(named: "inForce", .bool(isInForce))
        body.member(named: "text", .string(text))
        body.endObject()
    }
}
