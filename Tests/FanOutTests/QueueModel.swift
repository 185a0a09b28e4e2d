import TelltaleModel

@testable import FanOut

/// The behaviour of a ``DirtyQueue`` as a list that is searched from end to end.
struct QueueModel {
    private enum Place: Equatable {
        case waiting
        case held(until: MonotonicTime)
        case released
    }

    private struct Key {
        let entity: EntityIndex
        var entry: DirtyQueue.Entry
        var place: Place
    }

    /// Everything that waits, in the order in which it came; `nil` is the marker.
    private var items: [Key?] = []

    var keys: Set<EntityIndex> { Set(items.compactMap { $0?.entity }) }
    var oldestMissingCommit: Int64? { items.compactMap { $0?.entry.firstCommit }.min() }

    var nextRelease: MonotonicTime? {
        items.compactMap { item in
            if case .held(let time)? = item?.place { time } else { nil }
        }.min()
    }

    var isEmpty: Bool {
        items.allSatisfy { item in
            if case .held? = item?.place { true } else { false }
        }
    }

    func contains(_ entity: EntityIndex) -> Bool { keys.contains(entity) }

    mutating func mark(_ entity: EntityIndex, commit: Int64) {
        guard let position = position(of: entity) else {
            return items.append(Key(entity: entity, entry: DirtyQueue.Entry(firstCommit: commit), place: .waiting))
        }
        guard items[position]?.entry.isSnapshot == false else { return }
        if items[position]?.entry.hasOwnCommit == false {
            items[position]?.entry.hasOwnCommit = true
            return
        }
        items[position]?.entry.foldedCount += 1
        if items[position]?.entry.cause == nil { items[position]?.entry.cause = .slow }
    }

    /// Puts a key in that has more to say, where it is not waiting.
    mutating func insert(_ entity: EntityIndex, _ entry: DirtyQueue.Entry) {
        guard !contains(entity) else { return }
        items.append(Key(entity: entity, entry: entry, place: .waiting))
    }

    /// Lets something go out before a row, and drops the oldest of its sort where there are too many.
    mutating func announce(_ announcement: Announcement, before entity: EntityIndex) {
        guard let position = position(of: entity) else { return }
        items[position]?.entry.announcements.append(announcement)
        let isMilestone = announcement.isMilestone
        let all = items.flatMap { $0?.entry.announcements ?? [] }.filter { $0.isMilestone == isMilestone }
        guard all.count > DirtyQueue.announcementLimit, let rev = all.map(\.rev).min() else { return }
        for position in items.indices {
            let dropped = items[position]?.entry.announcements.firstIndex {
                $0.isMilestone == isMilestone && $0.rev == rev
            }
            guard let dropped else { continue }
            if case .milestone(_, let state, _)? = items[position]?.entry.announcements.remove(at: dropped) {
                items[position]?.entry.missed.append(state)
                if items[position]?.entry.missed.count == 65 { items[position]?.entry.missed.removeFirst() }
            }
            return
        }
    }

    mutating func markLive() { items.append(nil) }

    mutating func delay(_ entity: EntityIndex, _ entry: DirtyQueue.Entry, until time: MonotonicTime) {
        var entry = entry
        entry.cause = entry.cause ?? .rate
        items.append(Key(entity: entity, entry: entry, place: .held(until: time)))
    }

    mutating func release(at time: MonotonicTime) {
        for position in items.indices {
            if case .held(let until)? = items[position]?.place, until <= time { items[position]?.place = .released }
        }
    }

    mutating func popFirst() -> DirtyQueue.Item? {
        let first = items.indices.first { items[$0] == nil || items[$0]?.place == .waiting }
        let released = items.indices.filter { items[$0]?.place == .released }.min { rank($0) < rank($1) }
        guard let position = isMissingLonger(first, than: released) ? first : released ?? first else { return nil }
        guard let key = items.remove(at: position) else { return .live }
        return .row(key.entity, key.entry)
    }

    private func position(of entity: EntityIndex) -> Int? { items.firstIndex { $0?.entity == entity } }

    private func rank(_ position: Int) -> (Int64, Int32) {
        (items[position]?.entry.firstCommit ?? 0, items[position]?.entity.rawValue ?? 0)
    }

    private func isMissingLonger(_ waiting: Int?, than released: Int?) -> Bool {
        guard let waiting, let released, let entry = items[waiting]?.entry else { return false }
        return entry.firstCommit < rank(released).0
    }
}
