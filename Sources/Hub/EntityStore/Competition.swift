internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

/// What decides an activity's rank in the view of an account (Protocols/Surfaces/rules.md C10).
struct Contender: Equatable, Sendable {
    enum Tier: UInt8, Comparable, Sendable {
        /// Active or stale.
        case live
        case ended
        /// It exists, but no view shows it: it is pending, or was stale from its start and is hidden for that.
        case unseen
        case absent

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Live before ended, then by relevance score, then by start; the bytes of the key break ties.
    struct Rank: Equatable, Sendable {
        var tier = Tier.absent
        var score = 0.0
        var startedAt = Timestamp.distantPast
    }

    /// What a change of an activity can change, except its accounts.
    struct Features: Equatable, Sendable {
        var rank = Rank()
        var kind: Int32 = -1
        /// The version of the kind, which decides the app and the families.
        var version = -1
        /// `distantPast` = never.
        var lastAlertAt = Timestamp.distantPast
        var isAlerting = false

        /// A view may show it.
        var isSeen: Bool { rank.tier <= .ended }
    }

    var features = Features()
    var key = ""
    /// Its accounts; empty = everybody.
    var accounts: [String] = []

    var kind: Int32 { features.kind }

    /// `nil` if they tie.
    static func precedes(_ left: Rank, _ right: Rank) -> Bool? {
        if left.tier != right.tier { return left.tier < right.tier }
        if left.score != right.score { return left.score > right.score }
        if left.startedAt != right.startedAt { return left.startedAt < right.startedAt }
        return nil
    }
}

extension ActivityBox {
    func features(kind: Int32, version: Int, hidesStaleFromStart: Bool) -> Contender.Features {
        let isHidden = value.isWithheld && hidesStaleFromStart
        let tier: Contender.Tier =
            switch value.lifecycle {
            case .pending: .unseen
            case .active, .stale: isHidden ? .unseen : .live
            case .ended: isHidden ? .unseen : .ended
            case .dismissed: .absent
            }
        return Contender.Features(
            rank: Contender.Rank(tier: tier, score: value.score ?? 0, startedAt: value.startedAt), kind: kind,
            version: version, lastAlertAt: value.lastAlertAt ?? .distantPast, isAlerting: value.isAlerting)
    }

    /// Whether an event that led here from `former` kept all that ``features(kind:version:hidesStaleFromStart:)`` depends on.
    func keepsFeatures(of former: ActivityBox) -> Bool {
        value.lifecycle == former.value.lifecycle && value.score == former.value.score
            && value.startedAt == former.value.startedAt && value.lastAlertAt == former.value.lastAlertAt
            && value.isAlerting == former.value.isAlerting && value.isWithheld == former.value.isWithheld
    }
}

/// Ranks the activities of each kind: those of everybody, and those of each account.
///
/// For each kind, the first ``limit`` that an account can see compete in its views; the others are treated as absent. They are
/// sought among the first ``examinedLimit`` of everybody's and of the account's own, because it may have dismissed any of them.
/// So a change costs O(log n), and a change beyond the first ``limit`` affects no view but those of accounts that dismissed some.
///
/// It follows from the entities: it is in no snapshot, and changes only with commits.
struct Competition: Sendable {
    /// Which views a change may affect.
    struct Reach: Equatable, Sendable {
        /// Its best position, before or after, among everybody's of its kind, from 0; `nil` if that is beyond the requested
        /// depth, or if it was and is for named accounts only.
        var position: Int?
        /// The accounts that it was or is for.
        var accounts: [String] = []
        /// Something other than its content changed, so it and others may move.
        var isReordered = false
    }

    /// The activities that compete in the views of an account, best first.
    struct Lineup: Equatable, Sendable {
        var entities: [EntityIndex] = []
        /// The most activities of everybody's of one kind that were examined. Changes beyond this position do not affect the
        /// lineup.
        var depth = 0
        /// How many activities were examined: those that compete, and those that the account dismissed.
        var lookedAtCount = 0
    }

    private typealias Line = SortedChunks<Int32>

    /// How many activities of a kind are examined for a view, dismissed ones included: of everybody's, and of the account's own.
    static let examinedLimit = 4_096

