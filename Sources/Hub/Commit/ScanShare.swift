/// How much of a scan over many keys one batch performs. It bounds how long one client's request delays the others' next batch.
struct ScanShare: Sendable {
    /// How many more keys may be processed, for example with a record each.
    private(set) var keys: Int
    /// How many more keys may be examined. Most are skipped.
    private(set) var left: Int

    /// - Parameter checksPerKey: How many skipped keys cost as much as one that is processed.
    init(keys: Int, checksPerKey: Int = 32) {
        self.keys = keys
        let (left, isTooMany) = keys.multipliedReportingOverflow(by: checksPerKey)
        self.left = isTooMany ? .max : left
    }

    var isUsedUp: Bool { keys <= 0 || left <= 0 }

    mutating func spend() { left -= 1 }
    mutating func takeKey() { keys -= 1 }
}

/// A scan over a table that continues with each batch. If it becomes necessary again while in progress, it first reaches the end
/// and then starts over. So the last keys of the table are reached, however often that happens.
struct RepeatedScan: Sendable {
    private(set) var position = 0
    private(set) var mustRepeat = false

    /// Requires a full scan from now on.
    mutating func demand() { if position > 0 { mustRepeat = true } }

    /// The next position; `nil` = the scan is complete.
    ///
    /// - Parameter end: The current size of the table.
    mutating func next(end: Int) -> Int? {
        if position >= end, mustRepeat { (position, mustRepeat) = (0, false) }
        guard position < end else { return nil }
        position += 1
        return position - 1
    }

    func isOver(end: Int) -> Bool { position >= end && !mustRepeat }
}
