internal import FanOut
internal import Machines
internal import Prefetch
internal import TelltaleModel

/// Everything that the hub stores about one key.
struct Entity: Sendable {
    /// `nil` when its index is free.
    fileprivate(set) var key: Key?
    var state = EntityState.none
    /// The version of its kind that it uses; an index into ``KindTable/versions``.
    var kind = -1
    /// The number of its kind's name, by which patterns match.
    fileprivate(set) var kindName: Int32 = -1
    /// The commit number of the key's last change; 0 = never.
    var rev: Int64 = 0
    /// The sequence of the journal's last record about it; 0 = none.
    var lastRecord: Int64 = 0
    /// When its dismissal was committed, by the real clock: retention starts here.
    var dismissedAt: Timestamp?
    /// The time of its entry among the hub's deadlines.
    var armed: Timestamp?
    /// The same for deadlines on the real clock.
    var wallArmed: Timestamp?
    /// It is or was a widget or a tile. Clients without widget support are sent nothing about it.
    var isWidget = false

    /// Restores the former content of the key.
    mutating func restore(
        _ state: EntityState, kind: Int, rev: Int64, lastRecord: Int64, dismissedAt: Timestamp?
    ) {
        self.state = state
        self.kind = kind
        self.rev = rev
        self.lastRecord = lastRecord
        self.dismissedAt = dismissedAt
    }
}

/// Everything the hub stores by key. A key is looked up once on arrival; from then on its ``EntityIndex`` is used.
///
/// The table consists of pages, so that it grows, and is copied for a snapshot, without moving existing entries. After a copy,
/// the next change of a key copies only its page. With a million keys and one array per property, the first change took 40 ms.
struct EntityTable: Sendable {
    /// All pages are full except the last.
    private var pages: [[Entity]] = []
    /// The numbers of kind names, including names that only patterns use.
    var kindNumbers = Interner()
    /// The former accounts of a key, if they differ. Most keys never change their accounts.
    var audienceHistories: [EntityIndex: AudienceHistory] = [:]
    private var free: [EntityIndex] = []
    private var byKey = HashIndex()

    /// The next change copies a page that is shared with a snapshot, and the array of pages once. A million keys make 8,000 pages
    /// of about 14 KB.
    private static let pageLength = 128

    /// The number of keys.
    var count: Int { byKey.count }

    /// All indices that were ever assigned; some may be free now.
    var indices: some RandomAccessCollection<EntityIndex> {
        (0..<indexCount).lazy.map { EntityIndex(Int32($0)) }
    }

    var indexCount: Int {
        guard let last = pages.last else { return 0 }
        return (pages.count - 1) * Self.pageLength + last.count
    }

    /// - Precondition: `index` is among ``indices``.
    subscript(index: EntityIndex) -> Entity {
        _read {
            let position = Int(index.rawValue)
            yield pages[position / Self.pageLength][position % Self.pageLength]
        }
        _modify {
            let position = Int(index.rawValue)
            yield &pages[position / Self.pageLength][position % Self.pageLength]
        }
    }

    /// Called for each row. The subscript would allocate its frame.
    func isWidget(_ index: EntityIndex) -> Bool {
        let position = Int(index.rawValue)
        return pages[position / Self.pageLength][position % Self.pageLength].isWidget
    }

    /// The activity at an index, the number of its kind's name, and the version of its kind. Called for each event, like
    /// ``isWidget(_:)``.
    @inline(__always)
    func activity(at index: EntityIndex) -> (activity: ActivityBox, kind: Int32, version: Int)? {
        let (page, place) = (Int(index.rawValue) / Self.pageLength, Int(index.rawValue) % Self.pageLength)
        guard case .activity(let activity) = pages[page][place].state else { return nil }
        return (activity, pages[page][place].kindName, pages[page][place].kind)
    }

