internal import FanOut

/// The scan over the boards that watches follow, after a change of a relevant widget of everybody's. There may be a hundred
/// thousand such boards, and a batch examines a few.
///
/// Until it has reached a board, the board's watches may lack changes since ``since``.
struct BoardScan: Sendable {
    private var scan = RepeatedScan()
    /// The oldest commit that some board may lack; `nil` = none.
    private(set) var since: Int64?
    /// The same for boards that were already examined in the current round.
    private var sinceOfNextRound: Int64?
    /// The newest commit that made boards wait. Boards examined after it are up to date.
    private(set) var newest: Int64 = 0

    var isUnderWay: Bool { since != nil }

    /// Makes all boards wait to be examined because of a commit.
    mutating func demand(since commit: Int64) {
        newest = max(newest, commit)
        if since == nil {
            (scan, since) = (RepeatedScan(), commit)
        } else if scan.position > 0 {
            scan.demand()
            sinceOfNextRound = sinceOfNextRound ?? commit
        }
    }

    /// The number of the next board's name; `nil` = no board is waiting.
    ///
    /// - Parameter end: An upper bound of all numbers.
    mutating func next(end: Int) -> Int32? {
        let wasToRepeat = scan.mustRepeat
        guard let position = scan.next(end: end) else {
            since = nil
            return nil
        }
        if wasToRepeat, !scan.mustRepeat { (since, sinceOfNextRound) = (sinceOfNextRound, nil) }
        return Int32(position)
    }
}