    /// How many activities of a kind compete in a view, and how many a view shows.
    let limit: Int
    private let examinedLimit: Int
    /// An activity that was stale from its start does not compete until it becomes active.
    let hidesStaleFromStart: Bool
    /// Indexed by entity.
    private var contenders: [Contender] = []
    private var shared: [Int32: Line] = [:]
    private var personal: [String: [Int32: Line]] = [:]
    private(set) var sharedCount = 0
    /// Increases with every change that may affect a view.
    private(set) var version = 0

    init(
        limit: Int = Limits().activitiesPerView, examinedLimit: Int = Self.examinedLimit,
        hidesStaleFromStart: Bool = true
    ) {
        self.hidesStaleFromStart = hidesStaleFromStart
        self.limit = max(1, limit)
        self.examinedLimit = max(self.limit, examinedLimit)
    }

    func hasOwn(_ account: String) -> Bool { personal[account] != nil }

    /// How many activities may be shown to an account, dismissed ones included.
    ///
    /// - Parameter kind: `nil` = of all kinds.
    func count(for account: String, kind: Int32?) -> Int {
        let own = personal[account]
        if let kind { return (shared[kind]?.count ?? 0) + (own?[kind]?.count ?? 0) }
        return sharedCount + (own?.values.reduce(0) { $0 + $1.count } ?? 0)
    }

    // MARK: Changes

    /// Records a change of an activity if it keeps its features and its accounts. This is the common case, so nothing is copied.
    ///
    /// - Parameter depth: As for ``update(_:to:within:)``.
    /// - Returns: `nil` if the features or the accounts differ; nothing is recorded then.
    mutating func confirm(
        _ entity: EntityIndex, _ features: Contender.Features, of activity: ActivityBox, within depth: Int
    ) -> Reach? {
        let index = Int(entity.rawValue)
        guard index < contenders.count, contenders[index].features == features else { return nil }
        // An index is given to another key only after its activity was absent.
        guard features.rank.tier != .absent else { return nil }
        let isEverybodys = activity.isForEverybody && contenders[index].accounts.isEmpty
        guard isEverybodys || contenders[index].accounts == activity.accounts else { return nil }
        return noteUnmoved(entity, within: depth)
    }

    /// Records a change of an activity that keeps its features and its accounts.
    ///
    /// - Parameter depth: As for ``update(_:to:within:)``.
    mutating func noteUnmoved(_ entity: EntityIndex, within depth: Int) -> Reach {
        let index = Int(entity.rawValue)
        guard depth > 0, index < contenders.count else {
            version += 1
            return Reach()
        }
        let contender = contenders[index]
        let position = position(of: entity, contender, within: depth)
        if position != nil || !contender.accounts.isEmpty { version += 1 }
        return Reach(position: position, accounts: contender.accounts)
    }

    /// Records the current rank of an activity.
    ///
    /// - Parameter depth: The deepest position among everybody's of a kind that affects a view; 0 = there is no view.
    mutating func update(_ entity: EntityIndex, to contender: Contender, within depth: Int) -> Reach {
        let index = Int(entity.rawValue)
        while contenders.count <= index { contenders.append(Contender()) }
        guard contenders[index] != contender else { return noteUnmoved(entity, within: depth) }
        let former = contenders[index]
        var reach = Reach(
            position: position(of: entity, former, within: depth), accounts: former.accounts, isReordered: true)
        if former.features.isSeen { remove(entity, former) }
        // Nothing is kept of an activity that is gone.
        contenders[index] = contender.features.rank.tier == .absent ? Contender() : contender
        if contender.features.isSeen { insert(entity, contender) }
        if let position = position(of: entity, contender, within: depth) {
            reach.position = min(reach.position ?? position, position)
        }
        for account in contender.accounts where !reach.accounts.contains(account) { reach.accounts.append(account) }
        if depth == 0 || reach.position != nil || !reach.accounts.isEmpty { version += 1 }
        return reach
    }

    /// Removes an index that no longer holds an activity.
    mutating func forget(_ entity: EntityIndex) {
        let index = Int(entity.rawValue)
        guard contenders.indices.contains(index), contenders[index].features.rank.tier != .absent else { return }
        _ = update(entity, to: Contender(), within: 0)
    }

