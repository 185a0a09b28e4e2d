internal import FanOut
internal import Machines

// The keys that each account may be shown, and the room that its activities take up.
extension EntityStore {
    /// Brings the list of what there is to be shown in line with what stands at `entity`.
    mutating func list(_ entity: EntityIndex) { list(entity, isListed: isListed(entity)) }

    mutating func list(_ entity: EntityIndex, isListed: Bool) {
        guard isListed else { return unlist(entity) }
        guard !accounts.isListed(entity) else { return }
        let (kind, names) = (entities[entity].kindName, audience(of: entity))
        let isActivity = if case .activity = entities[entity].state { true } else { false }
        changeAccounts { $0.list(entity, isActivity: isActivity, kind: kind, accounts: names) }
    }

    /// Takes what stands at `entity` off that list, before something else is put there.
    mutating func unlist(_ entity: EntityIndex) {
        guard accounts.isListed(entity) else { return }
        let (kind, names) = (entities[entity].kindName, audience(of: entity))
        changeAccounts { $0.unlist(entity, kind: kind, accounts: names) }
    }

    /// Counts what the activity at `entity` takes up of its accounts' room, once more or once less.
    mutating func countActivity(at entity: EntityIndex, by difference: Int) {
        guard let activity = activity(at: entity), !activity.accounts.isEmpty else { return }
        let app = kinds.appNumbers[entities[entity].kind]
        let names = activity.value.occupiedAccounts
        changeAccounts { if difference > 0 { $0.add(names, app: app) } else { $0.remove(names, app: app) } }
    }
}
