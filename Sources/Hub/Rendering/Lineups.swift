internal import FanOut
internal import Surfaces
internal import TelltaleModel

/// Caches the activities that compete in views of accounts, and their placements, until something relevant changes.
///
/// Accounts without activities of their own that dismissed none of the first ones share one lineup.
struct Lineups {
    /// Screens that show the same of a lineup. It contains no text of a client.
    struct Scene: Hashable {
        let surface: Surface
        let traits: Traits
        /// The number of the app in front, if there may be activities of it.
        let foreground: Int32?

        init(_ surface: Surface, _ traits: Traits, foreground: Int32?) {
            (self.surface, self.traits, self.foreground) = (surface, traits.placing, foreground)
        }
    }

    struct Placed {
        var placements: [Int32: Placement] = [:]
        /// How many were examined and placed, including hidden ones.
        var count = 0
    }

    struct Selection: Hashable {
        var account: String?
        var kind: Int32?
    }

    /// A lineup, and whose it is.
    typealias Found = (selection: Selection, lineup: Competition.Lineup)

    private struct Stage: Hashable {
        var selection: Selection
        var scene: Scene
    }

    private var lineups: [Selection: Competition.Lineup] = [:]
    private var placed: [Stage: Placed] = [:]
    private var version = -1
    private var revision = -1

    /// More entries of either are not worth their memory.
    static let limit = 1_024

    var placedCount: Int { placed.count }

    /// Forgets everything if something has changed.
    mutating func expect(version: Int, revision: Int) {
        guard version != self.version || revision != self.revision else { return }
        (self.version, self.revision, lineups, placed) = (version, revision, [:], [:])
    }

    /// The activities that compete in a view of an account.
    mutating func lineup(
        for terms: SubscriptionTerms, kind: Int32?, _ store: borrowing EntityStore
    ) -> Found {
        if let account = terms.account, !store.hasOwnActivities(account) {
            let common = lineup(of: Selection(kind: kind), digest: nil, store)
            if store.areVisible(common.entities, to: account, digest: terms.accountDigest) {
                return (Selection(kind: kind), common)
            }
        }
        let selection = Selection(account: terms.account, kind: kind)
        return (selection, lineup(of: selection, digest: terms.accountDigest, store))
    }

    private mutating func lineup(
        of selection: Selection, digest: UInt64?, _ store: borrowing EntityStore
    ) -> Competition.Lineup {
        if let known = lineups[selection] { return known }
        let lineup = store.lineup(for: selection.account, digest: digest, kind: selection.kind)
        if lineups.count >= Self.limit { lineups = [:] }
        lineups[selection] = lineup
        return lineup
    }

    /// - Parameters:
    ///   - limit: The most activities that a view shows.
    ///   - project: Returns the placement of each activity.
    mutating func placements(
        of found: Found, in scene: Scene, limit: Int, _ project: ([EntityIndex]) -> [Placement]
    ) -> Placed {
        let (stage, lineup) = (Stage(selection: found.selection, scene: scene), found.lineup)
        if let known = placed[stage] { return known }
        var new = Placed(count: lineup.lookedAtCount)
        for (entity, placement) in zip(lineup.entities, project(lineup.entities)) where placement.isShown {
            if placement.order <= limit {
                new.placements[entity.rawValue] = placement
            } else {
                new.count -= 1
            }
        }
        if placed.count >= Self.limit { placed = [:] }
        placed[stage] = new
        return new
    }
}

extension EntityStore {
    fileprivate func areVisible(_ entities: [EntityIndex], to account: String, digest: UInt64?) -> Bool {
        for entity in entities where !isVisible(entity, to: account, digest: digest) { return false }
        return true
    }
}
