internal import TelltaleClientProtocol
internal import TelltaleModel

/// A change that waits for its reader. The body of a row is parsed only when it is taken.
enum PendingChange: Hashable, Sendable {
    case update(Row, isSnapshot: Bool)
    case removal(RowRemoval)
    case milestone(RowMilestone)
    case alert(RowAlert)
    case changed(rev: Int64, count: Int?)
    case live
    case reset(why: String)
    case connected
    case disconnected(reason: String, retryAfter: Milliseconds)
}

/// The changes that wait for their reader: the newest state of each key, as the server keeps it for a slow reader.
///
/// A row replaces the waiting row or removal of its key, and takes its place in the order, so that no key is starved.
/// Milestones and alerts are not folded, and stay before the row that follows them.
struct ChangeQueue: Sendable {
    /// A change, and the cursor to resume from once it is taken. Without a change, only the cursor has advanced.
    struct Entry: Sendable {
        var change: PendingChange?
        var cursor: String?
    }

    /// The number of waiting changes at which a follower stops reading.
    static let capacity = 256

    private var entries: [Entry] = []
    /// Entries before this index are taken.
    private var first = 0
    /// For each key with a waiting row, the number of its entry.
    private var places: [Key: Int] = [:]
    /// The number of the first element of `entries`.
    private var base = 0

    var count: Int { entries.count - first }
    var isFull: Bool { count >= Self.capacity }

    mutating func put(_ change: PendingChange?, cursor: String?) {
        var change = change
        if let key = change?.rowKey {
            if let place = places[key], let waiting = entries[place - base].change, let newer = change {
                entries[place - base].change = waiting.folded(with: newer)
                change = nil
            }
        } else if let key = change?.noticeKey {
            places[key] = nil
        } else if case .reset = change {
            places = [:]
        }
        if change == nil, count > 0 {
            // When the last entry is taken, so is everything before the cursor.
            entries[entries.count - 1].cursor = cursor
            return
        }
        if let key = change?.rowKey { places[key] = base + entries.count }
        entries.append(Entry(change: change, cursor: cursor))
    }

    mutating func take() -> Entry? {
        guard first < entries.count else { return nil }
        let entry = entries[first]
        entries[first].change = nil
        if let key = entry.change?.rowKey, places[key] == base + first { places[key] = nil }
        first += 1
        if first == entries.count || first >= Self.capacity {
            base += first
            entries.removeFirst(first)
            first = 0
        }
        return entry
    }
}

extension PendingChange {
    /// The key of a row or a removal.
    fileprivate var rowKey: Key? {
        switch self {
        case .update(let row, _): row.key
        case .removal(let removal): removal.key
        case .milestone, .alert, .changed, .live, .reset, .connected, .disconnected: nil
        }
    }

    /// The key of a milestone or an alert, which stays before the next row.
    fileprivate var noticeKey: Key? {
        switch self {
        case .milestone(let milestone): milestone.key
        case .alert(let alert): alert.key
        case .update, .removal, .changed, .live, .reset, .connected, .disconnected: nil
        }
    }

    private var rev: Int64 {
        switch self {
        case .update(let row, _): row.rev
        case .removal(let removal): removal.rev
        case .milestone, .alert, .changed, .live, .reset, .connected, .disconnected: 0
        }
    }

    private var skipped: Int {
        switch self {
        case .update(let row, _): row.skip
        case .removal(let removal): removal.skipped
        case .milestone, .alert, .changed, .live, .reset, .connected, .disconnected: 0
        }
    }

    /// The newer change of the key, which replaces this one.
    fileprivate func folded(with newer: PendingChange) -> PendingChange {
        // A row that is sent again with the same rev is not another commit.
        let missed = skipped + (newer.rev != rev ? 1 : 0)
        switch newer {
        case .update(var row, var isSnapshot):
            if case .update(_, true) = self { isSnapshot = true }
            row.skip += missed
            row.why = row.why ?? "slow"
            return .update(row, isSnapshot: isSnapshot)
        case .removal(var removal):
            removal.skipped += missed
            return .removal(removal)
        case .milestone, .alert, .changed, .live, .reset, .connected, .disconnected: return newer
        }
    }
}
