/// The accounts that the activity is for, and what they did with it.
extension Activity {
    /// Whether the activity is for `account`, which may have dismissed it since.
    public func isAddressed(to account: String) -> Bool {
        accounts.isEmpty || accounts.contains { $0.utf8.elementsEqual(account.utf8) }
    }

    /// The digest by which an activity knows an account that dismissed it, once there is no room for its name. It takes a
    /// microsecond: whoever asks about an account often keeps it.
    public static func digest(of account: String) -> UInt64 { Dismissers.digest(of: account) }

    /// Whether the devices of `account` may show the activity; `nil` is a connection without an account, which may show
    /// all.
    ///
    /// - Parameter digest: ``digest(of:)`` the account, if it is known.
    public func isVisible(to account: String?, digest: UInt64? = nil) -> Bool {
        guard lifecycle != .dismissed else { return false }
        guard let account else { return true }
        return isAddressed(to: account) && !isDismissed(by: account, digest: digest)
    }

    /// Whether a person of `account` swiped it away.
    public func isDismissed(by account: String, digest: UInt64? = nil) -> Bool {
        marks[account]?.isDismissed == true || dismissers.contains(account, digest: digest)
    }

    /// Whether the alert of commit `rev` need not be sent to the devices of `account`: a device of the account has
    /// shown it, or the account dismissed the activity. The end of the activity does not count, because the alert may
    /// report that end.
    public func isAlertSpent(rev: Int64, for account: String, digest: UInt64? = nil) -> Bool {
        if isDismissed(by: account, digest: digest) { return true }
        return marks[account]?.seenRev.map { $0 >= rev } ?? false
    }

    /// The accounts in whose limits the activity counts: while pending, active or stale (Protocols/Surfaces/rules.md
    /// 2.1).
    public var occupiedAccounts: [String] {
        switch lifecycle {
        case .pending, .active, .stale: accounts.filter { !isDismissed(by: $0) }
        case .ended, .dismissed: []
        }
    }
}
