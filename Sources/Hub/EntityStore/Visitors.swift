internal import FanOut
internal import Machines
internal import TelltaleModel

/// The widgets that come and go by themselves on a watch (W43), by whose they are, in the order of their beginnings.
///
/// There may be a hundred thousand that are everybody's, so they stand in chunks: one that comes or goes moves a chunk at
/// most, and the newest ones are known at any time.
///
/// Invariant: it follows from the widgets that are there; a start computes it again.
struct Visitors: Sendable {
    struct Member: Sendable {
        let createdAt: Timestamp
        let key: Key
        let entity: EntityIndex

        static func < (left: Member, right: Member) -> Bool {
            left.createdAt != right.createdAt ? left.createdAt < right.createdAt : left.key < right.key
        }
    }

    /// How many of them a board looks at: a screen has room for 10.
    static let limit = 64
    private static let chunkLimit = 256

    private struct Line: Sendable {
        private(set) var count = 0
        /// Sorted, each and together; none is empty.
        private var chunks: [[Member]] = []

        func last(_ limit: Int) -> [Member] {
            var found: [Member] = []
            for chunk in chunks.reversed() where found.count < limit {
                found += chunk.reversed().prefix(limit - found.count)
            }
            return found
        }

        mutating func insert(_ member: Member) {
            count += 1
            guard !chunks.isEmpty else {
                chunks = [[member]]
                return
            }
            let index = chunk(of: member)
            chunks[index].insert(member, at: Self.place(of: member, in: chunks[index]))
            guard chunks[index].count > Visitors.chunkLimit else { return }
            let half = chunks[index].count / 2
            chunks.insert(Array(chunks[index][half...]), at: index + 1)
            chunks[index].removeLast(chunks[index].count - half)
        }

        mutating func remove(_ member: Member) {
            guard !chunks.isEmpty else { return }
            let index = chunk(of: member)
            let place = Self.place(of: member, in: chunks[index])
            guard place < chunks[index].count, chunks[index][place].entity == member.entity else { return }
            count -= 1
            chunks[index].remove(at: place)
            if chunks[index].isEmpty { chunks.remove(at: index) }
        }

        /// The last chunk that begins at `member` or before it, else the first one.
        private func chunk(of member: Member) -> Int {
            var (low, high) = (0, chunks.count)
            while low < high {
                let middle = (low + high) / 2
                if member < chunks[middle][0] { high = middle } else { low = middle + 1 }
            }
            return max(0, low - 1)
        }

        private static func place(of member: Member, in sorted: [Member]) -> Int {
            var (low, high) = (0, sorted.count)
            while low < high {
                let middle = (low + high) / 2
                if sorted[middle] < member { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// By the account; those that are everybody's under `nil`.
    private var lines: [String?: Line] = [:]
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
            lines[nil, default: Line()].insert(member)
            return
        }
        for account in accounts { lines[account, default: Line()].insert(member) }
    }

    mutating func remove(_ entity: EntityIndex) {
        guard let (member, accounts) = places.removeValue(forKey: entity) else { return }
        let names: [String?] = accounts.isEmpty ? [nil] : accounts
        for account in names {
            lines[account]?.remove(member)
            if lines[account]?.count == 0 { lines[account] = nil }
        }
    }
}
