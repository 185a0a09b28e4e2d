internal import FanOut
internal import Machines
internal import TelltaleModel

/// The keys visible to the devices of each account, and the number of live activities of each account.
///
/// Invariant: an account has a number exactly as long as a listed key or a count refers to it.
struct AccountIndex: Sendable {
    /// Activities, which compete in the views of an account, and everything else.
    private var activities = AudienceIndex()
    private var others = AudienceIndex()
    private var counts = ActivityCounts()
    private var numbers = Interner()

    /// How many accounts have a number.
    var count: Int { numbers.count }

    func knows(_ account: String) -> Bool { numbers.known(account) != nil }

    func isListed(_ entity: EntityIndex) -> Bool { others.contains(entity) || activities.contains(entity) }

    /// Lists a key that is not listed.
    ///
    /// - Parameter accounts: The accounts that may see it; empty = every account.
    mutating func list(_ entity: EntityIndex, isActivity: Bool, kind: Int32, accounts: [String]) {
        let numbers = accounts.map { self.numbers.retain($0) }
        if isActivity {
            activities.insert(entity, kind: kind, accounts: numbers)
        } else {
            others.insert(entity, kind: kind, accounts: numbers)
        }
    }

    /// Removes a listed key from the list.
    ///
    /// - Parameter accounts: The accounts that it was listed for.
    mutating func unlist(_ entity: EntityIndex, kind: Int32, accounts: [String]) {
        let known = accounts.compactMap { numbers.known($0) }
        activities.remove(entity, kind: kind, accounts: known)
        others.remove(entity, kind: kind, accounts: known)
        for number in known { numbers.release(number) }
    }

    /// The listed keys visible to the devices of `account`, in the order of the table.
    ///
    /// - Parameter kind: Limits the keys that are for every account to this kind; `nil` = every kind.
    func visible(to account: String, kind: Int32?) -> [EntityIndex] {
        let found = others(visibleTo: account, kind: kind)
        let activities = activities.visible(to: numbers.known(account), kind: kind)
        if found.isEmpty || activities.isEmpty { return found + activities }
        return (found + activities).sorted { $0.rawValue < $1.rawValue }
    }

    /// Like ``visible(to:kind:)``, without the activities.
    func others(visibleTo account: String, kind: Int32?) -> [EntityIndex] {
        others.visible(to: numbers.known(account), kind: kind)
    }

    /// The number of keys that ``visible(to:kind:)`` returns.
    func visibleCount(to account: String, kind: Int32?) -> Int {
        activityCount(visibleTo: account, kind: kind) + otherCount(visibleTo: account, kind: kind)
    }

    func activityCount(visibleTo account: String, kind: Int32?) -> Int {
        activities.visibleCount(to: numbers.known(account), kind: kind)
    }

    /// The number of keys that ``others(visibleTo:kind:)`` returns.
    func otherCount(visibleTo account: String, kind: Int32?) -> Int {
        others.visibleCount(to: numbers.known(account), kind: kind)
    }

    /// Adds one live activity to the count of each of `names`.
    mutating func add(_ names: [String], app: Int32) {
        for name in names { counts.add(app: app, account: numbers.retain(name)) }
    }

    /// Removes one live activity from the count of each of `names`.
    mutating func remove(_ names: [String], app: Int32) {
        for name in names {
            guard let number = numbers.known(name) else { continue }
            counts.remove(app: app, account: number)
            numbers.release(number)
        }
    }

    /// Checks that another activity of `app` stays within the limits of each of `names`.
    func checkRoom(for names: [String], app: Int32, limits: ActivityLimits) throws(ActivityRejection) {
        guard !names.isEmpty else { return }
        // An account without a number has no activity.
        try counts.check(app: app, accounts: names.map { numbers.known($0) ?? -1 }, limits: limits)
    }
}
