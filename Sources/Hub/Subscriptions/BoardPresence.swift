internal import FanOut
internal import Machines
internal import TelltaleModel

/// The tiles that nobody placed on the boards that subscribers follow: suggestions of stacks, and relevant widgets on boards that
/// a watch follows.
///
/// Such a tile is not stored. ``EntityStore/unplacedTiles(onBoard:withRelevantTiles:)`` computes it from the kinds, the board and the
/// widgets when its row is drawn. Its key has an index only while it is held here, so that its followers are sent rows, and a
/// deletion when it goes. Requests read boards without this, and a board that nobody follows has nothing here.
///
/// Invariant: the key of each member is retained in the store once.
struct BoardPresence {
    /// A tile that nobody placed.
    struct Member {
        let entity: EntityIndex
        let widget: Key
        /// The stack that suggests it; `nil` = a relevant widget on a watch.
        let stack: String?

        var isRelevantWidget: Bool { stack == nil }
    }

    private struct Place {
        /// In the order of their indices.
        var members: [Member] = []
        /// The newest record when the board was last examined.
        var sequence: Int64 = -1
        /// A watch follows the board, so relevant widgets are members too.
        var isFollowed = false
        /// While it is visited, the board's account.
        var account: String?
    }

    /// Keyed by the number of the board's name.
    private var boards: [Int32: Place] = [:]
    /// The boards on which each widget is a member.
    private var holders: [Key: Set<Int32>] = [:]
    /// The boards that a watch follows, by account.
    private var visited: [String?: Set<Int32>] = [:]
    /// The relevance of each widget when subscribers were last notified: outside and inside its situations.
    private var relevance: [Key: [Relevance]] = [:]
    /// The generation of the kinds by which the boards were examined.
    private var generation = 0
    /// Boards that wait to be examined.
    var scan = BoardScan()

    var isEmpty: Bool { boards.isEmpty }
    var boardNumbers: [Int32] { boards.keys.sorted() }

    func members(onBoard number: Int32) -> [Member] { boards[number]?.members ?? [] }
    func members(of widget: Key, onBoard number: Int32) -> [Member] {
        members(onBoard: number).filter { $0.widget == widget }
    }
    func member(at entity: EntityIndex, onBoard number: Int32) -> Member? {
        boards[number]?.members.first { $0.entity == entity }
    }

    /// The `rev` of a member's widget; 0 if the key is not a member. The `rev` of its deletion is at least this, even if the board has not
    /// been examined since.
    func widgetRev(of entity: EntityIndex, _ store: borrowing EntityStore) -> Int64 {
        member(at: entity, onBoard: store[entity].kindName).map { store.rev(of: $0.widget) } ?? 0
    }

    /// The newest record when a board was last examined; -1 = never.
    func sequence(onBoard number: Int32) -> Int64 { boards[number]?.sequence ?? -1 }

    /// Whether the walk has yet to examine a board.
    func isWaiting(_ number: Int32) -> Bool {
        scan.isUnderWay && isVisited(number) && sequence(onBoard: number) < scan.newest
    }

    // MARK: Watches

    func isVisited(_ number: Int32) -> Bool { boards[number]?.isFollowed == true }
    var hasRelevantTiles: Bool { !visited.isEmpty }

    /// Records that a watch follows a board.
    mutating func follow(_ number: Int32) {
        guard !isVisited(number) else { return }
        boards[number, default: Place()].isFollowed = true
        visited[nil, default: []].insert(number)
    }

    private mutating func setAccount(_ account: String?, of place: inout Place, _ number: Int32) {
        guard place.isFollowed, place.account != account else { return }
        leave(number, of: place.account)
        visited[account, default: []].insert(number)
        place.account = account
    }

    private mutating func leave(_ number: Int32, of account: String?) {
        visited[account]?.remove(number)
        if visited[account]?.isEmpty == true { visited[account] = nil }
    }