    /// - Returns: The position after all others, if no view shows it.
    private func position(of entity: EntityIndex, _ contender: Contender, within depth: Int) -> Int? {
        let depth = min(depth, examinedLimit)
        guard depth > 0, contender.kind >= 0, contender.accounts.isEmpty else { return nil }
        guard contender.features.isSeen else {
            let count = shared[contender.kind]?.count ?? 0
            return count < depth ? count : nil
        }
        return shared[contender.kind]?.position(of: entity.rawValue, within: depth, by: precedes)
    }

    private func precedes(_ left: Int32, _ right: Int32) -> Bool { Self.precedes(left, right, in: contenders) }

    private static func precedes(_ left: Int32, _ right: Int32, in contenders: [Contender]) -> Bool {
        let (left, right) = (Int(left), Int(right))
        return Contender.precedes(contenders[left].features.rank, contenders[right].features.rank)
            ?? contenders[left].key.precedesInBytes(contenders[right].key)
    }

    private mutating func insert(_ entity: EntityIndex, _ contender: Contender) {
        let contenders = contenders
        func precedes(_ left: Int32, _ right: Int32) -> Bool { Self.precedes(left, right, in: contenders) }
        if contender.accounts.isEmpty {
            sharedCount += 1
            shared[contender.kind, default: Line()].insert(entity.rawValue, by: precedes)
        }
        for account in contender.accounts {
            personal[account, default: [:]][contender.kind, default: Line()].insert(entity.rawValue, by: precedes)
        }
    }

    private mutating func remove(_ entity: EntityIndex, _ contender: Contender) {
        let contenders = contenders
        func precedes(_ left: Int32, _ right: Int32) -> Bool { Self.precedes(left, right, in: contenders) }
        if contender.accounts.isEmpty {
            sharedCount -= 1
            shared[contender.kind]?.remove(entity.rawValue, by: precedes)
            if shared[contender.kind]?.isEmpty == true { shared[contender.kind] = nil }
        }
        for account in contender.accounts {
            personal[account]?[contender.kind]?.remove(entity.rawValue, by: precedes)
            if personal[account]?[contender.kind]?.isEmpty == true { personal[account]?[contender.kind] = nil }
            if personal[account]?.isEmpty == true { personal[account] = nil }
        }
    }

    // MARK: Views

    /// The activities that compete in the views of an account.
    ///
    /// - Parameters:
    ///   - account: `nil` = any account without its own activities.
    ///   - kind: `nil` = all kinds.
    ///   - more: How many beyond the limits of a kind are examined too, because they may have competed before.
    ///   - isVisible: Whether the account sees an activity. It may have dismissed it.
    func lineup(
        for account: String?, kind: Int32?, more: [Int32: Int] = [:], where isVisible: (EntityIndex) -> Bool
    ) -> Lineup {
        let own = account.flatMap { personal[$0] } ?? [:]
        let kinds = kind.map { [$0] } ?? Array(Set(shared.keys).union(own.keys))
        var lineup = Lineup(depth: limit)
        for kind in kinds {
            let more = more[kind, default: 0]
            let limit = limit + more
            let (shared, sharedSkips) = first(limit, of: shared[kind], examining: examinedLimit + more, isVisible)
            let (own, ownSkips) = first(limit, of: own[kind], examining: examinedLimit + more, isVisible)
            var both = shared + own
            if !own.isEmpty, !shared.isEmpty { both.sort(by: precedes) }
            lineup.entities += both.prefix(limit).map { EntityIndex($0) }
            lineup.depth = max(lineup.depth, min(limit + sharedSkips, examinedLimit))
            lineup.lookedAtCount += min(both.count, limit) + sharedSkips + ownSkips
        }
        if kinds.count > 1 { lineup.entities.sort { precedes($0.rawValue, $1.rawValue) } }
        return lineup
    }

    private func first(
        _ limit: Int, of line: Line?, examining examinedLimit: Int, _ isVisible: (EntityIndex) -> Bool
    ) -> (found: [Int32], skipCount: Int) {
        var (found, skipCount): ([Int32], Int) = ([], 0)
        guard let line else { return (found, skipCount) }
        for raw in line.elements {
            guard found.count < limit, found.count + skipCount < examinedLimit else { break }
            if isVisible(EntityIndex(raw)) { found.append(raw) } else { skipCount += 1 }
        }
        return (found, skipCount)
    }
}
