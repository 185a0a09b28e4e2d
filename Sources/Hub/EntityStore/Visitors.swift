internal import FanOut
internal import Machines
internal import TelltaleModel

/// The widgets that come and go by themselves on a watch (W43), by whose they are, in the order of their beginnings.
///
/// There may be a hundred thousand that are everybody's, and the newest ones are known at any time.
///
/// Invariant: it follows from the widgets that are there; a start computes it again.
struct Visitors: Sendable {
    struct Member: Comparable, Sendable {
        let createdAt: Timestamp
        let key: Key
        let entity: EntityIndex

        static func < (left: Member, right: Member) -> Bool {
            left.createdAt != right.createdAt ? left.createdAt < right.createdAt : left.key < right.key
        }
    }

    /// How many of them a board looks at: a screen has room for 10.
    static let limit = 64

    /// By the account; those that are everybody's under `nil`.
    private var lines: [String?: SortedChunks<Member>] = [:]
    /// The member at each index, and whose it is.
    private var places: [EntityIndex: (member: Member, accounts: [String])] = [:]

    var isEmpty: Bool { places.isEmpty }

    /// How many a board of `account` chooses from.
    func count(for account: String?) -> Int {
        let own = account.flatMap { lines[$0]?.count } ?? 0
        return own + (lines[nil]?.count ?? 0)
    }

    /// The newest ones that are the account's or everybody's, the newest first.
    ///
    /// - Parameters:
    ///   - account: `nil` = those that are everybody's alone.
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