    // MARK: Widgets

    func isHeld(_ widget: Key, byMoreThan count: Int = 0) -> Bool { (holders[widget]?.count ?? 0) > count }

    /// The boards on which a widget is a member, unless there are more than `limit`; and those on which it may become one, because
    /// it is for these accounts.
    ///
    /// - Complexity: O(these boards), without those of other accounts.
    func boards(with widget: Key, of accounts: [String] = [], limit: Int = .max) -> [Int32] {
        var found = isHeld(widget, byMoreThan: limit) ? [] : holders[widget] ?? []
        for account in accounts { found.formUnion(visited[account] ?? []) }
        return found.sorted()
    }

    /// The relevance of a widget when subscribers were last notified; `nil` = unknown, or no board has it.
    func sentRelevance(of widget: Key) -> [Relevance]? { relevance[widget] }
    mutating func setSentRelevance(_ reported: [Relevance]?, of widget: Key) {
        relevance[widget] = isHeld(widget) ? reported : nil
    }

    /// Forgets what subscribers were sent about relevance, if other kinds took effect since.
    ///
    /// - Returns: Whether they did.
    mutating func renew(_ generation: Int) -> Bool {
        guard generation != self.generation else { return false }
        (self.generation, relevance) = (generation, [:])
        return true
    }

    // MARK: Members

    /// Updates the members of a board to its state.
    ///
    /// - Returns: The members, and the former ones. Send the followers of those without state a deletion, then ``release(_:_:)`` all.
    mutating func examine(_ number: Int32, _ store: inout EntityStore) -> (members: [Member], gone: [Member]) {
        var place = boards[number] ?? Place()
        let former = place.members
        let tiles = store.unplacedTiles(onBoard: number, withRelevantTiles: place.isFollowed)
        guard !tiles.isEmpty || !former.isEmpty || place.isFollowed else { return ([], []) }
        let known = Set(former.map(\.entity))
        place.members = tiles.map { tile in
            let entity = store.intern(unplaced: tile.key, rev: store.rev(ofUnplaced: tile))
            if !known.contains(entity) { store.retain(entity) }
            return Member(entity: entity, widget: tile.tile.widget, stack: tile.tile.stack)
        }.sorted { $0.entity < $1.entity }
        place.sequence = store.sequence
        setAccount(store.name(ofBoard: number)?.account, of: &place, number)
        boards[number] = place.members.isEmpty && !place.isFollowed ? nil : place
        let kept = Set(place.members.map(\.entity))
        noteWidgets(of: place.members, insteadOf: former, onBoard: number)
        let gone = former.filter { !kept.contains($0.entity) }
        for member in gone where !store.exists(member.entity) {
            // The deletion is not older than the last row sent, whose `rev` may be the widget's.
            store.raiseRev(ofUnplaced: member.entity, to: store.rev(of: member.widget))
        }
        return (place.members, gone)
    }

    /// Gives up a board that nobody follows any more.
    ///
    /// - Returns: Its former members, to be released.
    mutating func giveUp(_ number: Int32) -> [Member] {
        guard let place = boards.removeValue(forKey: number) else { return [] }
        if place.isFollowed { leave(number, of: place.account) }
        noteWidgets(of: [], insteadOf: place.members, onBoard: number)
        return place.members
    }

    func release(_ gone: [Member], _ store: borrowing EntityStore) {
        for member in gone { store.release(member.entity) }
    }

    private mutating func noteWidgets(of members: [Member], insteadOf former: [Member], onBoard number: Int32) {
        let (new, old) = (Set(members.map(\.widget)), Set(former.map(\.widget)))
        for widget in new where !old.contains(widget) { holders[widget, default: []].insert(number) }
        for widget in old where !new.contains(widget) {
            holders[widget]?.remove(number)
            if holders[widget]?.isEmpty == true { (holders[widget], relevance[widget]) = (nil, nil) }
        }
    }
}
