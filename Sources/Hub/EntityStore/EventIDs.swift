internal import HeapModule
internal import TelltaleModel

/// The event ids that have taken effect. They make a retry harmless (promise P6).
///
/// An id is forgotten when it is older than 7 days, or after a million newer ones of its source, by default.
struct EventIDs: Sendable {
    /// The event that an id stands for.
    struct Entry: Hashable, Sendable {
        /// A hash of the event's key, type and tail: the same id with another event is a mistake of the sender.
        var digest: UInt64
        /// The key's rev after the event, with which a duplicate is answered.
        var rev: Int64
    }

    /// The ids of one source, as stored in a snapshot.
    struct Past: Sendable {
        let source: String
        let log: IDLog
    }

    private struct Source: Sendable {
        let name: String
        private(set) var log = IDLog()
        /// The position of each id in the log, modulo 2^32.
        private(set) var index = HashIndex()
        /// The source is among ``EventIDs/oldest``.
        var isWatched = false
        /// It received an id since the last ``EventIDs/forget(at:ageLimit:countLimit:)``.
        var hasGrown = false

        init(name: String) {
            self.name = name
        }

        /// If the id is known already, it stands for the newer event from now on.
        mutating func append(_ item: IDLog.Item, hash: UInt64) {
            let number = UInt32(truncatingIfNeeded: log.append(item))
            index.insert(number, hash: hash) { [log] in log[$0].eid == item.eid }
        }

        /// - Returns: Whether there was one.
        mutating func forgetOldest() -> Bool {
            guard let (number, item) = log.popFirst() else { return false }
            index.remove(UInt32(truncatingIfNeeded: number), hash: HashIndex.hash(of: item.eid))
            return true
        }

        /// - Returns: Whether there was one.
        mutating func removeNewest() -> Bool {
            guard let (number, item) = log.popLast() else { return false }
            index.remove(UInt32(truncatingIfNeeded: number), hash: HashIndex.hash(of: item.eid))
            return true
        }

        mutating func reserveCapacity(_ capacity: Int) { index.reserveCapacity(capacity) }

        /// Sets the number of the first id, if there is none yet.
        mutating func begin(at number: Int) { if log.isEmpty { log = IDLog(firstNumber: number) } }

        /// - Returns: How many ids were added; `nil` if the chunk does not follow those before it.
        mutating func append(_ chunk: StoredIDChunk) -> Int? {
            let before = log.count
            guard log.append(chunk: chunk.items, firstNumber: chunk.firstNumber) else { return nil }
            let skipped = chunk.items.count - (log.count - before)
            for position in skipped..<chunk.items.count {
                if position + 8 < chunk.items.count { index.prefetch(hash: chunk.hashes[position + 8]) }
                let number = UInt32(truncatingIfNeeded: chunk.firstNumber + position)
                index.insert(number, hash: chunk.hashes[position]) { [log] in
                    log[$0].eid == chunk.items[position].eid
                }
            }
            return chunk.items.count - skipped
        }
    }

    /// When the oldest id of a source came. That id may be gone by now.
    private struct Oldest: Comparable, Sendable {
        var wall: Timestamp
        var source: Int

        static func < (left: Oldest, right: Oldest) -> Bool { (left.wall, left.source) < (right.wall, right.source) }
    }

    private var sources: [Source] = []
    private var numbers: [String: Int] = [:]
    /// The source of the last id: the events of one source come in runs.
    private var latest = 0
    /// Each source that has ids, once.
    private var oldest = Heap<Oldest>()
    private var grown: [Int] = []
    private var free: [Int] = []
    /// The number of ids, over all sources.
    private(set) var count = 0

    private func number(of name: String) -> Int? {
        if latest < sources.count, sources[latest].name == name { return latest }
        return numbers[name]
    }

    /// The number of a source, which is created if there is none.
    private mutating func intern(_ name: String) -> Int {
        if let number = number(of: name) { return number }
        let number = free.popLast() ?? sources.count
        if number == sources.count { sources.append(Source(name: name)) } else { sources[number] = Source(name: name) }
        numbers[name] = number
        return number
    }

    /// Prefetches the lookup of the id with this hash, assuming the same source as the last one.
    func prefetch(hash: UInt64) {
        // Member by member, as below.
        if latest < sources.count { sources[latest].index.prefetch(hash: hash) }
    }

