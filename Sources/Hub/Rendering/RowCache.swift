internal import FanOut
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// Encoded rows of the newest state of each key, so that a row is encoded once however many follow it.
struct RowCache: Sendable {
    private var bodies: [Int32: [(form: RowForm, body: [UInt8])]] = [:]
    private var byteCount = 0
    private var writes: [SharedWrite] = []
    /// The update that each kept row is for, and where the row stands in `changeBytes`; from ``firstPlace(of:)``
    /// on.
    private var changes: [SharedChange] = []
    /// Such rows of one commit, one behind the other: who is sent one takes hold of nothing.
    private var changeBytes: [UInt8] = []
    private var changeCommit: Int64 = -1
    /// When it began anew.
    private var begun = MonotonicTime.distantPast
    /// Where the next one is looked for first: sessions of a kind ask for theirs in the same order.
    private var nextWrite = 0

    /// More than this is not worth keeping: the next turn encodes what it needs.
    private static let byteLimit = 16 << 20

    /// Surfaces, and the numbers that subscriptions have, differ in few ways; more would only be searched.
    private static let writeLimit = 64

    /// Of how many keys there are rows.
    var count: Int { bodies.count }

    /// The bytes that a ``Run`` made since the newest commit is part of.
    var shared: [UInt8] { changeBytes }

    func body(of entity: EntityIndex, _ form: RowForm) -> [UInt8]? {
        bodies[entity.rawValue]?.first { $0.form == form }?.body
    }

    mutating func keep(_ body: [UInt8], of entity: EntityIndex, _ form: RowForm) {
        if byteCount > Self.byteLimit {
            bodies = [:]
            byteCount = 0
        }
        byteCount += body.count
        bodies[entity.rawValue, default: []].append((form, body))
    }

    mutating func forget(_ entity: EntityIndex) {
        if !writes.isEmpty { writes.removeAll(keepingCapacity: true) }
        guard let old = bodies.removeValue(forKey: entity.rawValue) else { return }
        for (_, body) in old { byteCount -= body.count }
    }

    /// Begins anew at `time` when it has not for `interval`: rows that were asked for once would be kept for ever.
    mutating func refresh(after interval: Milliseconds, at time: MonotonicTime) {
        guard time >= begun + interval else { return }
        begun = time
        (bodies, byteCount, writes, changes, changeBytes) = ([:], 0, [], [], [])
    }

    /// Drops the encoded bodies. Rows of single changes stay: they may be on their way out.
    mutating func removeBodies() { (bodies, byteCount) = ([:], 0) }

    // MARK: Rows of single changes

    /// A row that is kept.
    struct ChangeRow: Sendable {
        fileprivate let range: Range<Int>
        /// The placement that its subscriber shows of the key from now on.
        let placement: Placement?
    }

    /// Kept rows that stand one behind the other, and so are written at once: who comes later is mostly owed the same
    /// changes in the same order.
    struct Run {
        private(set) var range = 0..<0

        init() {}

        init(_ row: ChangeRow) { range = row.range }

        /// Of all its rows, in bytes.
        var count: Int { range.count }

        /// Returns whether `row` stands behind those that there are.
        mutating func append(_ row: ChangeRow) -> Bool {
            guard row.range.lowerBound == range.upperBound else { return false }
            range = range.lowerBound..<row.range.upperBound
            return true
        }
    }

    /// The row that another subscription in the same state was sent for the same change at this commit.
    func row(of change: PendingUpdate, at commit: Int64) -> ChangeRow? {
        guard !changes.isEmpty else { return nil }
        let first = Self.firstPlace(of: change)
        for position in first..<first + Self.wayCount
        where changes[position].fits(change, at: commit) {
            return ChangeRow(range: changes[position].range, placement: changes[position].placement)
        }
        return nil
    }

    /// - Precondition: It was made since the newest commit.
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

    /// Keys that come one after the other in the hub's table, as those of one order system do, stand in places of their
    /// own; so do a few surfaces' rows of one key, and rows of subscriptions that have other numbers.
    private static func firstPlace(of change: PendingUpdate) -> Int {
        Int(UInt32(bitPattern: change.entity.rawValue)) % setCount * wayCount
    }

    private static let setCount = 256
    private static let wayCount = 8
    /// Beside ``byteLimit``.
    private static let changeByteLimit = 8 << 20

    // MARK: Whole writes

    /// The write that another subscription in the same state was sent at this commit.
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

/// Everything that a row of a single change depends on.
private struct SharedChange: Sendable {
    private let commit: Int64
    private let commits: PendingCommits?
    private let entity: EntityIndex
    private let number: Int32
    private let selection: UInt16
    private let view: ViewName
    /// The placement that its subscriber shows of the key from now on, where that must be remembered.
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

    /// It is not what would be sent now: whatever a row shows beside its key changes with a commit.
    func isOutdated(at commit: Int64) -> Bool { self.commit != commit }
}

/// The rows that one subscription was sent, which are the same for every other one of the same selection and
/// state: a thousand screens of one key cost one rendering and a thousand copies.
final class SharedWrite: Sendable {
    let commit: Int64
    let number: Int32
    let view: ViewName
    let selection: UInt16
    let keys: [DirtyQueue.FreshKey]
    /// The placement of each key from now on, where that must be remembered.
    let placements: [Placement]
    let bytes: [UInt8]

    /// - Parameter subscription: Has been sent `bytes` for `keys`; one that ``Subscription/sharesWrites``.
    init?(_ bytes: [UInt8], for keys: [DirtyQueue.FreshKey], to subscription: Subscription, at commit: Int64) {
        let terms = subscription.terms
        var placements: [Placement] = []
        if terms.tracksRows {
            for key in keys {
                // Where a row goes, it depends on who had it.
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
    /// The keys that wait for it while they are few and fresh.
    var fresh: [DirtyQueue.FreshKey] { backlog?.queue.fresh ?? [] }

    /// Whether what it is sent depends on nothing but what it selects and what waits.
    ///
    /// It has been told less than the newest commit, so its first row comes with a cursor like that of all others.
    func sharesWrites(at commit: Int64) -> Bool {
        isLive && !fresh.isEmpty && toldCursor < commit && !isSituated && !needsProjection
            && backlog?.scan == nil && terms.account == nil && terms.placement == nil && terms.rateInterval == nil
    }
}
