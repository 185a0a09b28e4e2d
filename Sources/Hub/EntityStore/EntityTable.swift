internal import FanOut
internal import Machines
internal import Prefetch
internal import TelltaleModel

/// Everything that the hub knows of one key.
struct Entity: Sendable {
    /// `nil` when its index is free.
    fileprivate(set) var key: Key?
    var state = EntityState.none
    /// The version of its kind that it lives by; an index into the hub's kinds.
    var kind = -1
    /// The name of its kind, by its number: what patterns go by.
    fileprivate(set) var kindName: Int32 = -1
    /// Subscriptions and queues that hold the index, so that it cannot be given to another key.
    fileprivate var references: Int32 = 0
    /// The commit number of the key's last change; 0 = never.
    var rev: Int64 = 0
    /// The sequence of the journal's last record about it; 0 = none.
    var lastRecord: Int64 = 0
    /// When its dismissal was committed, by the real clock: retention counts from here.
    var dismissedAt: Timestamp?
    /// The time of its entry among the hub's deadlines.
    var armed: Timestamp?
    /// The same for deadlines on the real clock.
    var wallArmed: Timestamp?
    /// It is, or was, a widget: of those, clients that do not know widgets are told nothing.
    var isWidget = false

    /// Takes over what stood behind the key before.
    mutating func restore(
        _ state: EntityState, kind: Int, rev: Int64, lastRecord: Int64, dismissedAt: Timestamp?
    ) {
        self.state = state
        self.kind = kind
        self.rev = rev
        self.lastRecord = lastRecord
        self.dismissedAt = dismissedAt
    }

    /// Gives up one reference; returns how many are left.
    fileprivate mutating func dropReference() -> Int32 {
        references -= 1
        return references
    }
}

/// Everything the hub knows by key. Keys are looked up once, at the door; then an ``EntityIndex`` finds them.
///
/// In pages, so that it grows, and is copied for a snapshot, without moving what is there: after a copy the next change of
/// a key costs a copy of its page alone. With a million keys one array of each property took 40 ms for the first.
struct EntityTable: Sendable {
    /// Full, but for the last.
    private var pages: [[Entity]] = []
    /// The numbers of the kinds' names, and of those that patterns hold.
    var kindNumbers = Interner()
    /// For whom the key was before, where that were others; most keys are nobody else's ever.
    var audienceHistories: [EntityIndex: AudienceHistory] = [:]
    private var free: [EntityIndex] = []
    private var byKey = HashIndex()

    /// A page that is shared with a snapshot is copied on the next change, and once the references to all pages. A
    /// million keys make 8,000 pages of some 14 KB.
    private static let pageLength = 128

    /// How many keys it knows.
    var count: Int { byKey.count }

    /// All that were ever given, and may be free now.
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

    /// Asked for each row: the subscript would allocate its frame.
    func isWidget(_ index: EntityIndex) -> Bool {
        let position = Int(index.rawValue)
        return pages[position / Self.pageLength][position % Self.pageLength].isWidget
    }

    /// Changes several things at once: who may do so is asked once.
    ///
    /// - Precondition: As of the subscript.
    mutating func update(_ index: EntityIndex, _ body: (inout Entity) -> Void) { body(&self[index]) }

    func index(of key: Key) -> EntityIndex? { index(of: key, hash: HashIndex.hash(of: key.text)) }

    /// - Parameter hash: That of the key's text, by ``HashIndex/hash(of:)``.
    func index(of key: Key, hash: UInt64) -> EntityIndex? {
        byKey.number(hash: hash) { self[EntityIndex(found: $0)].key == key }.map { EntityIndex(found: $0) }
    }

    /// Asks the processor for what finds the key of this hash.
    func prefetch(hash: UInt64) { byKey.prefetch(hash: hash) }

    /// Asks the processor for what stands at the index of the key of this hash, most likely.
    ///
    /// - Returns: That index; `nil` where there is no such key.
    func prefetchEntity(hash: UInt64) -> EntityIndex? {
        guard let index = byKey.candidate(hash: hash).map({ EntityIndex(found: $0) }) else { return nil }
        let position = Int(index.rawValue)
        let address = pages[position / Self.pageLength].address(at: position % Self.pageLength)
        address.prefetch(byteCount: MemoryLayout<Entity>.size)
        return index
    }

    /// A copy in which no key can be found: what is shared with it need not be copied when a key comes or goes.
    var withoutLookup: EntityTable {
        var copy = self
        copy.free = []
        copy.byKey = HashIndex()
        return copy
    }

    /// The index of `key`, which gets one when it has none.
    mutating func intern(_ key: Key) -> EntityIndex { intern(key, hash: HashIndex.hash(of: key.text)) }

    /// - Parameter hash: That of the key's text, by ``HashIndex/hash(of:)``.
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
            // Most tables never fill one; a table that does has a second before long, which need not grow step by step.
            if !pages.isEmpty { page.reserveCapacity(Self.pageLength) }
            pages.append(page)
        }
        pages[pages.count - 1].append(Entity())
        return index
    }

    /// More than this is not made room for at once, whatever a snapshot says.
    static let reserveLimit = 1 << 22

    /// Makes room for what a snapshot holds.
    mutating func reserve(_ count: Int) {
        byKey.reserveCapacity(min(max(0, count), Self.reserveLimit))
    }

    mutating func retain(_ index: EntityIndex) { self[index].references += 1 }

    /// Gives up one reference, and the index with it when nothing is left behind it.
    mutating func release(_ index: EntityIndex) {
        if self[index].dropReference() == 0 { freeIfUnused(index) }
    }

    /// Frees the index of a key behind which there is nothing any more and which nobody holds.
    mutating func freeIfUnused(_ index: EntityIndex) {
        guard self[index].references == 0, case .none = self[index].state, let key = self[index].key else { return }
        byKey.remove(index.found, hash: HashIndex.hash(of: key.text))
        kindNumbers.release(self[index].kindName)
        audienceHistories[index] = nil
        self[index] = Entity()
        free.append(index)
    }

    /// The indices of ``existing`` behind which there is state: a suggestion is none.
    var kept: some Sequence<EntityIndex> {
        existing.lazy.filter { index in
            if case .tile(let item) = self[index].state { item.tile?.isSuggested != true } else { true }
        }
    }

    /// Every index behind which there is something, in the order of the table.
    var existing: some Sequence<EntityIndex> {
        indices.lazy.filter { index in
            if case .none = self[index].state { false } else { true }
        }
    }
}

/// As a ``HashIndex`` has it.
extension EntityIndex {
    fileprivate init(found number: UInt32) { self.init(Int32(bitPattern: number)) }
    fileprivate var found: UInt32 { UInt32(bitPattern: rawValue) }
}
