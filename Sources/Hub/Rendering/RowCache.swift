internal import FanOut
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// Encoded rows of each key's newest state, so that a row is encoded once for all its followers.
struct RowCache: Sendable {
    private struct Shard {
        var bodies: [Int32: [(form: RowForm, body: [UInt8])]] = [:]
        var byteCount = 0
    }

    /// The bodies, by key. One shard is freed at a time, because freeing a full cache takes 20 ms.
    private var shards = Self.emptyShards
    private var byteCount = 0
    /// The shard that is emptied when the cache is full.
    private var oldestShard = 0
    /// Shards without use, which are freed one by one.
    private var retired: [Shard] = []
    private var writes: [SharedWrite] = []
    /// The update that each cached row is for, and the position of the row in `changeBytes`. The search starts at
    /// ``firstPlace(of:)``.
    private var changes: [SharedChange] = []
    /// Such rows of one commit, concatenated, so that sending one needs no reference to it.
    private var changeBytes: [UInt8] = []
    private var changeCommit: Int64 = -1
    /// When the cache was last emptied.
    private var begun = MonotonicTime.distantPast
    /// Where the next search begins: sessions of a kind request theirs in the same order.
    private var nextWrite = 0

    /// A larger cache is not worthwhile: the next turn encodes what it needs.
    private static let byteLimit = 16 << 20
    private static let emptyShards = Array(repeating: Shard(), count: 64)
    /// The memory of a body besides its bytes.
    private static let overhead = 128

    /// Surfaces and subscription numbers vary little. With more entries only the search gets longer.
    private static let writeLimit = 64

    /// The number of keys with cached rows.
    var count: Int { shards.reduce(0) { $0 + $1.bodies.count } }
    /// How many keys have bodies that are no longer cached and not freed yet.
    var retiredCount: Int { retired.reduce(0) { $0 + $1.bodies.count } }

    /// The bytes to which every ``Run`` since the newest commit refers.
    var shared: [UInt8] { changeBytes }

    func body(of entity: EntityIndex, _ form: RowForm) -> [UInt8]? {
        shards[Self.shard(of: entity)].bodies[entity.rawValue]?.first { $0.form == form }?.body
    }

    private static func shard(of entity: EntityIndex) -> Int {
        Int(UInt32(bitPattern: entity.rawValue)) % emptyShards.count
    }

    mutating func keep(_ body: [UInt8], of entity: EntityIndex, _ form: RowForm) {
        freeRetired()
        if byteCount > Self.byteLimit {
            byteCount -= shards[oldestShard].byteCount
            shards[oldestShard] = Shard()
            oldestShard = (oldestShard + 1) % shards.count
        }
        let (shard, count) = (Self.shard(of: entity), body.count + Self.overhead)
        byteCount += count
        shards[shard].byteCount += count
        shards[shard].bodies[entity.rawValue, default: []].append((form, body))
    }

    mutating func forget(_ entity: EntityIndex) {
        if !writes.isEmpty { writes.removeAll(keepingCapacity: true) }
        let shard = Self.shard(of: entity)
        guard byteCount > 0, let old = shards[shard].bodies.removeValue(forKey: entity.rawValue) else { return }
        let count = old.reduce(0) { $0 + $1.body.count + Self.overhead }
        byteCount -= count
        shards[shard].byteCount -= count
    }

    /// Empties the cache at `time` if `interval` has passed; otherwise rows that were requested once would stay forever.
    mutating func refresh(after interval: Milliseconds, at time: MonotonicTime) {
        freeRetired()
        guard time >= begun + interval else { return }
        begun = time
        removeBodies()
        (writes, changes, changeBytes) = ([], [], [])
    }

    /// Drops the encoded bodies. Rows of single changes stay: they may be about to be sent.
    mutating func removeBodies() {
        guard byteCount > 0 else { return }
        retired += shards.filter { !$0.bodies.isEmpty }
        (shards, byteCount) = (Self.emptyShards, 0)
    }

    private mutating func freeRetired() {
        if !retired.isEmpty { retired.removeLast() }
    }

    // MARK: Rows of single changes

    /// A cached row.
    struct ChangeRow: Sendable {
        fileprivate let range: Range<Int>
        /// The placement that its subscriber shows afterwards.
        let placement: Placement?
    }

    /// Adjacent cached rows, which are written at once. Most later subscribers need the same changes in the same order.
    struct Run {
        private(set) var range = 0..<0

        init() {}

        init(_ row: ChangeRow) { range = row.range }

        /// The total length of its rows, in bytes.
        var count: Int { range.count }

        /// Appends `row` if it is adjacent; returns whether it is.
        mutating func append(_ row: ChangeRow) -> Bool {
            guard row.range.lowerBound == range.upperBound else { return false }
            range = range.lowerBound..<row.range.upperBound
            return true
        }
    }

    /// The row that another subscription in the same state received for the same change at this commit.
    func row(of change: PendingUpdate, at commit: Int64) -> ChangeRow? {
        guard !changes.isEmpty else { return nil }
        let first = Self.firstPlace(of: change)
        for position in first..<first + Self.wayCount
        where changes[position].fits(change, at: commit) {
            return ChangeRow(range: changes[position].range, placement: changes[position].placement)
        }
        return nil
    }

