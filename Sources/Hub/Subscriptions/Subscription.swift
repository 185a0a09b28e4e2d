internal import FanOut
internal import Surfaces
internal import TelltaleModel

/// The terms of subscriptions, besides the keys that they follow. Equal terms share one object.
final class SubscriptionTerms: Sendable {
    let view: ViewName
    let account: String?
    /// `Activity.digest(of:)` the account. It takes a microsecond, and each row of an activity that many accounts dismissed needs
    /// it.
    let accountDigest: UInt64?
    let placement: String?
    /// The pause between two rows of one key; `nil` = as fast as the reader accepts them.
    let rateInterval: Milliseconds?
    let widgets: WidgetTerms
    /// It receives notices of changes, and no rows.
    let isNotice: Bool

    /// Its rows depend on the view and the key only, and are not delayed.
    let isUsual: Bool

    init(
        view: ViewName, account: String?, accountDigest: UInt64?, placement: String?, rateInterval: Milliseconds?,
        widgets: WidgetTerms = WidgetTerms(), isNotice: Bool = false
    ) {
        self.view = view
        self.widgets = widgets
        self.isNotice = isNotice
        isUsual = account == nil && placement == nil && rateInterval == nil && widgets == WidgetTerms()
        self.account = account
        self.accountDigest = accountDigest
        self.placement = placement
        self.rateInterval = rateInterval
    }

    /// Activities compete for the places on one device of an account (line-protocol.md §6).
    var competes: Bool {
        if case .surface = view { account != nil && !isNotice } else { false }
    }

    /// Whether the row that it shows of a key depends on more than the key, so that the subscription remembers what it showed.
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
/// Ten thousand screens have a hundred thousand of these, and nearly all are idle. An idle one takes 48 bytes in the hub's table,
/// with its properties in this order. One that follows a single key and has only that row pending takes no more; only one with
/// more pending has a ``Backlog``.
struct Subscription {
    private enum Pending {
        case nothing
        /// Commits of its only key; nothing but the row is pending.
        case change(PendingCommits)
        /// Rows are pending in the backlog.
        case backlog(Backlog)
        /// Nothing is pending; the backlog is kept for its other content, or because more will follow soon.
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
    /// The sequence of the last cursor sent.
    var sentCursor: Int64 = 0
    private var pending = Pending.nothing
    private var flags: Flags = []
    private let usualSelection: UInt16
    /// Its session's slot in the hub's table. A session removes its subscriptions when it ends.
    let session: Int32
    /// Its number within its session: `sub=`.
    let number: Int32
    let selector: PatternIndex.Selector
    /// The placement that the subscriber holds for its only key; for many keys, the backlog has them.
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

    /// The snapshot or the resume has been sent.
    var isLive: Bool {
        get { flags.contains(.live) }
        set { flags.set(.live, newValue) }
    }

    /// The subscriber's rows are or were for a special situation, so they may differ from what its cursors imply.
    var isSituated: Bool {
        get { flags.contains(.situated) }
        set { flags.set(.situated, newValue) }
    }

    /// The surroundings of its activities changed: a projection is due.
    var needsProjection: Bool {
        get { flags.contains(.unprojected) }
        set { flags.set(.unprojected, newValue) }
    }

    /// The device was locked or unlocked, so it shows more or less of its controls. Due with the projection.
    var needsControlsRedrawn: Bool {
        get { flags.contains(.undrawn) }
        set { flags.set(.undrawn, newValue) }
    }

    /// The situation of the device changed, so widgets may become visible. Due with the projection.
    var mayGainWidgets: Bool {
        get { flags.contains(.relocated) }
        set { flags.set(.relocated, newValue) }
    }

    /// Clears the flags of the projection, which is done now.
    ///
    /// - Returns: Whether to redraw controls, and whether widgets may become visible.
    mutating func takeProjection() -> (redrawsControls: Bool, mayGainWidgets: Bool) {
        defer { (needsProjection, needsControlsRedrawn, mayGainWidgets) = (false, false, false) }
        return (needsControlsRedrawn, mayGainWidgets)
    }

    /// The only key that it follows; `nil` if it follows many.
    var key: EntityIndex? { if case .key(let entity) = selector { entity } else { nil } }

    /// The number of the kind that it follows; `nil` if it follows one key or every kind.
    var kind: Int32? { if case .kind(let number) = selector { number } else { nil } }

    /// The account of its view of many keys with competing activities; `nil` if none compete.
    var competingAccount: String? { terms.competes && key == nil ? terms.account : nil }

    // MARK: Cursors

    /// A number of its selection: the cursor of another selection cannot resume it.
    var selection: UInt16 { selection(isSituated: isSituated) }

    /// The selection in the usual situation, or in a special one.
    ///
    /// A competing view sends every row on a resume, so there they are the same.
    func selection(isSituated: Bool) -> UInt16 {
        isSituated && !terms.competes ? usualSelection ^ 1 : usualSelection
    }

    /// The sequence it may resume from: below the oldest commit that it lacks.
    ///
    /// - Parameter durable: The newest commit.
    func cursorSequence(durable: Int64) -> Int64 {
        // Until the projection, it is unknown what left the view.
        if needsProjection, competingAccount != nil { return sentCursor }
        let missing: Int64? =
            switch pending {
            case .nothing: nil
            case .change(let commits): commits.first
            case .backlog(let backlog), .drained(let backlog): backlog.oldestMissingCommit
            }
        guard let oldest = missing else { return max(durable, sentCursor) }
        return max(min(durable, oldest - 1), sentCursor)
    }

