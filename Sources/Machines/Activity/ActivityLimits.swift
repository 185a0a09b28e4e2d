public import TelltaleModel

/// The settings for an activity's decisions, besides those of its kind.
public struct ActivitySettings: Hashable, Sendable {
    /// The size limit of attributes and content together, in bytes of compact JSON: 4,096, as APNs limits them
    /// (Protocols/Surfaces/rules.md A2).
    public var byteCountLimit = 4096
    /// Whether an `end` older than the newest event ends the activity all the same (Protocols/Surfaces/rules.md Q3).
    public var acceptsOldEnd = true
    /// The largest lead of an `at=` over the server's time (Protocols/Surfaces/rules.md B4): 8 h.
    public var aheadLimit = Milliseconds.hours(8)
    /// The largest number of accounts whose dismissals and views one activity stores by their names.
    public var markLimit = 4096
    /// The edition of the rules by which activities are decided.
    public var rules = DecisionRules.newest

    public init() {}
}

/// The largest number of live activities per account. Apple publishes no number (Protocols/Surfaces/rules.md Q1).
public struct ActivityLimits: Hashable, Sendable {
    /// Per account and app.
    public var perApp = 5
    /// Per account, for all apps together.
    public var perAccount = 20

    public init() {}
}

/// Counts the activities that occupy room, per account and app.
///
/// Accounts and apps are the hub's dense numbers. Only activities with `for=` are counted, and only while they are
/// pending, active or stale (``Activity/occupiedAccounts``).
public struct ActivityCounts: Hashable, Sendable {
    private struct Place: Hashable, Sendable {
        var account: Int32
        var app: Int32
    }

    private var byPlace: [Place: Int] = [:]
    private var byAccount: [Int32: Int] = [:]

    public init() {}

    /// - Throws: ``ActivityRejection`` unless every one of `accounts` has room for one more activity of `app`.
    public func check(
        app: Int32, accounts: some Sequence<Int32>, limits: ActivityLimits
    ) throws(ActivityRejection) {
        for account in accounts {
            guard byPlace[Place(account: account, app: app), default: 0] < limits.perApp else {
                throw .appLimit(limits.perApp)
            }
            guard byAccount[account, default: 0] < limits.perAccount else { throw .accountLimit(limits.perAccount) }
        }
    }

    public mutating func add(app: Int32, account: Int32) {
        byPlace[Place(account: account, app: app), default: 0] += 1
        byAccount[account, default: 0] += 1
    }

    public mutating func remove(app: Int32, account: Int32) {
        let place = Place(account: account, app: app)
        byPlace[place] = Self.less(byPlace[place])
        byAccount[account] = Self.less(byAccount[account])
    }

    public func count(account: Int32, app: Int32) -> Int { byPlace[Place(account: account, app: app), default: 0] }

    private static func less(_ count: Int?) -> Int? {
        guard let count, count > 1 else { return nil }
        return count - 1
    }
}
