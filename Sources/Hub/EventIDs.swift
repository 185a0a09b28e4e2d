internal import DequeModule
internal import Model

/// The event ids that have taken effect: what makes a retry harmless (promise P6).
///
/// An id is forgotten when it is older than 7 days, or when a million newer ones of its source have come.
struct EventIDs: Sendable {
    /// What an id stands for.
    struct Entry: Hashable, Sendable {
        /// The event's key, type and tail, hashed: the same id with another event is a mistake of its sender.
        var digest: UInt64
        /// The key's rev after the event: what a duplicate is answered with.
        var rev: Int64
    }

    struct Source: Sendable {
        var entries: [String: Entry] = [:]
        var order: Deque<(eid: String, wall: Timestamp)> = []
    }

    private var sources: [String: Source] = [:]

    func entry(source: String, eid: String) -> Entry? { sources[source]?.entries[eid] }

    mutating func insert(
        _ entry: Entry, source: String, eid: String, wall: Timestamp, ageLimit: Milliseconds, countLimit: Int
    ) {
        sources[source, default: Source()].insert(entry, eid: eid, wall: wall, ageLimit, countLimit)
    }

    /// Takes back the newest insertions of a batch that was not written.
    mutating func removeNewest(source: String, eid: String) {
        guard sources[source]?.order.last?.eid == eid else { return }
        sources[source]?.order.removeLast()
        sources[source]?.entries[eid] = nil
    }

    /// Everything, in an order that depends on nothing but the content.
    var all: [(source: String, eid: String, entry: Entry, wall: Timestamp)] {
        sources.keys.sorted().flatMap { name -> [(String, String, Entry, Timestamp)] in
            guard let source = sources[name] else { return [] }
            return source.order.compactMap { item in
                source.entries[item.eid].map { (name, item.eid, $0, item.wall) }
            }
        }
    }

    /// How many ids there are of each source, in the order of their names.
    var counts: [(name: String, count: Int)] {
        sources.keys.sorted().map { ($0, sources[$0]?.entries.count ?? 0) }
    }

    /// Makes room for what a snapshot holds.
    mutating func reserve(_ count: Int, source: String) {
        let count = min(max(0, count), EntityTable.reserveLimit)
        sources[source, default: Source()].entries.reserveCapacity(count)
        sources[source]?.order.reserveCapacity(count)
    }

    var count: Int { sources.values.reduce(0) { $0 + $1.entries.count } }
}

extension EventIDs.Source {
    fileprivate mutating func insert(
        _ entry: EventIDs.Entry, eid: String, wall: Timestamp, _ ageLimit: Milliseconds, _ countLimit: Int
    ) {
        entries[eid] = entry
        order.append((eid, wall))
        while let oldest = order.first, order.count > countLimit || wall - oldest.wall > ageLimit {
            order.removeFirst()
            entries[oldest.eid] = nil
        }
    }
}
