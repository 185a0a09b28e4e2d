internal import FanOut
internal import TelltaleModel
internal import TelltaleWire

// The cost of requests that change nothing: a turn carries out so many of them that others need not wait.
extension Hub {
    /// About how many keys a request makes the hub look at.
    func keyCount(of command: Command) -> Int {
        switch command {
        case .subscribe(let subscribe):  // Follows them, and gives each up again.
            if command.boardName != nil {
                4 * Self.keysOfBoard + changeCount(since: subscribe.from)
            } else if case .key = subscribe.pattern {
                2
            } else {
                2 * min(configuration.limits.keysFilledAtOnce, store.entities.indexCount)
                    + changeCount(since: subscribe.from)
            }
        // The place of one tile may follow from all that is on the board.
        case .get, .open, .list: command.boardName == nil ? 1 : Self.keysOfBoard
        case .help, .kinds, .kind, .stats: 16
        case .gallery: 64
        case _: 1
        }
    }

    private static let keysOfBoard = 64

    /// How many keys have changed since a cursor, at most.
    private func changeCount(since cursor: Cursor?) -> Int {
        guard let cursor, cursor.epoch == store.epoch, cursor.sequence < store.sequence else { return 0 }
        return Int(min(store.sequence - cursor.sequence, Int64(store.entities.indexCount)))
    }
}
