internal import FanOut
internal import Machines
internal import TelltaleModel

/// Which tiles and stacks stand on which board, whose the boards are, and which tiles show which widget.
///
/// Invariant: it follows from the items that are there and not gone; a start computes it again.
struct Boards: Sendable {
    private struct Place: Sendable {
        var account: String?
        var items: [EntityIndex] = []
    }

    /// By the number of the board's name.
    private var boards: [Int32: Place] = [:]
    private var tiles: [Key: [EntityIndex]] = [:]
    /// How many stacks of each board take suggestions, where any does, by the account of the board.
    private var suggesting: [String?: [Int32: Int]] = [:]
    private var countByAccount: [String: Int] = [:]
    private(set) var sharedCount = 0

    var isEmpty: Bool { boards.isEmpty }
    var count: Int { boards.count }
    var numbers: [Int32] { boards.keys.sorted() }

    /// In the order of their indices, as all lists here are.
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

    /// How many boards an account has; `nil` for those that are everybody's.
    func boardCount(of account: String?) -> Int { account.map { countByAccount[$0] ?? 0 } ?? sharedCount }

    /// Whether a stack of a board takes suggestions.
    func takesSuggestions(_ number: Int32) -> Bool {
        guard !suggesting.isEmpty, let place = boards[number] else { return false }
        return suggesting[place.account]?[number] != nil
    }

    /// The boards that take suggestions and are shown to all devices of an account: its own and those that are everybody's.
    ///
    /// - Complexity: O(its boards and those that are everybody's), which are few, however many boards there are.
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

    /// The board is there.
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

// Rising indices, each once.
extension [EntityIndex] {
    /// - Complexity: O(log n) to find the place; a start appends.
    fileprivate mutating func insertInOrder(_ entity: EntityIndex) { insert(entity, at: place(of: entity)) }

    fileprivate mutating func removeInOrder(_ entity: EntityIndex) {
        let place = place(of: entity)
        if place < count, self[place] == entity { remove(at: place) }
    }

    /// The first place whose index is not below that of `entity`.
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
