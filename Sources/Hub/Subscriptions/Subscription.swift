internal import FanOut
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// The terms of subscriptions, beside the keys that they follow. One object for all that are alike.
final class SubscriptionTerms: Sendable {
    let view: ViewName
    let account: String?
    let placement: String?
    /// The pause between two rows of one key; `nil` = as fast as the reader takes them.
    let rateInterval: Milliseconds?
    let widgets: WidgetTerms
    /// It is told that something changed, and no rows.
    let isNotice: Bool

    /// Its rows depend on the view and the key alone, and leave at once.
    let isUsual: Bool

    init(
        view: ViewName, account: String?, placement: String?, rateInterval: Milliseconds?,
        widgets: WidgetTerms = WidgetTerms(), isNotice: Bool = false
    ) {
        self.view = view
        self.widgets = widgets
        self.isNotice = isNotice
        isUsual = account == nil && placement == nil && rateInterval == nil && widgets == WidgetTerms()
        self.account = account
        self.placement = placement
        self.rateInterval = rateInterval
    }

    /// Activities compete for places among what one device of an account sees (line-protocol.md §6).
    var competes: Bool {
        if case .surface = view { account != nil && !isNotice } else { false }
    }

    /// Whether what it shows of a key depends on more than the key, so that what was shown must be remembered.
    var tracksRows: Bool {
        if isNotice { return false }
        return if case .surface = view { true } else { account != nil }
    }

    func isAlike(_ other: SubscriptionTerms) -> Bool {
        view == other.view && account == other.account && placement == other.placement
            && rateInterval == other.rateInterval && widgets == other.widgets && isNotice == other.isNotice
    }
}

/// One subscription of one session.
///
/// Ten thousand screens have a hundred thousand of these, to nearly all of which nothing happens: one that rests is 48
/// bytes in the hub's table, in this order of its parts. One that follows a key, and is owed nothing but its row, is no
/// more; only what is owed something else has a ``Backlog``.
struct Subscription {
    private enum Debt {
        case nothing
        /// Commits of the one key that it follows, and nothing beside its row.
        case change(PendingCommits)
        /// Rows wait there.
        case backlog(Backlog)
        /// Nothing waits in it: it is kept for what else it holds, or because more will wait soon.
        case drained(Backlog)
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8

        static let live = Self(rawValue: 1 << 0)
        static let situated = Self(rawValue: 1 << 1)
        static let unprojected = Self(rawValue: 1 << 2)
        static let undrawn = Self(rawValue: 1 << 3)
        static let relocated = Self(rawValue: 1 << 4)
    }

    let terms: SubscriptionTerms
    /// The sequence of the cursor that was told last.
    var toldCursor: Int64 = 0
    private var debt = Debt.nothing
    private var flags: Flags = []
    private let usualSelection: UInt16
    /// Where its session stands in the hub's table. A session takes its subscriptions with it.
    let session: Int32
    /// Its name in its session: `sub=`.
    let number: Int32
    let selector: PatternIndex.Selector
    /// The placement that the subscriber holds of the one key that it follows; of many, the backlog tells.
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

    /// The snapshot, or the resume, has been sent.
    var isLive: Bool {
        get { flags.contains(.live) }
        set { flags.set(.live, newValue) }
    }

    /// The subscriber's rows are, or were, of another situation than the usual, and may be other than its cursors tell.
    var isSituated: Bool {
        get { flags.contains(.situated) }
        set { flags.set(.situated, newValue) }
    }

    /// The surroundings of its activities changed: the projection is due.
    var needsProjection: Bool {
        get { flags.contains(.unprojected) }
        set { flags.set(.unprojected, newValue) }
    }

    /// The device was locked or unlocked: it shows more or less of its controls now. Due with the projection.
    var needsControlsRedrawn: Bool {
        get { flags.contains(.undrawn) }
        set { flags.set(.undrawn, newValue) }
    }

    /// The situation of the device changed: widgets that it does not hold may come. Due with the projection.
    var mayGainWidgets: Bool {
        get { flags.contains(.relocated) }
        set { flags.set(.relocated, newValue) }
    }

    /// The projection is done now.
    ///
    /// - Returns: Whether controls are to be drawn anew, and whether widgets may come.
    mutating func takeProjection() -> (redrawsControls: Bool, mayGainWidgets: Bool) {
        defer { (needsProjection, needsControlsRedrawn, mayGainWidgets) = (false, false, false) }
        return (needsControlsRedrawn, mayGainWidgets)
    }

    /// The one key that it follows; `nil` where it follows many.
    var key: EntityIndex? { if case .key(let entity) = selector { entity } else { nil } }

    /// The kind that it follows, by its number; `nil` where it follows one key, or every kind.
    var kind: Int32? { if case .kind(let number) = selector { number } else { nil } }

