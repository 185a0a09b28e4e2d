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
    /// The place of the activity among others may have changed with it.
    var isReordered = true
    /// The activity as the commit left it, and so whose it was then. A later commit of the same batch may give it to
    /// other accounts.
    var activity: ActivityBox?

    /// Something goes out before its row.
    var isAnnounced: Bool { alert != nil || !milestones.isEmpty }

    /// Whether the devices of `account` could show it then; without an account everything is visible.
    func isVisible(to account: String?) -> Bool { account.map { activity?.value.isVisible(to: $0) ?? true } ?? true }

    /// Whether what goes out before its row is for the devices of `account`. An activity that leaves with this commit
    /// can be seen no more, and its end may be what is told.
    func isTold(to account: String?) -> Bool {
        guard let account, let activity = activity?.value else { return true }
        return activity.isAddressed(to: account) && !activity.isDismissed(by: account)
    }

    /// Whether it was for `account` then.
    func isAddressed(to account: String?) -> Bool {
        account.map { activity?.value.isAddressed(to: $0) ?? true } ?? true
    }
}

extension Change {
    /// The change that `outcome` made of an activity.
    init(entity: EntityIndex, commit: Int64, activity: ActivityBox, _ outcome: ActivityOutcome) {
        self.init(
            entity: entity, commit: commit,
            milestones: outcome.milestones.map { .milestone(rev: commit, state: $0.state, at: $0.time) },
            alert: outcome.effects.contains(.alert) ? outcome.alert : nil, activity: activity)
    }
}
