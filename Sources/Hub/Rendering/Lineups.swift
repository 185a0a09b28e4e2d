internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// Caches the activities that compete in views of accounts, and their placements, until something relevant changes.
///
/// Accounts without activities of their own that dismissed none of the first ones share one lineup.
struct Lineups {
    struct Scene: Hashable {
        var surface: Surface
        var traits: Traits
    }

    struct Placed {
        var placements: [Int32: Placement] = [:]
        /// How many were examined and placed, including hidden ones.
        var count = 0
    }

    /// A class, so that placements are cached with the lineup that they follow from.
    final class Shared {
        private let lineup: Competition.Lineup
        private var placed: [Scene: Placed] = [:]

        init(_ lineup: Competition.Lineup) { self.lineup = lineup }

        var depth: Int { lineup.depth }
        var entities: [EntityIndex] { lineup.entities }

        /// - Parameters:
        ///   - limit: The most activities that a view shows.
        ///   - project: Returns the placement of each activity.
        func placements(in scene: Scene, limit: Int, _ project: ([EntityIndex]) -> [Placement]) -> Placed {
            if let known = placed[scene] { return known }
            var new = Placed(count: lineup.lookedAtCount)
            for (entity, placement) in zip(lineup.entities, project(lineup.entities)) where placement.isShown {
                if placement.order <= limit {
                    new.placements[entity.rawValue] = placement
                } else {
                    new.count -= 1
                }
            }
            placed[scene] = new
            return new
        }
    }

    private struct Selection: Hashable {
        var account: String?
        var kind: Int32?
    }

    private var shared: [Selection: Shared] = [:]
    private var version = -1
    private var revision = -1

    /// More entries are not worth their memory.
    private static let limit = 1_024

    /// Forgets everything if something has changed.
    mutating func expect(version: Int, revision: Int) {
        guard version != self.version || revision != self.revision else { return }
        (self.version, self.revision, shared) = (version, revision, [:])
    }

    /// The activities that compete in a view of an account.
    mutating func lineup(for account: String, kind: Int32?, _ store: borrowing EntityStore) -> Shared {
        if !store.competition.hasOwn(account) {
            let common = lineup(of: Selection(kind: kind), store)
            if store.areVisible(common.entities, to: account) { return common }
        }
        return lineup(of: Selection(account: account, kind: kind), store)
    }

    private mutating func lineup(of selection: Selection, _ store: borrowing EntityStore) -> Shared {
        if let known = shared[selection] { return known }
        let lineup = store.lineup(for: selection.account, kind: selection.kind)
        if shared.count >= Self.limit { shared = [:] }
        let new = Shared(lineup)
        shared[selection] = new
        return new
    }
}

extension EntityStore {
    fileprivate func areVisible(_ entities: [EntityIndex], to account: String) -> Bool {
        for entity in entities where !isVisible(entity, to: account) { return false }
        return true
    }
}
