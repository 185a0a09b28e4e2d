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
    private var tiles: [Key: Set<EntityIndex>] = [:]
    private var countByAccount: [String: Int] = [:]
    private(set) var sharedCount = 0

    var isEmpty: Bool { boards.isEmpty }
    var count: Int { boards.count }

    /// In no order.
    func items(onBoard number: Int32) -> [EntityIndex] { boards[number]?.items ?? [] }
    /// In no order.
    var allItems: [EntityIndex] { boards.values.flatMap(\.items) }

    /// The tiles that show a widget, in the order of their indices.
    func tiles(on widget: Key) -> [EntityIndex] { tiles[widget]?.sorted() ?? [] }
    func hasTiles(on widget: Key) -> Bool { tiles[widget] != nil }
    func someTile(on widget: Key) -> EntityIndex? { tiles[widget]?.min() }
    /// The widgets that tiles show, in the order of their keys.
    var widgets: [Key] { tiles.keys.sorted() }

    /// How many boards an account has; `nil` for those that are everybody's.
    func boardCount(of account: String?) -> Int { account.map { countByAccount[$0] ?? 0 } ?? sharedCount }

    mutating func insert(_ entity: EntityIndex, _ item: BoardItem, onBoard number: Int32) {
        if boards[number] == nil { countBoard(of: item.account, by: 1) }
        boards[number, default: Place(account: item.account)].items.append(entity)
        if let tile = item.tile { tiles[tile.widget, default: []].insert(entity) }
    }

    mutating func remove(_ entity: EntityIndex, _ item: BoardItem, onBoard number: Int32) {
        boards[number]?.items.removeAll { $0 == entity }
        if let place = boards[number], place.items.isEmpty {
            boards[number] = nil
            countBoard(of: place.account, by: -1)
        }
        guard let tile = item.tile else { return }
        tiles[tile.widget]?.remove(entity)
        if tiles[tile.widget]?.isEmpty == true { tiles[tile.widget] = nil }
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