    /// The account in whose view of many keys activities compete; `nil` where none do.
    var competingAccount: String? { terms.competes && key == nil ? terms.account : nil }

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
        // What left the view is not known before it is projected.
        if needsProjection, competingAccount != nil { return toldCursor }
        let missing: Int64? =
            switch debt {
            case .nothing: nil
            case .change(let commits): commits.first
            case .backlog(let backlog), .drained(let backlog): backlog.oldestMissingCommit
            }
        guard let oldest = missing else { return max(durable, toldCursor) }
        return max(min(durable, oldest - 1), toldCursor)
    }

    // MARK: What it is owed

    /// Nothing waits for it, and nothing is to be projected.
    var isOwedNothing: Bool {
        guard !needsProjection else { return false }
        return switch debt {
        case .nothing, .drained: true
        case .change, .backlog: false
        }
    }

    /// A key that waits for it is held for as long, so that its index goes to no other key. The one key that it follows
    /// it holds as it is.
    var holdsWhatWaits: Bool { key == nil }

    /// How many keys wait for it, held back ones included.
    var waitingCount: Int {
        switch debt {
        case .nothing, .drained: 0
        case .change: 1
        case .backlog(let backlog): backlog.queue.count + (backlog.scan?.remainingCount ?? 0)
        }
    }

    /// The change that it is owed the row of, where it is owed that alone, and at once.
    var pendingUpdate: PendingUpdate? {
        guard case .change(let commits) = debt, case .key(let entity) = selector, !needsProjection,
            terms.rateInterval == nil
        else { return nil }
        return PendingUpdate(
            entity: entity, commits: commits, number: number, selection: usualSelection, view: terms.view,
            isUsual: isLive && !isSituated && terms.isUsual)
    }

    /// Its backlog, if it has one; an update that it is owed without one is not in it.
    var backlog: Backlog? {
        switch debt {
        case .nothing, .change: nil
        case .backlog(let backlog), .drained(let backlog): backlog
        }
    }

    func isWaiting(for entity: EntityIndex) -> Bool {
        switch debt {
        case .nothing, .drained: false
        case .change: key == entity
        case .backlog(let backlog): backlog.queue.contains(entity)
        }
    }

    /// Owes it the row of a commit, where it follows one key, sees all of it, and is owed nothing but earlier ones.
    ///
    /// That is what nearly every change is to nearly everybody.
    mutating func owe(_ commit: Int64) -> Owing {
        guard key != nil, terms.account == nil else { return .refused }
        switch debt {
        case .nothing:
            guard let commits = PendingCommits(first: commit) else { return .refused }
            debt = .change(commits)
            return .begun
        case .change(var commits):
            guard commits.fold() else { return .refused }
            debt = .change(commits)
            return .folded
        case .backlog, .drained: return .refused
        }
    }

    /// It is sent ``pendingUpdate`` now.
    mutating func markSent() { debt = .nothing }

    /// It has been sent ``pendingUpdate``, with a cursor.
    mutating func markSent(showing placement: Placement?, at commit: Int64) {
        debt = .nothing
        shownOfKey = placement
        toldCursor = commit
    }

    /// Its backlog, in which something may wait from now on; it gets one when it has none.
    mutating func needBacklog() -> Backlog {
        if let backlog = openBacklog() { return backlog }
        let new = Backlog()
        debt = .backlog(new)
        return new
    }

    /// The same; `nil` where nothing waits in it and it has none.
    mutating func openBacklog() -> Backlog? {
        switch debt {
        case .nothing: return nil
        case .backlog(let backlog): return backlog
        case .drained(let backlog):
            debt = .backlog(backlog)
            return backlog
        case .change(let commits):
            let new = Backlog()
            if let key { new.queue.insert(key, DirtyQueue.Entry(commits)) }
            debt = .backlog(new)
            return new
        }
    }

    /// Everything that waited has been sent, but for what a rate holds back.
    mutating func noteDrained() {
        guard case .backlog(let backlog) = debt, backlog.scan == nil, backlog.queue.isEmpty, backlog.queue.count == 0,
            backlog.notice?.isOwed != true
        else { return }
        backlog.floor = nil
        debt = key != nil && backlog.isEmpty ? .nothing : .drained(backlog)
    }

    /// All that waits now is the snapshot or the resume.
    ///
    /// - Parameter isPlaced: Its activities have their places.
    mutating func finishFilling(isPlaced: Bool = false) {
        needsProjection = terms.competes && !isPlaced
        needBacklog().queue.markLive()
    }

    /// All that waits now is what a walk over the table tells.
    mutating func begin(_ scan: TableScan) { needBacklog().scan = scan }

    /// Gives back the memory of what is over at `time`.
    mutating func trim(at time: MonotonicTime) {
        guard let backlog else { return }
        backlog.trim(at: time, rateInterval: terms.rateInterval)
        if backlog.isEmpty { debt = .nothing }
    }

    // MARK: What it shows

    /// The placement that the subscriber holds of a key, where that cannot be known from the key itself.
    func shown(_ entity: EntityIndex) -> Placement? {
        key != nil ? shownOfKey : backlog?.shown[entity.rawValue]
    }

    mutating func show(_ entity: EntityIndex, _ placement: Placement?) {
        if key != nil {
            shownOfKey = placement
        } else if placement != nil || backlog != nil {
            needBacklog().shown[entity.rawValue] = placement
        }
    }

    /// All that it holds, by key.
    var allShown: [Int32: Placement] {
        guard let key else { return backlog?.shown.all ?? [:] }
        return shownOfKey.map { [key.rawValue: $0] } ?? [:]
    }

    /// The subscriber has the key's row, or is about to get one.
    func knows(_ entity: EntityIndex) -> Bool { shown(entity) != nil || isWaiting(for: entity) }
}

extension OptionSet where Element == Self {
    fileprivate mutating func set(_ element: Self, _ isOn: Bool) {
        if isOn { insert(element) } else { remove(element) }
    }
}
