internal import FanOut
internal import TelltaleModel
internal import TelltaleWire

// The cost of reads: a turn runs only so many that others need not wait.
extension Hub {
    /// Approximately how many keys a request examines.
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
                2 * min(configuration.limits.keysFilledAtOnce, store.indexCount)
                    + changeCount(since: subscribe.from)
            }
        // The position of one tile may depend on everything on the board.
        case .get, .open, .list: command.boardName == nil ? 1 : Self.keysOfBoard
        case .help, .stats: 16
        case .kinds: max(16, store.kindCount)
        // The definition is encoded each time, up to the length of a line.
        case .kind: 256
        case .gallery: 64
        case _: 1
        }
    }

    /// Whether the reply to a request is rendered when it is written, and not when the request runs.
    func isRenderedLater(_ command: Command, for session: Session) -> Bool {
        switch command {
        // After an unfinished list it would show an older state than the list's own row.
        case .get, .open: session.isListing
        // These replies can be rendered later, since they are the same for every account. So they need no memory beyond the
        // limit.
        case .help, .kinds, .kind: session.outboxByteCount >= configuration.limits.requestBytesInFlight
        case _: false
        }
    }

    /// The number of keys that are filled one by one for an account's view with competing activities; `nil` for any other view.
    private func competitorCount(of subscribe: SubscribeCommand, from session: Session) -> Int? {
        guard case .surface = subscribe.view ?? session.defaultView,
            let account = subscribe.account ?? session.account
        else { return nil }
        switch subscribe.pattern {
        case .all:
            return filledCount(
                for: account, followedBy: session.showsWidgets ? .allWithWidgets : .all)
        case .kind(let name):
            return store.kindNumber(of: name).map {
                filledCount(for: account, followedBy: .kind($0))
            }
        case .key: return nil
        }
    }

    private func filledCount(for account: String, followedBy selector: PatternIndex.Selector) -> Int {
        let limits = configuration.limits
        let kindCount = if case .kind = selector { 1 } else { store.kindCount }
        return min(
            limits.activitiesPerView * kindCount, store.competitorCount(for: account, followedBy: selector))
            + min(limits.keysFilledAtOnce, store.otherCount(visibleTo: account, followedBy: selector))
    }

    private static let keysOfBoard = 64

    /// An upper bound of the keys that changed since a cursor.
    private func changeCount(since cursor: Cursor?) -> Int {
        guard let cursor, cursor.epoch == store.epoch, cursor.sequence < store.sequence else { return 0 }
        return Int(min(store.sequence - cursor.sequence, Int64(store.indexCount)))
    }
}

extension Command {
    /// The name of the board that it reads or follows; `nil` = none.
    var boardName: Substring? {
        let name: Substring
        switch self {
        case .get(let key, _, _), .open(let key, _), .list(.key(let key), _, _): name = key.kind
        case .list(.kind(let kind), _, _): name = kind[...]
        case .subscribe(let subscribe):
            switch subscribe.pattern {
            case .key(let key): name = key.kind
            case .kind(let kind): name = kind[...]
            case .all: return nil
            }
        case _: return nil
        }
        return name.utf8.first == UInt8(ascii: "@") ? name : nil
    }
}
