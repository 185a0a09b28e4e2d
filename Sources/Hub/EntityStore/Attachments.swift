internal import FanOut

/// Which controls belong to which activities. A control that an activity names by its own key begins with the activity, has its
/// accounts, and ends with it.
///
/// Invariant: the controls of an activity are those whose attachment names it.
struct Attachments: Sendable {
    struct Attachment: Hashable, Sendable {
        /// `nil` if the activity, and the control with it, is gone.
        var activity: EntityIndex?
        /// The activity's accounts; empty = every account.
        var accounts: [String]

        /// Whether the activity is for `account`. The account may have dismissed it since.
        func isAddressed(to account: String) -> Bool {
            accounts.isEmpty || accounts.contains { $0.utf8.elementsEqual(account.utf8) }
        }
    }

    private var attachments: [EntityIndex: Attachment] = [:]
    private var controls: [EntityIndex: [EntityIndex]] = [:]

    /// `nil` for a control that exists independently.
    subscript(control: EntityIndex) -> Attachment? { attachments[control] }

    /// Whether no control belongs to an activity.
    var isEmpty: Bool { controls.isEmpty }

    /// The controls of an activity, in the order in which they were attached.
    func controls(of activity: EntityIndex) -> [EntityIndex] { controls[activity] ?? [] }

    /// Whether an activity has controls.
    func contains(activity: EntityIndex) -> Bool { !controls.isEmpty && controls[activity] != nil }

    mutating func set(_ attachment: Attachment?, of control: EntityIndex) {
        let old = attachments[control]?.activity
        attachments[control] = attachment
        guard old != attachment?.activity else { return }
        if let old {
            controls[old]?.removeAll { $0 == control }
            if controls[old]?.isEmpty == true { controls[old] = nil }
        }
        if let activity = attachment?.activity { controls[activity, default: []].append(control) }
    }
}