    /// - Precondition: The run was made since the newest commit.
    func write(_ run: Run, to writer: inout LineWriter) {
        if run.count > 0 { writer.append(lines: changeBytes.span.extracting(run.range)) }
    }

    mutating func keep(_ bytes: [UInt8], _ placement: Placement?, for change: PendingUpdate, at commit: Int64) {
        if changes.isEmpty {
            changes = Array(repeating: SharedChange(), count: Self.setCount * Self.wayCount)
        }
        if changeCommit != commit {
            changeCommit = commit
            changeBytes.removeAll(keepingCapacity: true)
        }
        guard changeBytes.count + bytes.count <= Self.changeByteLimit else { return }
        let first = Self.firstPlace(of: change)
        let outdated = (first..<first + Self.wayCount).first { changes[$0].isOutdated(at: commit) }
        let position = outdated ?? first + (Int(change.number) + Int(change.selection)) % Self.wayCount
        let start = changeBytes.count
        changeBytes += bytes
        changes[position] = SharedChange(
            change, at: commit, showing: placement, in: start..<changeBytes.count)
    }

    /// Neighbouring keys of the table, such as those of one order system, get different positions. So do the rows of one key for
    /// a few surfaces, and rows for subscriptions with different numbers.
    private static func firstPlace(of change: PendingUpdate) -> Int {
        Int(UInt32(bitPattern: change.entity.rawValue)) % setCount * wayCount
    }

    private static let setCount = 256
    private static let wayCount = 8
    /// In addition to ``byteLimit``.
    private static let changeByteLimit = 8 << 20

    // MARK: Whole writes

    /// The write that another subscription in the same state received at this commit.
    mutating func write(for subscription: Subscription, at commit: Int64) -> SharedWrite? {
        for _ in writes.indices {
            if nextWrite >= writes.count { nextWrite = 0 }
            let write = writes[nextWrite]
            nextWrite += 1
            if write.commit == commit, write.fits(subscription) { return write }
        }
        return nil
    }

    mutating func keep(_ write: SharedWrite) {
        if writes.count == Self.writeLimit { writes.removeAll(keepingCapacity: true) }
        writes.append(write)
        nextWrite = writes.count
    }
}

/// Everything that the row of a single change depends on.
private struct SharedChange: Sendable {
    private let commit: Int64
    private let commits: PendingCommits?
    private let entity: EntityIndex
    private let number: Int32
    private let selection: UInt16
    private let view: ViewName
    /// The placement that its subscriber shows afterwards, if it must be remembered.
    let placement: Placement?
    let range: Range<Int>

    /// None.
    init() {
        (commit, number, selection, range) = (-1, 0, 0, 0..<0)
        (entity, view, commits, placement) = (EntityIndex(-1), .full, nil, nil)
    }

    init(_ change: PendingUpdate, at commit: Int64, showing placement: Placement?, in range: Range<Int>) {
        self.range = range
        self.commit = commit
        self.placement = placement
        commits = change.commits
        entity = change.entity
        number = change.number
        selection = change.selection
        view = change.view
    }

    func fits(_ change: PendingUpdate, at commit: Int64) -> Bool {
        entity == change.entity && number == change.number && !isOutdated(at: commit)
            && commits == change.commits && selection == change.selection && view == change.view
    }

    /// It no longer applies: what a row shows besides its key changes with each commit.
    func isOutdated(at commit: Int64) -> Bool { self.commit != commit }
}

/// The rows that one subscription received. They are the same for every subscription with the same selection and state: a
/// thousand screens of one key cost one rendering and a thousand copies.
final class SharedWrite: Sendable {
    let commit: Int64
    let number: Int32
    let view: ViewName
    let selection: UInt16
    let keys: [DirtyQueue.FreshKey]
    /// The new placement of each key, if it must be remembered.
    let placements: [Placement]
    let bytes: [UInt8]

    /// - Parameter subscription: It was sent `bytes` for `keys`, and it ``Subscription/sharesWrites``.
    init?(_ bytes: [UInt8], for keys: [DirtyQueue.FreshKey], to subscription: Subscription, at commit: Int64) {
        let terms = subscription.terms
        var placements: [Placement] = []
        if terms.tracksRows {
            for key in keys {
                // A row with another destination depends on the former subscriber.
                guard let placement = subscription.shown(key.entity) else { return nil }
                placements.append(placement)
            }
        }
        self.commit = commit
        self.keys = keys
        self.placements = placements
        self.bytes = bytes
        number = subscription.number
        view = terms.view
        selection = subscription.selection
    }

    func fits(_ subscription: Subscription) -> Bool {
        subscription.number == number && subscription.selection == selection && subscription.terms.view == view
            && subscription.fresh == keys
    }
}

extension Subscription {
    /// The keys that are pending for it, while they are few and fresh.
    var fresh: [DirtyQueue.FreshKey] { backlog?.queue.fresh ?? [] }

    /// Whether its next write depends only on its selection and on what is pending.
    ///
    /// It has not received the newest commit's cursor, so its first row has a cursor like those of all others.
    func sharesWrites(at commit: Int64) -> Bool {
        isLive && !fresh.isEmpty && sentCursor < commit && !isSituated && !needsProjection
            && backlog?.scan == nil && terms.account == nil && terms.placement == nil && terms.rateInterval == nil
    }
}
