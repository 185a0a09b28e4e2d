internal import FanOut
internal import Machines
internal import TelltaleModel

/// The relevant widgets for a watch (W43), by account, in the order in which they began.
///
/// A hundred thousand may belong to everybody; the newest ones are found without a scan.
///
/// Invariant: it follows from the existing widgets, and a start recomputes it.
struct RelevantWidgets: Sendable {
    struct Member: Comparable, Sendable {
        let createdAt: Timestamp
        let key: Key
        let entity: EntityIndex

        static func < (left: Member, right: Member) -> Bool {
            left.createdAt != right.createdAt ? left.createdAt < right.createdAt : left.key < right.key
        }
    }

    /// How many of them a board considers: a screen has room for 10.
    static let limit = 64

    /// By account; `nil` holds those of everybody.
    private var lines: [String?: SortedChunks<Member>] = [:]
    /// The member at each index, and its accounts.
    private var places: [EntityIndex: (member: Member, accounts: [String])] = [:]

    var isEmpty: Bool { places.isEmpty }

    /// How many a board of `account` chooses from.
    func count(for account: String?) -> Int {
        let own = account.flatMap { lines[$0]?.count } ?? 0
        return own + (lines[nil]?.count ?? 0)
    }

    /// The newest ones of the account or of everybody, newest first.
    ///
    /// - Parameters:
    ///   - account: `nil` = only those of everybody.
    ///   - limit: At most so many.
    /// - Complexity: O(limit).
    func newest(_ limit: Int, for account: String?) -> [Member] {
        let shared = lines[nil]?.last(limit) ?? []
        guard let own = account.flatMap({ lines[$0]?.last(limit) }) else { return shared }
        return Array((own + shared).sorted { $1 < $0 }.prefix(limit))
    }

    mutating func insert(_ member: Member, accounts: [String]) {
        guard places[member.entity] == nil else { return }
        places[member.entity] = (member, accounts)
        guard !accounts.isEmpty else {
            lines[nil, default: SortedChunks()].insert(member)
            return
        }
        for account in accounts { lines[account, default: SortedChunks()].insert(member) }
    }

    mutating func remove(_ entity: EntityIndex) {
        guard let (member, accounts) = places.removeValue(forKey: entity) else { return }
        let names: [String?] = accounts.isEmpty ? [nil] : accounts
        for account in names {
            lines[account]?.remove(member)
            if lines[account]?.isEmpty == true { lines[account] = nil }
        }
    }
}
