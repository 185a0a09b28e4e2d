/// The accounts that have seen or dismissed an activity, sorted by the bytes of their names.
struct AccountMarks: Hashable, Sendable {
    struct Mark: Hashable, Sendable {
        var account: String
        var isDismissed = false
        /// The newest commit whose row the account has seen.
        var seenRev: Int64?
    }

    private(set) var elements: [Mark]

    /// - Parameter elements: Sorted by account, each account once.
    init(_ elements: [Mark] = []) {
        self.elements = elements
    }

    subscript(position: Int) -> Mark {
        get { elements[position] }
        _modify { yield &elements[position] }
    }

    subscript(account: String) -> Mark? {
        if elements.isEmpty { return nil }
        let (position, isPresent) = find(account)
        return isPresent ? elements[position] : nil
    }

    /// The position of the account's mark, which is inserted if there is none.
    ///
    /// Beyond `limit` marks, one of an account that has only seen the activity makes room: the one that did so longest
    /// ago.
    ///
    /// - Throws: ``ActivityRejection/markLimit(_:)`` if every mark is of an account that dismissed the activity.
    mutating func position(of account: String, limit: Int) throws(ActivityRejection) -> Int {
        var (position, isPresent) = find(account)
        if isPresent { return position }
        if elements.count >= limit {
            guard let spare = oldestSeen else { throw .markLimit(limit) }
            elements.remove(at: spare)
            if spare < position { position -= 1 }
        }
        elements.insert(Mark(account: account), at: position)
        return position
    }

    /// Drops the first `limit` marks of accounts that dismissed the activity.
    ///
    /// - Returns: The accounts.
    mutating func removeDismissed(limit: Int) -> [String] {
        var accounts: [String] = []
        elements.removeAll { mark in
            guard mark.isDismissed, accounts.count < limit else { return false }
            accounts.append(mark.account)
            return true
        }
        return accounts
    }

    private var oldestSeen: Int? {
        var oldest: (position: Int, seenRev: Int64)?
        for (position, mark) in elements.enumerated() where !mark.isDismissed {
            let seenRev = mark.seenRev ?? 0
            if seenRev < oldest?.seenRev ?? .max { oldest = (position, seenRev) }
        }
        return oldest?.position
    }

    /// The position of the account's mark, or the position at which it belongs.
    private func find(_ account: String) -> (position: Int, isPresent: Bool) {
        var low = 0
        var high = elements.count
        while low < high {
            let middle = (low + high) / 2
            if elements[middle].account.utf8.lexicographicallyPrecedes(account.utf8) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return (low, low < elements.count && elements[low].account.utf8.elementsEqual(account.utf8))
    }
}
