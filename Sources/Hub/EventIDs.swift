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
        let name: String
        var entries: [String: Entry] = [:]
        var order: Deque<(eid: String, wall: Timestamp)> = []
    }

    private var sources: [Source] = []
    private var numbers: [String: Int] = [:]
    /// Whose id was the last one: the events of one source come in runs.
    private var latest = 0

    private func number(of name: String) -> Int? {
        if latest < sources.count, sources[latest].name == name { return latest }
        return numbers[name]
    }

    /// The number of a source, which gets one when it has none.
    private mutating func intern(_ name: String) -> Int {
        if let number = number(of: name) { return number }
        let number = sources.count
        sources.append(Source(name: name))
        numbers[name] = number
        return number
    }

    func entry(source: String, eid: String) -> Entry? { number(of: source).flatMap { sources[$0].entries[eid] } }

    mutating func insert(
        _ entry: Entry, source: String, eid: String, wall: Timestamp, ageLimit: Milliseconds, countLimit: Int
    ) {
        latest = intern(source)
        sources[latest].insert(entry, eid: eid, wall: wall, ageLimit, countLimit)
    }

    /// Takes back the newest insertions of a batch that was not written.
    mutating func removeNewest(source: String, eid: String) {
        guard let number = number(of: source), sources[number].order.last?.eid == eid else { return }
        sources[number].order.removeLast()
        sources[number].entries[eid] = nil
    }

    private var sourcesByName: [Source] { sources.sorted { $0.name.precedesInBytes($1.name) } }

    /// Everything, in an order that depends on nothing but the content.
    var all: [(source: String, eid: String, entry: Entry, wall: Timestamp)] {
        sourcesByName.flatMap { source in
            source.order.compactMap { item in
                source.entries[item.eid].map { (source.name, item.eid, $0, item.wall) }
            }
        }
    }

    /// How many ids there are of each source, in the order of their names.
    var counts: [(name: String, count: Int)] { sourcesByName.map { ($0.name, $0.entries.count) } }

    /// Makes room for what a snapshot holds.
    mutating func reserve(_ count: Int, source: String) {
        let count = min(max(0, count), EntityTable.reserveLimit)
        let number = intern(source)
        sources[number].entries.reserveCapacity(count)
        sources[number].order.reserveCapacity(count)
    }

    var count: Int { sources.reduce(0) { $0 + $1.entries.count } }
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
