internal import FanOut
internal import Model
internal import Surfaces
internal import Wire

/// What subscriptions of one sort ask for, beside what they follow. One object for all that are alike.
final class SubscriptionTerms: Sendable {
    let view: ViewName
    let account: String?
    let placement: String?
    /// Milliseconds between two rows of one key; `nil` = as fast as the reader takes them.
    let rateInterval: Int64?

    init(view: ViewName, account: String?, placement: String?, rateInterval: Int64?) {
        self.view = view
        self.account = account
        self.placement = placement
        self.rateInterval = rateInterval
    }

    /// Activities compete for places among what one device of an account sees (protocol.md §4).
    var competes: Bool {
        if case .surface = view { account != nil } else { false }
    }

    /// Whether what it shows of a key depends on more than the key, so that what was shown must be remembered.
    var tracksRows: Bool {
        if case .surface = view { true } else { account != nil }
    }

    func isAlike(_ other: SubscriptionTerms) -> Bool {
        view == other.view && account == other.account && placement == other.placement
            && rateInterval == other.rateInterval
    }
}

/// One subscription of one session.
///
/// Ten thousand screens have a hundred thousand of these, to nearly all of which nothing happens: one that rests is 48
/// bytes in the hub's table. Only what is owed something has a ``Backlog``.
struct Subscription {
    let terms: SubscriptionTerms
    private(set) var backlog: Backlog?
    /// The sequence of the cursor that was told last.
    var toldCursor: Int64 = 0
    let selector: PatternIndex.Selector
    /// The snapshot, or the resume, has been sent.
    var isLive = false
    /// The subscriber's rows are, or were, of another situation than the usual, and may be other than its cursors tell.
    var isSituated = false
    /// What surrounds its activities changed: the projection is due.
    var needsProjection = false
    /// Where its session stands in the hub's table. A session takes its subscriptions with it.
    let session: Int32
    /// Its name in its session: `sub=`.
    let number: Int32
    private let usualSelection: UInt16
    /// What the subscriber holds of the one key that it follows; of many, the backlog tells.
    private var shownOfKey: Placement?

    init(
        _ terms: SubscriptionTerms, of session: Int32, number: Int32, selector: PatternIndex.Selector,
        selection: UInt16
    ) {
        self.terms = terms
        self.session = session
        self.number = number
        self.selector = selector
        usualSelection = selection
    }

    // MARK: What its cursors are good for

    /// A number of what it selects: a cursor of another selection cannot resume it.
    var selection: UInt16 { selection(isSituated: isSituated) }

    /// The same in the usual situation, or in another.
    ///
    /// A competing view sends every row on a resume, so there it makes no difference.
    func selection(isSituated: Bool) -> UInt16 {
        isSituated && !terms.competes ? usualSelection ^ 1 : usualSelection
    }

    /// Where it may resume: below the oldest commit that it still lacks.
    ///
    /// - Parameter durable: The newest commit.
    func cursorSequence(durable: Int64) -> Int64 {
        guard let oldest = backlog?.queue.oldestMissingCommit else { return max(durable, toldCursor) }
        return max(min(durable, oldest - 1), toldCursor)
    }

    // MARK: What it is owed

    /// Nothing waits for it, and nothing is to be projected.
    var isOwedNothing: Bool { backlog == nil && !needsProjection }

    func isWaiting(for entity: EntityIndex) -> Bool { backlog?.queue.contains(entity) == true }

    /// Its backlog, which it gets when it has none.
    mutating func needBacklog() -> Backlog {
        if let backlog { return backlog }
        let new = Backlog()
        backlog = new
        return new
    }

    /// All that waits now is the snapshot or the resume.
    mutating func finishFilling() {
        needsProjection = terms.competes
        needBacklog().queue.markLive()
    }

    /// Gives back the memory of what is over at `time` of the monotonic clock.
    mutating func trim(at time: Int64) {
        guard let backlog else { return }
        backlog.trim(at: time, rateInterval: terms.rateInterval)
        if backlog.isEmpty { self.backlog = nil }
    }

    // MARK: What it shows

    /// What the subscriber holds of a key, where that cannot be known from the key itself.
    func shown(_ entity: EntityIndex) -> Placement? {
        if case .key = selector { shownOfKey } else { backlog?.shown[entity.rawValue] }
    }

    mutating func show(_ entity: EntityIndex, _ placement: Placement?) {
        if case .key = selector {
            shownOfKey = placement
        } else if placement != nil || backlog != nil {
            needBacklog().shown[entity.rawValue] = placement
        }
    }

    /// All that it holds, by key.
    var allShown: [Int32: Placement] {
        guard case .key(let entity) = selector else { return backlog?.shown ?? [:] }
        return shownOfKey.map { [entity.rawValue: $0] } ?? [:]
    }

    /// The subscriber has the key's row, or is about to get one.
    func knows(_ entity: EntityIndex) -> Bool { shown(entity) != nil || isWaiting(for: entity) }
}

/// What a subscription is owed, and what must be remembered of the keys that it follows when these are many. An object,
/// so that looking at a part of it touches nothing else; one subscription holds it.
final class Backlog {
    /// About what one takes in memory, without what waits.
    static let byteCount = 96

    var queue = DirtyQueue()
    /// What the subscriber holds of each key; not used where it follows one.
    var shown: [Int32: Placement] = [:]
    /// Of a competing one: where each activity stands now.
    var placements: [Int32: Placement] = [:]
    /// When the last row of a key left, for `rate=`.
    var lastSent: [Int32: Int64] = [:]

    var isEmpty: Bool { queue.count == 0 && queue.isEmpty && shown.isEmpty && placements.isEmpty && lastSent.isEmpty }

    fileprivate func trim(at time: Int64, rateInterval: Int64?) {
        queue.trim()
        if shown.isEmpty { shown = [:] }
        if placements.isEmpty { placements = [:] }
        if let rateInterval, !lastSent.isEmpty { lastSent = lastSent.filter { time - $0.value < rateInterval } }
    }
}
