internal import FanOut
internal import Machines
internal import TelltaleModel

/// The keys that the devices of each account may be shown, and how many live activities each account has.
///
/// Invariant: an account has a number exactly as long as a listed key or a count holds it.
struct AccountIndex: Sendable {
    /// The activities, which compete in the views of an account, and everything else.
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
    /// - Parameter accounts: The accounts that may be shown it; empty = every account.
    mutating func list(_ entity: EntityIndex, isActivity: Bool, kind: Int32, accounts: [String]) {
        let numbers = accounts.map { self.numbers.retain($0) }
        if isActivity {
            activities.insert(entity, kind: kind, accounts: numbers)
        } else {
            others.insert(entity, kind: kind, accounts: numbers)
        }
    }

    /// Takes a listed key off the list.
    ///
    /// - Parameter accounts: As it was listed.
    mutating func unlist(_ entity: EntityIndex, kind: Int32, accounts: [String]) {
        let known = accounts.compactMap { numbers.known($0) }
        activities.remove(entity, kind: kind, accounts: known)
        others.remove(entity, kind: kind, accounts: known)
        for number in known { numbers.release(number) }
    }

    /// The listed keys that the devices of `account` may be shown, in the order of the table.
    ///
    /// - Parameter kind: Of the keys that are for every account, only those of this kind; `nil` = of every kind.
    func visible(to account: String, kind: Int32?) -> [EntityIndex] {
        let found = others(visibleTo: account, kind: kind)
        let activities = activities.visible(to: numbers.known(account), kind: kind)
        if found.isEmpty || activities.isEmpty { return found + activities }
        return (found + activities).sorted { $0.rawValue < $1.rawValue }
    }

    /// The same without the activities.
    func others(visibleTo account: String, kind: Int32?) -> [EntityIndex] {
        others.visible(to: numbers.known(account), kind: kind)
    }

    /// How many keys ``visible(to:kind:)`` gives.
    func visibleCount(to account: String, kind: Int32?) -> Int {
        activityCount(visibleTo: account, kind: kind) + otherCount(visibleTo: account, kind: kind)
    }

    func activityCount(visibleTo account: String, kind: Int32?) -> Int {
        activities.visibleCount(to: numbers.known(account), kind: kind)
    }

    /// How many keys ``others(visibleTo:kind:)`` gives.
    func otherCount(visibleTo account: String, kind: Int32?) -> Int {
        others.visibleCount(to: numbers.known(account), kind: kind)
    }

    /// Counts one live activity of each of `names` more.
    mutating func add(_ names: [String], app: Int32) {
        for name in names { counts.add(app: app, account: numbers.retain(name)) }
    }

    /// Counts one live activity of each of `names` less.
    mutating func remove(_ names: [String], app: Int32) {
        for name in names {
            guard let number = numbers.known(name) else { continue }
            counts.remove(app: app, account: number)
            numbers.release(number)
        }
    }

    /// Checks that one more activity of `app` is within the limits of each of `names`.
    func checkRoom(for names: [String], app: Int32, limits: ActivityLimits) throws(ActivityRejection) {
        guard !names.isEmpty else { return }
        // An account without a number has no activity.
        try counts.check(app: app, accounts: names.map { numbers.known($0) ?? -1 }, limits: limits)
    }
}
