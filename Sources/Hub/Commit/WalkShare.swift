/// How much a batch does of walks over many keys: whatever one client asks for, the others wait no longer for the next batch.
struct WalkShare: Sendable {
    /// Keys on which something may still be done, such as a record each.
    private(set) var keys: Int
    /// Keys that may still be looked at, most of which are passed by.
    private(set) var looks: Int

    /// - Parameter looksPerKey: How many are passed by at the cost of one on which something is done.
    init(keys: Int, looksPerKey: Int = 32) {
        self.keys = keys
        let (looks, isTooMany) = keys.multipliedReportingOverflow(by: looksPerKey)
        self.looks = isTooMany ? .max : looks
    }

    var isUsedUp: Bool { keys <= 0 || looks <= 0 }

    mutating func takeLook() { looks -= 1 }
    mutating func takeKey() { keys -= 1 }
}

/// A walk over a table that goes on with each batch, and may become necessary again while it is under way: then it begins again
/// behind its end, and not at once. So the last keys of the table have their turn, however often that happens.
struct RepeatedWalk: Sendable {
    private(set) var position = 0
    private(set) var mustRepeat = false

    /// It is to meet all of the table from now on.
    mutating func demand() { if position > 0 { mustRepeat = true } }

    /// The position that comes next; `nil` = the walk is over.
    ///
    /// - Parameter end: Of the table, as it is now.
    mutating func next(end: Int) -> Int? {
        if position >= end, mustRepeat { (position, mustRepeat) = (0, false) }
        guard position < end else { return nil }
        position += 1
        return position - 1
    }

    func isOver(end: Int) -> Bool { position >= end && !mustRepeat }
}
