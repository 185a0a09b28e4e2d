/// The waiting announcements of one sort in one subscription, oldest first.
///
/// ``DirtyQueue`` keeps at most ``DirtyQueue/announcementLimit`` of them, and one more while it drops the oldest, so a
/// linear scan is short.
struct AnnouncementLane: Sendable {
    private var waiting: [(raw: Int32, rev: Int64)] = []

    var count: Int { waiting.count }
    var oldest: (raw: Int32, rev: Int64)? { waiting.first }

    mutating func insert(_ raw: Int32, rev: Int64) {
        // An announcement is usually the newest. If its row was delayed, it returns after newer announcements of other keys.
        let place = waiting.lastIndex { $0.rev <= rev }.map { $0 + 1 } ?? 0
        waiting.insert((raw, rev), at: place)
    }

    mutating func trim() { if waiting.isEmpty { waiting = [] } }

    mutating func remove(_ raw: Int32, rev: Int64) {
        guard let position = waiting.firstIndex(where: { $0.raw == raw && $0.rev == rev }) else { return }
        waiting.remove(at: position)
    }
}
