internal import FanOut
internal import TelltaleModel

/// A walk over the table of keys that gives a subscription to many keys its snapshot, its resume, or its rows anew.
///
/// The debt is a position in the table, however many keys follow it. Only changes of keys that the walk has yet to
/// reach, and that a row alone would not tell, are kept beside it.
struct TableScan {
    enum Purpose: Equatable {
        case snapshot
        /// The keys that changed after the sequence of a cursor.
        case resume(after: Int64)
        /// Rows that look different since the situation of the device changed; with `controls`, controls and rows with
        /// controls are written in any case.
        case projection(controls: Bool)
    }

    let purpose: Purpose
    /// The index that is looked at next.
    var position: Int32 = 0
    /// Keys that came after the walk began lie here or behind the position, and wait in the queue.
    let end: Int32
    /// Keys that changed and lie ahead, with what goes out before their rows.
    var ahead = DirtyQueue()

    init(_ purpose: Purpose, end: Int) {
        self.purpose = purpose
        self.end = Int32(clamping: end)
    }

    var isOver: Bool { position >= end }
    /// How many keys it has yet to look at.
    var remainingCount: Int { Int(end - position) }

    /// Whether `LIVE` follows it.
    var endsInLive: Bool { if case .projection = purpose { false } else { true } }

    /// Whether it will come to `entity`, and tell its newest state.
    func covers(_ entity: EntityIndex) -> Bool {
        endsInLive && entity.rawValue >= position && entity.rawValue < end
    }
}
