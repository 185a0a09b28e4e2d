internal import FanOut
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

extension EntityStore {
    /// Why a subscriber with these terms no longer sees a key.
    func deletionReason(of entity: EntityIndex, for terms: SubscriptionTerms) -> DeletionReason {
        switch self[entity].state {
        // A withdrawn suggestion is hidden: nobody removed it.
        case .none: self[entity].key?.id.utf8.first == UInt8(ascii: "~") ? .hidden : .removed
        case .activity(let activity):
            activity.value.lifecycle == .dismissed
                || terms.account.map { activity.value.isDismissed(by: $0, digest: terms.accountDigest) } ?? false
                ? .dismissed : .hidden
        case .widget, .tile: isGone(entity) ? .removed : .hidden
        case .toggle, .button:
            isGone(entity)
                || terms.account.map {
                    owner(of: entity)?.value.isDismissed(by: $0, digest: terms.accountDigest) ?? false
                } ?? false
                ? .dismissed : .hidden
        }
    }
}
