internal import FanOut
internal import Machines
internal import TelltaleModel

/// A key that a commit changed.
struct Change: Sendable {
    var entity: EntityIndex
    var isWidget = false
    var commit: Int64
    var milestones: [Announcement] = []
    var alert: ActivityAlert?
    /// The activity's rank among others may have changed too.
    var isReordered = true
    /// The activity as this commit left it. It fixes whose it was, because a later commit of the batch may change its accounts.
    var activity: ActivityBox?

    /// An announcement precedes its row.
    var isAnnounced: Bool { alert != nil || !milestones.isEmpty }

    /// Whether it was visible to the devices of a subscription's account then; without an account everything is visible.
    func isVisible(to terms: SubscriptionTerms) -> Bool {
        guard let account = terms.account, let activity else { return true }
        return activity.value.isVisible(to: account, digest: terms.accountDigest)
    }

    /// Whether its announcements are for these devices. An activity that this commit ends is no longer visible, but its end may
    /// be the announcement.
    func reaches(to terms: SubscriptionTerms) -> Bool {
        guard let account = terms.account, let activity else { return true }
        return activity.value.isAddressed(to: account)
            && !activity.value.isDismissed(by: account, digest: terms.accountDigest)
    }

    /// Whether it was addressed to `account` then.
    func isAddressed(to account: String?) -> Bool {
        account.map { activity?.value.isAddressed(to: $0) ?? true } ?? true
    }
}

extension Change {
    /// The change that `outcome` made to an activity.
    init(entity: EntityIndex, commit: Int64, activity: ActivityBox, _ outcome: ActivityOutcome) {
        self.init(
            entity: entity, commit: commit,
            milestones: outcome.milestones.map { .milestone(rev: commit, state: $0.state, at: $0.time) },
            alert: outcome.effects.contains(.alert) ? outcome.alert : nil, activity: activity)
    }
}
