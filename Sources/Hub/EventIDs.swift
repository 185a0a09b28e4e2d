internal import DequeModule
internal import HeapModule
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
        /// It stands among the ``EventIDs/oldest``.
        var isWatched = false
        /// It got an id since the last ``EventIDs/forget(at:ageLimit:countLimit:)``.
        var hasGrown = false
    }

    /// When the oldest id of a source came; it may be gone by now.
    private struct Oldest: Comparable, Sendable {
        var wall: Timestamp
        var source: Int

        static func < (left: Oldest, right: Oldest) -> Bool { (left.wall, left.source) < (right.wall, right.source) }
    }

    private var sources: [Source] = []
    private var numbers: [String: Int] = [:]
    /// Whose id was the last one: the events of one source come in runs.
    private var latest = 0
    /// Of each source that has ids, once.
    private var oldest = Heap<Oldest>()
    private var grown: [Int] = []
    private var free: [Int] = []

    private func number(of name: String) -> Int? {
        if latest < sources.count, sources[latest].name == name { return latest }
        return numbers[name]
    }

    /// The number of a source, which gets one when it has none.
    private mutating func intern(_ name: String) -> Int {
        if let number = number(of: name) { return number }
        let number = free.popLast() ?? sources.count
        if number == sources.count { sources.append(Source(name: name)) } else { sources[number] = Source(name: name) }
        numbers[name] = number
        return number
    }

    func entry(source: String, eid: String) -> Entry? { number(of: source).flatMap { sources[$0].entries[eid] } }

    /// Adds an id. None is forgotten for it before ``forget(at:ageLimit:countLimit:)``: a batch that cannot be written is
    /// taken back, and what had been forgotten would act again.
    mutating func insert(_ entry: Entry, source: String, eid: String, wall: Timestamp) {
        let number = intern(source)
        latest = number
        sources[number].entries[eid] = entry
        sources[number].order.append((eid, wall))
        if !sources[number].hasGrown {
            sources[number].hasGrown = true
            grown.append(number)
        }
        if !sources[number].isWatched {
            sources[number].isWatched = true
            oldest.insert(Oldest(wall: wall, source: number))
        }
    }

    /// Forgets what is older than `ageLimit` at `wall`, and of each source what is beyond its newest `countLimit`.
    ///
    /// What is left depends on the ids and on `wall` alone, and not on how often this was called.
    mutating func forget(at wall: Timestamp, ageLimit: Milliseconds, countLimit: Int) {
        for number in grown {
            sources[number].hasGrown = false
            while sources[number].order.count > countLimit { sources[number].forgetOldest() }
        }
        grown.removeAll(keepingCapacity: true)
        while let next = oldest.min, wall - next.wall > ageLimit {
            oldest.removeMin()
            let number = next.source
            while let item = sources[number].order.first, wall - item.wall > ageLimit { sources[number].forgetOldest() }
            if let item = sources[number].order.first {
                oldest.insert(Oldest(wall: item.wall, source: number))
            } else {
                // A source for each device that ever came would fill the memory.
                numbers[sources[number].name] = nil
                sources[number] = Source(name: "")
                free.append(number)
            }
        }
    }

    /// Takes back the newest insertions of a batch that was not written.
    mutating func removeNewest(source: String, eid: String) {
        guard let number = number(of: source), sources[number].order.last?.eid == eid else { return }
        sources[number].order.removeLast()
        sources[number].entries[eid] = nil
    }

    /// Those that have ids: the others are not there after a recovery.
    private var sourcesByName: [Source] {
        sources.filter { !$0.order.isEmpty }.sorted { $0.name.precedesInBytes($1.name) }
    }

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
    fileprivate mutating func forgetOldest() {
        guard let oldest = order.popFirst() else { return }
        entries[oldest.eid] = nil
    }
}