    // MARK: Pending rows

    /// Nothing is pending, and no projection is due.
    var hasNothingPending: Bool {
        guard !needsProjection else { return false }
        return switch pending {
        case .nothing, .drained: true
        case .change, .backlog: false
        }
    }

    /// Whether pending keys are retained, so that their indices are not reused. A subscription to one key retains that key
    /// anyway.
    var holdsWhatWaits: Bool { key == nil }

    /// The number of pending keys, held back ones included.
    var waitingCount: Int {
        switch pending {
        case .nothing, .drained: 0
        case .change: 1
        case .backlog(let backlog): backlog.queue.count + (backlog.scan?.remainingCount ?? 0)
        }
    }

    /// Its pending change, if that is all and it may be sent at once.
    var pendingUpdate: PendingUpdate? {
        guard case .change(let commits) = pending, case .key(let entity) = selector, !needsProjection,
            terms.rateInterval == nil
        else { return nil }
        return PendingUpdate(
            entity: entity, commits: commits, number: number, selection: usualSelection, view: terms.view,
            isUsual: isLive && !isSituated && terms.isUsual)
    }

    /// Its backlog, if it has one; an update that is pending without one is not in it.
    var backlog: Backlog? {
        switch pending {
        case .nothing, .change: nil
        case .backlog(let backlog), .drained(let backlog): backlog
        }
    }

    func isWaiting(for entity: EntityIndex) -> Bool {
        switch pending {
        case .nothing, .drained: false
        case .change: key == entity
        case .backlog(let backlog): backlog.queue.contains(entity)
        }
    }

    /// Marks the row of a commit as pending, if the subscription follows one key, sees all of it, and nothing but earlier commits
    /// is pending.
    ///
    /// This is the common case.
    mutating func mark(_ commit: Int64) -> MarkResult {
        guard key != nil, terms.account == nil else { return .refused }
        switch pending {
        case .nothing:
            guard let commits = PendingCommits(first: commit) else { return .refused }
            pending = .change(commits)
            return .begun
        case .change(var commits):
            guard commits.fold() else { return .refused }
            pending = .change(commits)
            return .folded
        case .backlog, .drained: return .refused
        }
    }

    /// ``pendingUpdate`` is sent now.
    mutating func markSent() { pending = .nothing }

    /// ``pendingUpdate`` was sent with a cursor.
    mutating func markSent(showing placement: Placement?, at commit: Int64) {
        pending = .nothing
        shownOfKey = placement
        sentCursor = commit
    }

    /// Its backlog, ready to take pending rows; created if it has none.
    mutating func needBacklog() -> Backlog {
        if let backlog = openBacklog() { return backlog }
        let new = Backlog()
        pending = .backlog(new)
        return new
    }

    /// Its backlog; `nil` if nothing is pending in it and it has none.
    mutating func openBacklog() -> Backlog? {
        switch pending {
        case .nothing: return nil
        case .backlog(let backlog): return backlog
        case .drained(let backlog):
            pending = .backlog(backlog)
            return backlog
        case .change(let commits):
            let new = Backlog()
            if let key { new.queue.insert(key, DirtyQueue.Entry(commits)) }
            pending = .backlog(new)
            return new
        }
    }

    /// Everything pending has been sent, except what a rate holds back.
    mutating func noteDrained() {
        guard case .backlog(let backlog) = pending, backlog.scan == nil, backlog.queue.isEmpty,
            backlog.queue.count == 0,
            backlog.notice?.isDue != true
        else { return }
        backlog.noteAllSent()
        pending = key != nil && backlog.isEmpty ? .nothing : .drained(backlog)
    }

    /// The snapshot or the resume becomes all that is pending.
    ///
    /// - Parameter isPlaced: Its activities have their placements.
    mutating func finishFilling(isPlaced: Bool = false) {
        needsProjection = terms.competes && !isPlaced
        needBacklog().queue.markLive()
    }

    /// A scan over the table becomes all that is pending.
    mutating func begin(_ scan: TableScan) { needBacklog().scan = scan }

    /// Frees memory that is no longer needed at `time`.
    mutating func trim(at time: MonotonicTime) {
        guard let backlog else { return }
        backlog.trim(at: time, rateInterval: terms.rateInterval)
        if backlog.isEmpty { pending = .nothing }
    }

    // MARK: What it shows

    /// The placement that the subscriber holds for a key, if it does not follow from the key.
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

    /// All placements that it holds, by key.
    var allShown: [Int32: Placement] {
        guard let key else { return backlog?.shown.all ?? [:] }
        return shownOfKey.map { [key.rawValue: $0] } ?? [:]
    }

    /// The subscriber has the key's row, or will get one.
    func knows(_ entity: EntityIndex) -> Bool { shown(entity) != nil || isWaiting(for: entity) }

    /// Whether a resume in progress has yet to reach a key, which its reader may hold. A reader of an account has no such resume.
    func resumes(over entity: EntityIndex) -> Bool {
        guard let scan = backlog?.scan, case .resume = scan.purpose else { return false }
        return scan.covers(entity)
    }
}

extension OptionSet where Element == Self {
    fileprivate mutating func set(_ element: Self, _ isOn: Bool) {
        if isOn { insert(element) } else { remove(element) }
    }
}
