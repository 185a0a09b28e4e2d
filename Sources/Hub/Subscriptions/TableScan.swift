internal import FanOut

/// A scan over the table of keys that sends a subscription to many keys its snapshot, its resume, or its rows again.
///
/// What is pending is a position in the table, however many keys follow it. Only changes of keys that the scan has not reached,
/// and that a row alone would not show, are stored in addition.
struct TableScan {
    enum Purpose: Equatable {
        case snapshot
        /// The keys that changed after the sequence of a cursor.
        case resume(after: Int64)
        /// Rows that look different since the situation of the device changed; with `controls`, controls and rows with controls
        /// are written in any case.
        case projection(controls: Bool)
    }

    let purpose: Purpose
    /// The next index to examine.
    var position: Int32 = 0
    /// Keys created after the scan began are at or after this, or before the position, and wait in the queue.
    let end: Int32
    /// Changed keys ahead of the position, with the announcements before their rows.
    var ahead = DirtyQueue()

    init(_ purpose: Purpose, end: Int) {
        self.purpose = purpose
        self.end = Int32(clamping: end)
    }

    var isOver: Bool { position >= end }
    /// How many keys it has not examined yet.
    var remainingCount: Int { Int(end - position) }

    /// Whether `LIVE` follows it.
    var endsInLive: Bool { if case .projection = purpose { false } else { true } }

    /// Whether it will reach `entity` and send its newest state.
    func covers(_ entity: EntityIndex) -> Bool {
        endsInLive && entity.rawValue >= position && entity.rawValue < end
    }
}
