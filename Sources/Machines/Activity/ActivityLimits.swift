public import TelltaleModel

/// The settings that an activity's decisions depend on, beside those of its kind.
public struct ActivitySettings: Hashable, Sendable {
    /// Attributes and content together, in bytes of compact JSON: 4,096, as Apple has it (rules.md A2).
    public var byteCountLimit = 4096
    /// Whether an `end` older than the newest event ends all the same (rules.md Q3: yes).
    public var acceptsOldEnd = true
    /// How far ahead of the hub's time an `at=` may be (B4): 8 h.
    public var aheadLimit = Milliseconds.hours(8)
    /// How many accounts one activity remembers as having dismissed or seen it.
    public var markLimit = 4096

    public init() {}
}

/// How many live activities one person may have; Apple publishes no number (rules.md Q1).
public struct ActivityLimits: Hashable, Sendable {
    /// Of one app.
    public var perApp = 5
    /// Of all apps together.
    public var perAccount = 20

    public init() {}
}

/// Counts the activities that take up room, for each person and app.
///
/// Accounts and apps are the hub's dense numbers. Only activities with `for=` are counted, and only while they are pending,
/// active or stale (``Activity/occupiedAccounts``).
public struct ActivityCounts: Hashable, Sendable {
    private struct Place: Hashable, Sendable {
        var account: Int32
        var app: Int32
    }

    private var byPlace: [Place: Int] = [:]
    private var byAccount: [Int32: Int] = [:]

    public init() {}

    /// Throws unless one more activity of `app` has room with every one of `accounts`.
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

    public func count(account: Int32) -> Int { byAccount[account, default: 0] }
    public func count(account: Int32, app: Int32) -> Int { byPlace[Place(account: account, app: app), default: 0] }

    private static func less(_ count: Int?) -> Int? {
        guard let count, count > 1 else { return nil }
        return count - 1
    }
}