    /// - Parameter hash: The hash of the id, by ``HashIndex/hash(of:)``.
    func entry(source: String, eid: String, hash: UInt64) -> Entry? {
        guard let source = number(of: source) else { return nil }
        // Member by member: reading a whole source would copy it.
        let number = sources[source].index.number(hash: hash) { sources[source].log[$0].eid == eid }
        return number.map { sources[source].log[$0].entry }
    }

    /// Adds an id. None is forgotten before ``forget(at:ageLimit:countLimit:)``: if the batch is undone, a forgotten id would let
    /// its event act again.
    ///
    /// - Parameter hash: The hash of the id, by ``HashIndex/hash(of:)``.
    /// - Returns: The number of the source, valid as long as it has ids.
    @discardableResult
    mutating func insert(_ entry: Entry, source: String, eid: String, hash: UInt64, wall: Timestamp) -> Int {
        let number = intern(source)
        latest = number
        sources[number].append(.init(eid: eid, wall: wall, entry: entry), hash: hash)
        count += 1
        note(number, wall: wall)
        return number
    }

    /// Records that a source has grown.
    ///
    /// - Parameter wall: When its oldest id came, if it had none before.
    private mutating func note(_ number: Int, wall: Timestamp) {
        if !sources[number].hasGrown {
            sources[number].hasGrown = true
            grown.append(number)
        }
        if !sources[number].isWatched {
            sources[number].isWatched = true
            oldest.insert(Oldest(wall: wall, source: number))
        }
    }

    /// Takes the next ids of a snapshot.
    mutating func restore(_ ids: [StoredEventID]) {
        for (position, id) in ids.enumerated() {
            if position + 8 < ids.count { prefetch(hash: ids[position + 8].hash) }
            insert(id.item.entry, source: id.source, eid: id.item.eid, hash: id.hash, wall: id.item.wall)
        }
    }

    /// Takes the next chunk of a snapshot's source.
    ///
    /// - Returns: Whether it follows the chunks before it.
    mutating func restore(_ chunk: StoredIDChunk) -> Bool {
        let number = intern(chunk.source)
        latest = number
        guard let added = sources[number].append(chunk) else { return false }
        count += added
        note(number, wall: sources[number].log.first?.wall ?? .distantFuture)
        return true
    }

    /// Forgets ids older than `ageLimit` at `wall`, and for each source those beyond its newest `countLimit`.
    ///
    /// The remaining ids depend on the ids and `wall` only, and not on how often this is called.
    mutating func forget(at wall: Timestamp, ageLimit: Milliseconds, countLimit: Int) {
        for number in grown {
            sources[number].hasGrown = false
            while sources[number].log.count > countLimit { forgetOldest(of: number) }
        }
        grown.removeAll(keepingCapacity: true)
        while let next = oldest.min, wall - next.wall > ageLimit {
            oldest.removeMin()
            let number = next.source
            while let item = sources[number].log.first, wall - item.wall > ageLimit { forgetOldest(of: number) }
            if let item = sources[number].log.first {
                oldest.insert(Oldest(wall: item.wall, source: number))
            } else {
                // Otherwise a source for every device that ever connected would fill the memory.
                numbers[sources[number].name] = nil
                sources[number] = Source(name: "")
                free.append(number)
            }
        }
    }

    /// Undoes the newest insertion into a source, because its batch was not written.
    mutating func removeNewest(of source: Int) { if sources[source].removeNewest() { count -= 1 } }

    private mutating func forgetOldest(of source: Int) { if sources[source].forgetOldest() { count -= 1 } }

    /// Every source that has ids, in no order. Sources without ids do not exist after a recovery.
    ///
    /// Later changes do not affect the copy and cost no more because of it, since it lacks the lookup.
    var past: [Past] { sources.lazy.filter { !$0.log.isEmpty }.map { Past(source: $0.name, log: $0.log) } }

    /// The number of sources that have ids.
    var sourceCount: Int { numbers.count }

    func knows(_ source: String) -> Bool { number(of: source) != nil }

    /// Reserves room for the ids of a snapshot, and lets each source continue numbering from its oldest id.
    mutating func reserve(_ stored: [(name: String, count: Int, firstNumber: Int)]) {
        for source in stored {
            let number = intern(source.name)
            sources[number].begin(at: source.firstNumber)
            sources[number].reserveCapacity(min(max(0, source.count), EntityTable.reserveLimit))
        }
    }
}
