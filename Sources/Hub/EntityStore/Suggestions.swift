internal import FanOut
internal import Machines

/// The keys of tiles that stacks may suggest, on the boards that are followed.
///
/// They are not state: they follow from the kinds and the boards, and are neither replicated nor in a snapshot. A board that no
/// subscriber follows and no request names has none, so it costs nothing.
struct Suggestions: Sendable {
    private struct Place {
        /// In the order of their indices.
        var keys: [EntityIndex]
        /// For each key, the number of its widget among the suggested ones.
        var widgets: [Int]
        /// The newest record when the keys were assigned.
        var sequence: Int64
        /// A watch follows the board, so relevant widgets have keys too.
        var isVisited = false
        /// The key of each relevant widget, and the board's account.
        var visits: [EntityIndex: EntityIndex] = [:]
        var account: String?
    }

    /// Keyed by the number of the board's name.
    private var boards: [Int32: Place] = [:]
    /// The boards of kept tiles that were removed and are now forgotten, so that they may be suggested again.
    var outdated: Set<Int32> = []
    /// The generation of the kinds for which the keys were assigned.
    private var generation = 0
    /// The relevance of each widget when subscribers were last notified, by its number: outside and inside its situations.
    var relevance: [Int: [Relevance]] = [:]
    /// The same for relevant widgets that nobody placed.
    private(set) var visitRelevance: [EntityIndex: [Relevance]] = [:]
    /// The boards that a watch follows, by account, and those that have a key for a widget.
    private var visited: [String?: Set<Int32>] = [:]
    /// All relevant widgets, whether a board is followed or not.
    var visitors = Visitors()
    /// The last boards that requests have read.
    private var read: [Int32] = []
    private static let readLimit = 64
    private var holders: [EntityIndex: Set<Int32>] = [:]

    var isEmpty: Bool { boards.isEmpty }
    var boardNumbers: [Int32] { boards.keys.sorted() }

    func keys(onBoard number: Int32) -> [EntityIndex] { boards[number]?.keys ?? [] }

    /// The keys of a widget, each with its board, in the order of the boards' numbers.
    ///
    /// - Complexity: O(followed boards).
    func keys(ofWidget widget: Int) -> [(board: Int32, key: EntityIndex)] {
        var found: [(board: Int32, key: EntityIndex)] = []
        for (number, place) in boards {
            for (key, other) in zip(place.keys, place.widgets) where other == widget { found.append((number, key)) }
        }
        return found.sorted { ($0.board, $0.key) < ($1.board, $1.key) }
    }

    /// Whether a board needs keys before it is read: nobody has followed it until now.
    func lacksKeys(onBoard number: Int32) -> Bool { keys(onBoard: number).isEmpty && !isVisited(number) }

    /// Forgets what subscribers were told of relevance, if other kinds took effect since.
    mutating func renew(_ generation: Int) -> Bool {
        guard generation != self.generation else { return false }
        (self.generation, relevance, visitRelevance) = (generation, [:], [:])
        return true
    }

    mutating func setVisitRelevance(_ relevance: [Relevance]?, of member: EntityIndex) {
        visitRelevance[member] = isHeld(member) ? relevance : nil
    }

    // MARK: Visits

    func isVisited(_ number: Int32) -> Bool { boards[number]?.isVisited == true }
    var hasVisits: Bool { !visited.isEmpty }

    /// The key of a widget on a board, and all keys of relevant widgets there.
    func key(ofVisitor member: EntityIndex, onBoard number: Int32) -> EntityIndex? { boards[number]?.visits[member] }
    func visits(onBoard number: Int32) -> [EntityIndex] { boards[number]?.visits.values.sorted() ?? [] }

    /// The boards that have a key for a widget, unless there are more than `limit`, or may have one, because the widget is for
    /// these accounts.
    ///
    /// - Complexity: O(these boards), without those of other accounts.
    func boards(visitedBy member: EntityIndex, of accounts: [String], limit: Int) -> [Int32] {
        var found = isHeld(member, byMoreThan: limit) ? [] : holders[member] ?? []
        for account in accounts { found.formUnion(visited[account] ?? []) }
        return found.sorted()
    }

    func isHeld(_ member: EntityIndex, byMoreThan count: Int) -> Bool { (holders[member]?.count ?? 0) > count }

    /// Records that a request has read a board.
    ///
    /// - Returns: The board that was read longest ago, if there are too many.
    mutating func noteRead(_ number: Int32) -> Int32? {
        read.append(number)
        return read.count > Self.readLimit ? read.removeFirst() : nil
    }

    /// Whether a board that a watch follows has a key for a widget.
    func isHeld(_ member: EntityIndex) -> Bool { holders[member] != nil }

    mutating func visit(_ number: Int32) {
        guard !isVisited(number) else { return }
        boards[number, default: Place(keys: [], widgets: [], sequence: -1)].isVisited = true
        visited[boards[number]?.account, default: []].insert(number)
    }

    /// - Parameter visits: The key of each widget.
    mutating func setVisits(_ visits: [EntityIndex: EntityIndex], of account: String?, onBoard number: Int32) {
        guard var place = boards[number], place.isVisited else { return }
        let former = place
        for member in former.visits.keys where visits[member] == nil { leave(number, member) }
        for member in visits.keys where former.visits[member] == nil { holders[member, default: []].insert(number) }
        if former.account != account {
            leave(number, of: former.account)
            visited[account, default: []].insert(number)
        }
        (place.visits, place.account) = (visits, account)
        boards[number] = place
    }

    /// Records that nobody follows a board any more.
    mutating func endVisit(_ number: Int32) {
        guard var place = boards[number], place.isVisited else { return }
        for member in place.visits.keys { leave(number, member) }
        leave(number, of: place.account)
        (place.isVisited, place.visits, place.account) = (false, [:], nil)
        boards[number] = place
    }

    private mutating func leave(_ number: Int32, _ member: EntityIndex) {
        holders[member]?.remove(number)
        guard holders[member]?.isEmpty == true else { return }
        holders[member] = nil
        visitRelevance[member] = nil
    }

    private mutating func leave(_ number: Int32, of account: String?) {
        visited[account]?.remove(number)
        if visited[account]?.isEmpty == true { visited[account] = nil }
    }

    /// The newest record when a board's keys were assigned.
    func sequence(onBoard number: Int32) -> Int64 { boards[number]?.sequence ?? -1 }

    mutating func set(
        _ keys: [EntityIndex], _ widgets: [EntityIndex: Int], onBoard number: Int32, at sequence: Int64
    ) {
        let keys = keys.sorted()
        guard !keys.isEmpty || isVisited(number) else {
            boards[number] = nil
            return
        }
        var place = boards[number] ?? Place(keys: [], widgets: [], sequence: sequence)
        (place.keys, place.widgets, place.sequence) = (keys, keys.map { widgets[$0] ?? -1 }, sequence)
        boards[number] = place
    }
}
