internal import FanOut
internal import Machines
internal import TelltaleModel

/// Which tiles and stacks are on which board, which account owns each board, and which tiles show which widget.
///
/// Invariant: it follows from the items that exist, and a start recomputes it.
struct Boards: Sendable {
    private struct Place: Sendable {
        var account: String?
        var items: [EntityIndex] = []
    }

    /// Keyed by the number of the board's name.
    private var boards: [Int32: Place] = [:]
    private var tiles: [Key: [EntityIndex]] = [:]
    /// The number of stacks on each board that take suggestions, if any, by the board's account.
    private var suggesting: [String?: [Int32: Int]] = [:]
    private var countByAccount: [String: Int] = [:]
    /// The relevant widgets that boards may show although nobody placed them.
    var relevantWidgets = RelevantWidgets()
    private(set) var sharedCount = 0

    var isEmpty: Bool { boards.isEmpty }
    var numbers: [Int32] { boards.keys.sorted() }

    /// In the order of their indices, like all lists here.
    func items(onBoard number: Int32) -> [EntityIndex] { boards[number]?.items ?? [] }

    /// The tiles that show widgets of any of these kinds.
    func tiles(onKinds names: some Collection<Substring>) -> [EntityIndex] {
        let names = Set(names)
        return tiles.filter { names.contains($0.key.kind) }.flatMap(\.value).sorted()
    }

    /// The tiles that show a widget.
    func tiles(on widget: Key) -> [EntityIndex] { tiles[widget] ?? [] }
    func hasTiles(on widget: Key) -> Bool { tiles[widget] != nil }
    func someTile(on widget: Key) -> EntityIndex? { tiles[widget]?.first }
    /// The widgets that tiles show, in the order of their keys.
    var widgets: [Key] { tiles.keys.sorted() }

    /// The number of an account's boards; `nil` = boards that belong to everybody.
    func boardCount(of account: String?) -> Int { account.map { countByAccount[$0] ?? 0 } ?? sharedCount }

    /// Whether a stack on a board takes suggestions.
    func takesSuggestions(_ number: Int32) -> Bool {
        guard !suggesting.isEmpty, let place = boards[number] else { return false }
        return suggesting[place.account]?[number] != nil
    }

    /// The boards with suggestions that all devices of an account see: its own and those that belong to everybody.
    ///
    /// - Complexity: O(these boards), regardless of how many boards there are.
    func boardsWithSuggestions(of account: String?) -> [Int32] {
        let shared = suggesting[nil].map { Array($0.keys) } ?? []
        let own = account.flatMap { suggesting[$0] }.map { Array($0.keys) } ?? []
        return (shared + own).sorted()
    }

    var allBoardsWithSuggestions: [Int32] { suggesting.values.flatMap(\.keys).sorted() }

    mutating func insert(_ entity: EntityIndex, _ item: BoardItem, onBoard number: Int32) {
        if boards[number] == nil { countBoard(of: item.account, by: 1) }
        boards[number, default: Place(account: item.account)].items.insertInOrder(entity)
        if item.stack?.suggests == true { countSuggesting(number, by: 1) }
        if let tile = item.tile { tiles[tile.widget, default: []].insertInOrder(entity) }
    }

    mutating func remove(_ entity: EntityIndex, _ item: BoardItem, onBoard number: Int32) {
        if item.stack?.suggests == true { countSuggesting(number, by: -1) }
        boards[number]?.items.removeInOrder(entity)
        if let place = boards[number], place.items.isEmpty {
            boards[number] = nil
            countBoard(of: place.account, by: -1)
        }
        guard let tile = item.tile else { return }
        tiles[tile.widget]?.removeInOrder(entity)
        if tiles[tile.widget]?.isEmpty == true { tiles[tile.widget] = nil }
    }

    /// - Precondition: The board exists.
    private mutating func countSuggesting(_ number: Int32, by difference: Int) {
        let account = boards[number]?.account
        let count = (suggesting[account]?[number] ?? 0) + difference
        suggesting[account, default: [:]][number] = count > 0 ? count : nil
        if suggesting[account]?.isEmpty == true { suggesting[account] = nil }
    }

    private mutating func countBoard(of account: String?, by difference: Int) {
        guard let account else {
            sharedCount += difference
            return
        }
        let count = (countByAccount[account] ?? 0) + difference
        countByAccount[account] = count == 0 ? nil : count
    }
}

// Ascending indices without duplicates.
extension [EntityIndex] {
    /// - Complexity: O(log n) to find the position; a start only appends.
    fileprivate mutating func insertInOrder(_ entity: EntityIndex) { insert(entity, at: place(of: entity)) }

    fileprivate mutating func removeInOrder(_ entity: EntityIndex) {
        let place = place(of: entity)
        if place < count, self[place] == entity { remove(at: place) }
    }

    /// The first position whose index is not below that of `entity`.
    private func place(of entity: EntityIndex) -> Int {
        guard let last, !(last < entity) else { return count }
        var range = startIndex..<endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = self[middle] < entity ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
