import FanOut
import Machines
import Surfaces
import TelltaleModel
import TestSupport
import Testing

@testable import Hub

/// Which activities take part in views of accounts, and which views a change concerns, against a model that looks at all of them.
struct CompetitionTests {
    @Test func `in random histories, a view that no change concerned shows what the model shows`() {
        for seed in Lane.some(0..<10_000 as Range<UInt64>, atEveryChange: 500) {
            if let fault = CompetitionHistory.run(seed: seed) {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }

    @Test("the model finds what is wrong", arguments: CompetitionHistory.Planted.allCases)
    func planted(_ bug: CompetitionHistory.Planted) {
        let isFound = (0..<1_000 as Range<UInt64>).contains { CompetitionHistory.run(seed: $0, bug: bug) != nil }
        #expect(isFound, "no history shows \(bug)")
    }

    @Test func `a change behind the first of its kind concerns nobody, and one among them everybody`() {
        var competition = Competition(limit: 2)
        func activity(_ number: Int, score: Double) -> Contender {
            var contender = Contender()
            contender.features.rank = Contender.Rank(tier: .live, score: score, startedAt: .distantPast)
            (contender.key, contender.features.kind) = ("k/\(number)", 1)
            return contender
        }
        for number in 0..<1_000 {
            _ = competition.update(EntityIndex(Int32(number)), to: activity(number, score: Double(number)), within: 2)
        }
        let version = competition.version
        let last = competition.update(EntityIndex(3), to: activity(3, score: 997.5), within: 2)
        #expect(last == Competition.Reach(position: nil, accounts: [], isReordered: true))
        #expect(competition.version == version)
        let second = competition.update(EntityIndex(3), to: activity(3, score: 998.5), within: 2)
        #expect(second.position == 1 && competition.version > version)
        let same = competition.update(EntityIndex(3), to: activity(3, score: 998.5), within: 2)
        #expect(same.position == 1 && !same.isReordered)
        #expect(competition.lineup(for: "a", kind: nil) { _ in true }.entities.map(\.rawValue) == [999, 3])
        #expect(competition.count(for: "a", kind: nil) == 1_000)
    }

    @Test func `4,096 of a kind are examined for an account that dismissed more, and no change beyond concerns it`() {
        var (competition, competitors) = (Competition(limit: 64), Competitors())
        func activity(_ number: Int, accounts: [String] = []) -> Contender {
            var contender = Contender(key: "k/\(number)", accounts: accounts)
            contender.features.rank = Contender.Rank(
                tier: .live, score: Double(-number), startedAt: .distantPast)
            contender.features.kind = 1
            return contender
        }
        for number in 0..<12_000 {
            let contender = activity(number, accounts: number % 2 == 0 ? [] : ["a"])
            _ = competition.update(EntityIndex(Int32(number)), to: contender, within: 0)
        }
        var examinedCount = 0
        let lineup = competition.lineup(for: "a", kind: 1) { _ in
            examinedCount += 1
            return false
        }
        #expect(lineup.entities == [] && lineup.depth == 4_096)
        #expect(examinedCount == 2 * 4_096 && lineup.lookedAtCount == 2 * 4_096)
        // A resume looks further by as many as changed.
        #expect(competition.lineup(for: "a", kind: 1, more: [1: 3]) { _ in false }.lookedAtCount == 2 * 4_099)
        competitors.insert(SubscriptionIndex(0), .kind(1), account: "a")
        competitors.setDepth(lineup.depth, limit: 64, of: SubscriptionIndex(0), .kind(1))
        let depth = competitors.depth(limit: 64)
        #expect(depth == 4_096)
        var last = activity(2 * 4_095)
        last.features.isAlerting = true
        #expect(competition.update(EntityIndex(2 * 4_095), to: last, within: depth).position == 4_095)
        var next = activity(2 * 4_096)
        next.features.isAlerting = true
        #expect(competition.update(EntityIndex(2 * 4_096), to: next, within: .max).position == nil)
    }

    @Test func `what took part at some moment, and did not change since, is found by how much changed`() {
        for seed in Lane.some(0..<2_000 as Range<UInt64>, atEveryChange: 500) {
            var random = SeededGenerator(seed: seed)
            var competition = Competition(limit: 3)
            var (changed, known): (Set<EntityIndex>, Set<EntityIndex>) = ([], [])
            for step in 0..<24 {
                let entity = EntityIndex(Int32(random.below(16)))
                var contender = CompetitionHistory.contender(key: "k/\(entity.rawValue)", &random)
                if contender.features.rank.tier != .absent { contender.features.kind = entity.rawValue % 2 }
                _ = competition.update(entity, to: contender, within: 3)
                // Up to the cursor, everything may change.
                if step >= 12 { changed.insert(entity) }
                if step >= 11 { known.formUnion(competition.lineup(for: "a", kind: nil) { _ in true }.entities) }
                var more: [Int32: Int] = [:]
                for entity in changed { more[entity.rawValue % 2, default: 0] += 1 }
                let found = competition.lineup(for: "a", kind: nil, more: more) { _ in true }.entities
                guard known.subtracting(changed).isSubset(of: found) else {
                    Issue.record("seed \(seed), step \(step)")
                    return
                }
            }
        }
    }

    @Test func `what comes and goes leaves nothing behind`() {
        var random = SeededGenerator(seed: 4)
        var competition = Competition(limit: 3)
        for _ in 0..<2_000 {
            let raw = Int32(random.below(40))
            let contender = CompetitionHistory.contender(key: "k/\(raw)", &random)
            _ = competition.update(EntityIndex(raw), to: contender, within: 3)
        }
        for raw in 0..<20 as Range<Int32> { _ = competition.update(EntityIndex(raw), to: Contender(), within: 3) }
        // What was dismissed and forgotten in one batch is published as nothing.
        for raw in 20..<50 as Range<Int32> { competition.forget(EntityIndex(raw)) }
        for account in ["a", "b"] {
            #expect(!competition.hasOwn(account) && competition.count(for: account, kind: nil) == 0)
        }
        #expect(competition.lineup(for: nil, kind: nil) { _ in true }.entities.isEmpty)
    }
}

/// Activities of everybody and of accounts come, go, change their ranks and are dismissed; views are looked at anew only where a
/// change concerns them.
struct CompetitionHistory {
    enum Planted: CaseIterable {
        /// A change in the last place that counts is passed over.
        case thresholdOffByOne
        /// An activity that an account dismissed keeps its place in the account's views.
        case dismissedWinnerKept
        /// Ties go by the index of the key, which differs from node to node.
        case tieByIndex
        /// An account that dismissed all that are examined for it sees what is behind them.
        case endlessLook
    }

    private struct View {
        var account: String
        var kind: Int32?
        var surface: Surface
        var index: SubscriptionIndex
        var placements: [Int32: Placement] = [:]

        var selector: PatternIndex.Selector { kind.map { .kind($0) } ?? .all }
    }

    private static let limit = 3
    private static let examinedLimit = 4
    private static let count: Int32 = 14

    private var random: SeededGenerator
    private let bug: Planted?
    private var competition: Competition
    private var competitors = Competitors()
    private var contenders: [Int32: Contender] = [:]
    private var dismissals: Set<String> = []
    private var views: [View] = []
    private let keys: [String]

    private init(seed: UInt64, bug: Planted?) {
        random = SeededGenerator(seed: seed)
        self.bug = bug
        competition = Competition(limit: Self.limit, examinedLimit: bug == .endlessLook ? 100 : Self.examinedLimit)
        // The order of the keys is not that of their indices.
        keys = (0..<Self.count).map { "k/\($0 * 5 % Self.count)" }
        for number in 0..<6 as Range<Int32> {
            let view = View(
                account: ["a", "b", "c"][Int(random.below(3))], kind: random.chance(50) ? nil : Int32(random.below(2)),
                surface: Surface.allCases[Int(random.below(UInt64(Surface.allCases.count)))],
                index: SubscriptionIndex(number))
            competitors.insert(view.index, view.selector, account: view.account)
            views.append(view)
        }
    }

    /// - Returns: The first difference from the model.
    static func run(seed: UInt64, bug: Planted? = nil) -> String? {
        var history = CompetitionHistory(seed: seed, bug: bug)
        for step in 0..<24 {
            history.act()
            if let fault = history.fault() { return "step \(step): \(fault)" }
        }
        return nil
    }

    static func contender(key: String, _ random: inout SeededGenerator) -> Contender {
        var contender = Contender()
        let tier = [Contender.Tier.live, .live, .live, .ended, .unseen, .absent][Int(random.below(6))]
        contender.features.rank = Contender.Rank(
            tier: tier, score: Double(random.below(3)), startedAt: Timestamp(milliseconds: Int64(random.below(3))))
        contender.key = key
        contender.features.kind = Int32(random.below(2))
        contender.features.version = Int(contender.kind)
        contender.accounts = [[], [], ["a"], ["a", "b"]][Int(random.below(4))]
        if random.chance(30) { contender.features.lastAlertAt = Timestamp(milliseconds: Int64(1 + random.below(4))) }
        contender.features.isAlerting = contender.features.lastAlertAt != .distantPast && random.chance(50)
        return contender
    }

    // MARK: Steps

    private mutating func act() {
        let raw = Int32(random.below(UInt64(Self.count)))
        if random.chance(25), let former = contenders[raw] {
            let account = ["a", "b", "c"][Int(random.below(3))]
            dismissals.insert("\(account) \(raw)")
            // What an account does with an activity changes nothing of its rank.
            return setContender(former, at: raw)
        }
        var next = Self.contender(key: bug == .tieByIndex ? "k/\(10 + raw)" : keys[Int(raw)], &random)
        if let former = contenders[raw], random.chance(70) {
            (next.features.kind, next.features.version) = (former.kind, former.features.version)
        }
        if next.features.rank.tier == .absent { dismissals = dismissals.filter { !$0.hasSuffix(" \(raw)") } }
        setContender(next, at: raw)
    }

    private mutating func setContender(_ contender: Contender, at raw: Int32) {
        let entity = EntityIndex(raw)
        var reach = competition.update(entity, to: contender, within: competitors.depth(limit: Self.limit))
        let isGone = contender.features.rank.tier == .absent
        let kinds = Set([contenders[raw]?.kind, isGone ? nil : contender.kind].compactMap(\.self))
        contenders[raw] = isGone ? nil : contender
        if bug == .thresholdOffByOne, reach.position == Self.limit - 1 { reach.position = nil }
        var concerned: [SubscriptionIndex] = []
        for kind in kinds.sorted() {
            competitors.appendFollowers(of: entity, kind, within: reach, limit: Self.limit, to: &concerned)
        }
        for position in views.indices where concerned.contains(views[position].index) { compare(position) }
    }

    private mutating func compare(_ position: Int) {
        let view = views[position]
        let lineup = competition.lineup(for: view.account, kind: view.kind) { entity in
            if bug == .dismissedWinnerKept, view.placements[entity.rawValue] != nil { return true }
            return !dismissals.contains("\(view.account) \(entity.rawValue)")
        }
        competitors.setDepth(lineup.depth, limit: Self.limit, of: view.index, view.selector)
        views[position].placements = placements(of: lineup.entities.map(\.rawValue), on: view.surface)
    }

    private func placements(of order: [Int32], on surface: Surface) -> [Int32: Placement] {
        let visible = order.enumerated().compactMap { position, raw in
            contenders[raw].map { Self.visible($0, index: Int32(position)) }
        }
        let placements = Projection.project(
            surface: surface, traits: Traits(), activities: visible, competing: true, limit: Self.limit)
        var shown: [Int32: Placement] = [:]
        for (raw, placement) in zip(order, placements) where placement.isShown && placement.order <= Self.limit {
            shown[raw] = placement
        }
        return shown
    }

    private static func visible(_ contender: Contender, index: Int32) -> VisibleActivity {
        let (standing, rank) = (contender.features, contender.features.rank)
        return VisibleActivity(
            index: index, app: Int32(standing.version), lifecycle: rank.tier == .live ? .active : .ended,
            score: rank.score, startedAt: rank.startedAt,
            lastAlertAt: standing.lastAlertAt == .distantPast ? nil : standing.lastAlertAt,
            isAlerting: standing.isAlerting)
    }

    // MARK: The model

    /// Today's projection of all that an account sees, of each kind the first three, and of what it shows the first three. Of
    /// everybody's and of the account's own, the first four of a kind count, dismissed ones included.
    private func fault() -> String? {
        for view in views {
            var order: [Int32] = []
            for kind in 0..<2 as Range<Int32> where view.kind == nil || view.kind == kind {
                let ranked = contenders.keys.sorted(by: comesFirst).filter {
                    contenders[$0]?.kind == kind && contenders[$0]?.features.isSeen == true
                }
                let shared = ranked.filter { contenders[$0]?.accounts.isEmpty == true }
                let own = ranked.filter { contenders[$0]?.accounts.contains(view.account) == true }
                let examined = shared.prefix(Self.examinedLimit) + own.prefix(Self.examinedLimit)
                let visible = examined.filter { !dismissals.contains("\(view.account) \($0)") }
                order += visible.sorted(by: comesFirst).prefix(Self.limit)
            }
            let model = placements(of: order.sorted(by: comesFirst), on: view.surface)
            if model != view.placements {
                return "\(view.surface) of \(view.account): \(view.placements), not \(model)"
            }
        }
        return nil
    }

    private func comesFirst(_ left: Int32, _ right: Int32) -> Bool {
        guard let one = contenders[left]?.features.rank, let other = contenders[right]?.features.rank else {
            return left < right
        }
        let (own, others) = (
            (one.tier.rawValue, -one.score, one.startedAt), (other.tier.rawValue, -other.score, other.startedAt)
        )
        return own == others ? keys[Int(left)] < keys[Int(right)] : own < others
    }
}
