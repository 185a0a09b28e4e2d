internal import FanOut
internal import HeapModule
internal import Machines
internal import Model

/// What stands behind a key.
enum EntityState: Sendable {
    /// Nothing: a key that somebody follows before it exists, or one whose past has been pruned.
    case none
    case activity(ActivityBox)
    // Behind references too: most keys are activities, and this is copied with every record.
    indirect case toggle(Toggle)
    indirect case button(Button)
}

/// An activity behind a reference: it is looked at, and remembered, far more often than it changes, and a copy of it
/// touches the counts of a dozen objects.
final class ActivityBox: Sendable {
    let value: Activity

    init(_ value: consuming Activity) {
        self.value = value
    }

    // Methods of the box and not of what is in it: the compiler copies the whole activity for `box.value.method()`
    // wherever it does not see that the box stays.

    var isLive: Bool { value.lifecycle != .dismissed }
    var lifecycle: Activity.Lifecycle { value.lifecycle }
    var deadline: Timestamp? { value.deadline }
    var statePath: String { value.statePath }
    var stateHash: UInt64 { value.stateHash }
    var accounts: [String] { value.accounts }

    func isReplaced(by event: ActivityEvent) -> Bool { value.isReplaced(by: event) }
    func writeFullRow(to writer: inout JSONWriter) { value.writeFullRow(to: &writer) }
}

/// Everything the hub knows by key. Parallel arrays by ``EntityIndex``; keys are looked up once, at the door.
struct EntityTable: Sendable {
    private(set) var keys: [Key] = []
    private var isUsed: [Bool] = []
    /// The version of its kind that it lives by; an index into the hub's kinds.
    var kinds: [Int] = []
    /// The name of its kind, by its number: what patterns go by.
    private(set) var kindNames: [Int32] = []
    /// The numbers of those names, and of those that patterns hold.
    var kindNumbers = Interner()
    var states: [EntityState] = []
    /// The commit number of the key's last change; 0 = never.
    var revs: [Int64] = []
    /// The sequence of the journal's last record about it; 0 = none.
    var lastRecords: [Int64] = []
    /// For whom the key was before, where that were others; most keys are nobody else's ever.
    var formerAudiences: [EntityIndex: FormerAudiences] = [:]
    /// When its dismissal was committed, by the real clock: retention counts from here.
    var dismissedAt: [Timestamp?] = []
    /// The time of its entry among the hub's deadlines.
    var armed: [Timestamp?] = []
    /// The same for deadlines on the real clock.
    var wallArmed: [Timestamp?] = []
    /// Subscriptions and queues that hold the index, so that it cannot be given to another key.
    private var references: [Int32] = []
    private var free: [EntityIndex] = []
    private var byKey = ShardedDictionary<Key, EntityIndex>()

    var count: Int { byKey.count }

    func index(of key: Key) -> EntityIndex? { byKey[key] }

    /// A copy in which no key can be found: what is shared with it need not be copied when a key comes or goes.
    var withoutLookup: EntityTable {
        var copy = self
        copy.byKey = ShardedDictionary()
        return copy
    }

    /// `nil` when the index is free.
    func key(at index: EntityIndex) -> Key? { isUsed[index] ? keys[index] : nil }

    /// The index of `key`, which gets one when it has none.
    mutating func intern(_ key: Key) -> EntityIndex {
        if let index = byKey[key] { return index }
        let index: EntityIndex
        let kindName = kindNumbers.retain(String(key.kind))
        if let reused = free.popLast() {
            index = reused
            keys[index] = key
            isUsed[index] = true
            kinds[index] = -1
            kindNames[index] = kindName
        } else {
            index = EntityIndex(Int32(keys.count))
            keys.append(key)
            isUsed.append(true)
            kinds.append(-1)
            kindNames.append(kindName)
            states.append(.none)
            revs.append(0)
            lastRecords.append(0)
            dismissedAt.append(nil)
            armed.append(nil)
            wallArmed.append(nil)
            references.append(0)
        }
        byKey[key] = index
        return index
    }

    /// More than this is not made room for at once, whatever a snapshot says.
    static let reserveLimit = 1 << 22

    /// Makes room for what a snapshot holds.
    mutating func reserve(_ count: Int) {
        let count = min(max(0, count), Self.reserveLimit)
        byKey.reserveCapacity(count)
        keys.reserveCapacity(count)
        states.reserveCapacity(count)
    }

    mutating func retain(_ index: EntityIndex) { references[index] += 1 }

    /// Gives up one reference, and the index with it when nothing is left behind it.
    mutating func release(_ index: EntityIndex) {
        references[index] -= 1
        freeIfUnused(index)
    }

    /// Frees the index of a key behind which there is nothing any more and which nobody holds.
    mutating func freeIfUnused(_ index: EntityIndex) {
        guard references[index] == 0, case .none = states[index], isUsed[index] else { return }
        byKey[keys[index]] = nil
        isUsed[index] = false
        kindNumbers.release(kindNames[index])
        revs[index] = 0
        lastRecords[index] = 0
        formerAudiences[index] = nil
        dismissedAt[index] = nil
        armed[index] = nil
        wallArmed[index] = nil
        free.append(index)
    }

    /// Every index behind which there is something, in the order of the table.
    var existing: some Sequence<EntityIndex> {
        states.indices.lazy.filter { position in
            if case .none = self.states[position] { false } else { true }
        }.map { EntityIndex(Int32($0)) }
    }
}