    /// `nil` if there is no activity at an index. Called for each event, like ``isWidget(_:)``.
    @inline(__always)
    func isActivityForEverybody(at index: EntityIndex) -> Bool? {
        let (page, place) = (Int(index.rawValue) / Self.pageLength, Int(index.rawValue) % Self.pageLength)
        guard case .activity(let activity) = pages[page][place].state else { return nil }
        return activity.isForEverybody
    }

    /// Changes several properties with one exclusivity check.
    ///
    /// - Precondition: As of the subscript.
    mutating func update(_ index: EntityIndex, _ body: (inout Entity) -> Void) { body(&self[index]) }

    func index(of key: Key) -> EntityIndex? { index(of: key, hash: HashIndex.hash(of: key.text)) }

    /// - Parameter hash: The hash of the key's text, by ``HashIndex/hash(of:)``.
    func index(of key: Key, hash: UInt64) -> EntityIndex? {
        byKey.number(hash: hash) { self[EntityIndex(found: $0)].key == key }.map { EntityIndex(found: $0) }
    }

    /// Prefetches the lookup of the key with this hash.
    func prefetch(hash: UInt64) { byKey.prefetch(hash: hash) }

    /// Prefetches the likely entity of the key with this hash.
    ///
    /// - Returns: Its index; `nil` if there is no such key.
    func prefetchEntity(hash: UInt64) -> EntityIndex? {
        guard let index = byKey.candidate(hash: hash).map({ EntityIndex(found: $0) }) else { return nil }
        let position = Int(index.rawValue)
        let address = pages[position / Self.pageLength].address(at: position % Self.pageLength)
        address.prefetch(byteCount: MemoryLayout<Entity>.size)
        return index
    }

    /// A copy without the lookup, so that sharing it does not make the next insertion or removal copy the lookup.
    var withoutLookup: EntityTable {
        var copy = self
        copy.free = []
        copy.byKey = HashIndex()
        return copy
    }

    /// The index of `key`, which is created if there is none.
    mutating func intern(_ key: Key) -> EntityIndex { intern(key, hash: HashIndex.hash(of: key.text)) }

    /// - Parameter hash: The hash of the key's text, by ``HashIndex/hash(of:)``.
    mutating func intern(_ key: Key, hash: UInt64) -> EntityIndex {
        if let index = index(of: key, hash: hash) { return index }
        let index = free.popLast() ?? append()
        self[index] = Entity(key: key, kindName: kindNumbers.retain(String(key.kind)))
        byKey.insert(index.found, hash: hash)
        return index
    }

    private mutating func append() -> EntityIndex {
        let index = EntityIndex(Int32(indexCount))
        if Int(index.rawValue) % Self.pageLength == 0 {
            var page: [Entity] = []
            // Most tables never fill one page. A table with a second page will fill it, so it need not grow step by step.
            if !pages.isEmpty { page.reserveCapacity(Self.pageLength) }
            pages.append(page)
        }
        pages[pages.count - 1].append(Entity())
        return index
    }

    /// The most entries reserved at once, whatever a snapshot claims.
    static let reserveLimit = 1 << 22

    /// Reserves room for the entries of a snapshot.
    mutating func reserve(_ count: Int) {
        byKey.reserveCapacity(min(max(0, count), Self.reserveLimit))
    }

    /// Frees the index of a key that has no content.
    ///
    /// - Precondition: Nothing refers to it.
    mutating func freeIfEmpty(_ index: EntityIndex) {
        guard case .none = self[index].state, let key = self[index].key else { return }
        byKey.remove(index.found, hash: HashIndex.hash(of: key.text))
        kindNumbers.release(self[index].kindName)
        audienceHistories[index] = nil
        self[index] = Entity()
        free.append(index)
    }

    /// Every index with content, in the order of the table.
    var existing: some Sequence<EntityIndex> {
        indices.lazy.filter { index in
            if case .none = self[index].state { false } else { true }
        }
    }
}

/// Conversion to the numbers of a ``HashIndex``.
extension EntityIndex {
    fileprivate init(found number: UInt32) { self.init(Int32(bitPattern: number)) }
    fileprivate var found: UInt32 { UInt32(bitPattern: rawValue) }
}
