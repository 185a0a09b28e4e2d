internal import FanOut
internal import Model
internal import Surfaces
internal import Wire

/// Encoded rows of the newest state of each key, so that a row is encoded once however many follow it.
struct RowCache: Sendable {
    private var bodies: [Int32: [(form: RowForm, body: [UInt8])]] = [:]
    private var byteCount = 0
    private var writes: [SharedWrite] = []
    /// When it began anew, by the monotonic clock.
    private var begun: Int64 = 0
    /// Where the next one is looked for first: sessions of a kind ask for theirs in the same order.
    private var nextWrite = 0

    /// More than this is not worth keeping: the next turn encodes what it needs.
    private static let byteLimit = 16 << 20

    /// Surfaces, and the numbers that subscriptions have, differ in few ways; more would only be searched.
    private static let writeLimit = 64

    /// Of how many keys there are rows.
    var count: Int { bodies.count }

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

    /// Begins anew at `time` of the monotonic clock when it has not for `milliseconds`: rows that nobody has asked for
    /// since everybody got them would be kept for ever.
    mutating func refresh(after milliseconds: Int64, at time: Int64) {
        guard time - begun >= milliseconds else { return }
        begun = time
        (bodies, byteCount, writes) = ([:], 0, [])
    }

    // MARK: Whole writes

    /// What another subscription in the same state was sent at this commit.
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

/// What one subscription was sent of what waited for it, which is the same for every other one of the same selection and
/// state: a thousand screens of one key cost one rendering and a thousand copies.
final class SharedWrite: Sendable {
    let commit: Int64
    let number: Int32
    let view: ViewName
    let selection: UInt16
    let keys: [DirtyQueue.FreshKey]
    /// What it shows of each key from now on, where that must be remembered.
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
    /// What waits for it while that is only a few fresh keys.
    var fresh: [DirtyQueue.FreshKey] { backlog?.queue.fresh ?? [] }

    /// Whether what it is sent depends on nothing but what it selects and what waits.
    ///
    /// It has been told less than the newest commit, so its first row comes with a cursor like that of all others.
    func sharesWrites(at commit: Int64) -> Bool {
        isLive && !fresh.isEmpty && toldCursor < commit && !isSituated && !needsProjection
            && terms.account == nil && terms.placement == nil && terms.rateInterval == nil
    }
}
