internal import FanOut
internal import TelltaleModel
internal import TelltaleWire

// The cost of requests that change nothing: a turn carries out so many of them that others need not wait.
extension Hub {
    /// About how many keys a request makes the hub look at.
    func keyCount(of command: Command, from session: Session) -> Int {
        switch command {
        case .subscribe(let subscribe):  // Follows them, and gives each up again.
            if command.boardName != nil {
                4 * Self.keysOfBoard + changeCount(since: subscribe.from)
            } else if case .key = subscribe.pattern {
                2
            } else if let count = competitorCount(of: subscribe, from: session) {
                2 * count + changeCount(since: subscribe.from)
            } else {
                2 * min(configuration.limits.keysFilledAtOnce, store.entities.indexCount)
                    + changeCount(since: subscribe.from)
            }
        // The place of one tile may follow from all that is on the board.
        case .get, .open, .list: command.boardName == nil ? 1 : Self.keysOfBoard
        case .help, .stats: 16
        case .kinds: max(16, store.kinds.current.count)
        // The definition is written out anew: up to a line's length.
        case .kind: 256
        case .gallery: 64
        case _: 1
        }
    }

    /// Whether the answer to a request is rendered when it is written, and not when its turn comes.
    func isRenderedLater(_ command: Command, for session: Session) -> Bool {
        switch command {
        // Behind a list that still goes on it would show a key as it was before the list's own, newer row.
        case .get, .open: session.isListing
        // They tell the same to every account: more of them than may wait need no memory.
        case .help, .kinds, .kind: session.outboxByteCount >= configuration.limits.requestBytesInFlight
        case _: false
        }
    }

    /// How many keys are filled in one by one for a view of an account, in which activities compete; `nil` for any other view.
    private func competitorCount(of subscribe: SubscribeCommand, from session: Session) -> Int? {
        guard case .surface = subscribe.view ?? session.defaultView,
            let account = subscribe.account ?? session.account
        else { return nil }
        switch subscribe.pattern {
        case .all:
            return filledCount(
                for: account, followedBy: session.showsWidgets ? .allWithWidgets : .all)
        case .kind(let name):
            return store.entities.kindNumbers.known(name).map {
                filledCount(for: account, followedBy: .kind($0))
            }
        case .key: return nil
        }
    }

    private func filledCount(for account: String, followedBy selector: PatternIndex.Selector) -> Int {
        let limits = configuration.limits
        let kindCount = if case .kind = selector { 1 } else { store.kinds.current.count }
        return min(
            limits.activitiesPerView * kindCount, store.competitorCount(for: account, followedBy: selector))
            + min(limits.keysFilledAtOnce, store.otherCount(visibleTo: account, followedBy: selector))
    }

    private static let keysOfBoard = 64

    /// How many keys have changed since a cursor, at most.
    private func changeCount(since cursor: Cursor?) -> Int {
        guard let cursor, cursor.epoch == store.epoch, cursor.sequence < store.sequence else { return 0 }
        return Int(min(store.sequence - cursor.sequence, Int64(store.entities.indexCount)))
    }
}
