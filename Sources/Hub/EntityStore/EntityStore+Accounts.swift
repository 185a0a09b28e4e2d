internal import FanOut
internal import Machines

// The keys visible to each account, and its count of activities.
extension EntityStore {
    /// Updates the list of visible keys after a change at `entity`.
    mutating func list(_ entity: EntityIndex) { list(entity, isListed: isListed(entity)) }

    mutating func list(_ entity: EntityIndex, isListed: Bool) {
        guard isListed else { return unlist(entity) }
        guard !accounts.isListed(entity) else { return }
        let (kind, names) = (entities[entity].kindName, audience(of: entity))
        let isActivity = if case .activity = entities[entity].state { true } else { false }
        changeAccounts { $0.list(entity, isActivity: isActivity, kind: kind, accounts: names) }
    }

    /// Removes `entity` from the list, before its content is replaced.
    mutating func unlist(_ entity: EntityIndex) {
        guard accounts.isListed(entity) else { return }
        let (kind, names) = (entities[entity].kindName, audience(of: entity))
        changeAccounts { $0.unlist(entity, kind: kind, accounts: names) }
    }

    /// Adds the activity at `entity` to its accounts' counts, or subtracts it.
    mutating func countActivity(at entity: EntityIndex, by difference: Int) {
        guard let activity = activity(at: entity), !activity.accounts.isEmpty else { return }
        let app = kinds.appNumbers[entities[entity].kind]
        let names = activity.value.occupiedAccounts
        changeAccounts { if difference > 0 { $0.add(names, app: app) } else { $0.remove(names, app: app) } }
    }
}
