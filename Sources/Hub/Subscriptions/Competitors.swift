internal import FanOut

/// The subscriptions to many keys with competing activities, by how deep each looks into the ranking of a kind.
///
/// A change concerns only the subscriptions that look as deep as its position, and those of its accounts. Only an account that
/// dismissed some of the first activities looks deeper than the first level.
struct Competitors {
    private struct Follower {
        var index: SubscriptionIndex
        var selector: PatternIndex.Selector
    }

    private struct Level {
        var patterns = PatternIndex()
        var count = 0
    }

    /// Each level looks twice as deep as the one before.
    private var levels = [Level()]
    /// The levels of subscriptions that are not at the first one.
    private var levelNumbers: [Int32: Int] = [:]
    private var byAccount: [String: [Follower]] = [:]
    /// Increases when the deepest level changes: from then on, other changes matter.
    private(set) var revision = 0

    /// The deepest level with a subscription; -1 = there is none.
    private var deepest = -1

    /// The deepest position that matters to any of them; 0 = none.
    ///
    /// - Parameter limit: The depth of the first level.
    func depth(limit: Int) -> Int { deepest < 0 ? 0 : limit << deepest }

    mutating func insert(_ index: SubscriptionIndex, _ selector: PatternIndex.Selector, account: String) {
        place(index, selector, at: 0)
        byAccount[account, default: []].append(Follower(index: index, selector: selector))
    }

    mutating func remove(_ index: SubscriptionIndex, _ selector: PatternIndex.Selector, account: String) {
        displace(index, selector)
        byAccount[account]?.removeAll { $0.index == index }
        if byAccount[account]?.isEmpty == true { byAccount[account] = nil }
    }

    /// Sets how deep one of them looks.
    mutating func setDepth(
        _ depth: Int, limit: Int, of index: SubscriptionIndex, _ selector: PatternIndex.Selector
    ) {
        var level = 0
        while limit << level < depth { level += 1 }
        guard levelNumbers[index.rawValue] ?? 0 != level else { return }
        displace(index, selector)
        place(index, selector, at: level)
    }

    private mutating func place(_ index: SubscriptionIndex, _ selector: PatternIndex.Selector, at level: Int) {
        while levels.count <= level { levels.append(Level()) }
        levels[level].patterns.insert(index, selector)
        levels[level].count += 1
        if level > 0 { levelNumbers[index.rawValue] = level }
        noteDeepest()
    }

    private mutating func displace(_ index: SubscriptionIndex, _ selector: PatternIndex.Selector) {
        let level = levelNumbers.removeValue(forKey: index.rawValue) ?? 0
        levels[level].patterns.remove(index, selector)
        levels[level].count -= 1
        noteDeepest()
    }

    private mutating func noteDeepest() {
        let now = levels.lastIndex { $0.count > 0 } ?? -1
        if now != deepest { (deepest, revision) = (now, revision + 1) }
    }

    /// Whether any of them follows a widget, or a tile, of `kind`.
    func hasFollowers(ofWidget entity: EntityIndex, _ kind: Int32) -> Bool {
        levels.contains { $0.patterns.hasFollowers(ofWidget: entity, kind) }
    }

    /// Whether any of them follows all of a board.
    func hasFollowers(ofBoard number: Int32) -> Bool {
        levels.contains { $0.patterns.hasFollowers(ofBoard: number) }
    }

    /// Appends all of them that follow a key.
    func appendFollowers(
        of entity: EntityIndex, _ kind: Int32, isWidget: Bool, to followers: inout [SubscriptionIndex]
    ) {
        for level in levels { level.patterns.appendFollowers(of: entity, kind, isWidget: isWidget, to: &followers) }
    }

    /// Appends those that the change of an activity concerns, each once.
    func appendFollowers(
        of entity: EntityIndex, _ kind: Int32, within reach: Competition.Reach, limit: Int,
        to followers: inout [SubscriptionIndex]
    ) {
        let start = followers.count
        if let position = reach.position {
            for (number, level) in levels.enumerated() where limit << number > position {
                level.patterns.appendFollowers(of: entity, kind, to: &followers)
            }
        }
        for account in reach.accounts {
            for follower in byAccount[account] ?? [] {
                switch follower.selector {
                case .all, .allWithWidgets: break
                case .kind(let own): if own != kind { continue }
                case .key: continue
                }
                if reach.position != nil, followers[start...].contains(follower.index) { continue }
                followers.append(follower.index)
            }
        }
    }
}
