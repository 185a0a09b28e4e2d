internal import FanOut

/// The walk over the boards that watches look at, behind a change of a widget that comes and goes for everybody: there may be a
/// hundred thousand such boards, and a batch looks at a few.
///
/// Until it has come to a board, the board's watches may lack what commits since ``since`` changed.
struct BoardWalk: Sendable {
    private var walk = RepeatedWalk()
    /// The oldest commit whose change some board may lack; `nil` = none lacks anything.
    private(set) var since: Int64?
    /// The same of boards that were looked at already, in the round under way.
    private var sinceOfNextRound: Int64?
    /// The newest commit that made boards wait: those that were looked at behind it do not.
    private(set) var newest: Int64 = 0

    var isUnderWay: Bool { since != nil }

    /// All boards wait to be looked at since a commit.
    mutating func demand(since commit: Int64) {
        newest = max(newest, commit)
        if since == nil {
            (walk, since) = (RepeatedWalk(), commit)
        } else if walk.position > 0 {
            walk.demand()
            sinceOfNextRound = sinceOfNextRound ?? commit
        }
    }

    /// The number of a board's name that comes next; `nil` = no board waits any more.
    ///
    /// - Parameter end: All numbers are below it.
    mutating func next(end: Int) -> Int32? {
        let wasToRepeat = walk.mustRepeat
        guard let position = walk.next(end: end) else {
            since = nil
            return nil
        }
        if wasToRepeat, !walk.mustRepeat { (since, sinceOfNextRound) = (sinceOfNextRound, nil) }
        return Int32(position)
    }
}
