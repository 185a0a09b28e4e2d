internal import TelltaleModel

/// The place of a tile on its board at a moment, computed from its row.
///
/// Turns and order numbers whose date has come are applied (Protocols/Widgets/boards.md), because a screen turns its
/// stacks without a message.
struct TileCardPlace: Hashable, Sendable {
    let board: String
    /// The id of the tile, without its board.
    let id: String
    /// The number of its place, from 1; 0 if a watch has no room for it now. `nil` if the row does not say, as for a
    /// tile in a stack in the full view.
    let order: Int?
    let family: String
    let stack: String?
    /// In its stack.
    let position: Int
    /// Whether its stack shows it; `true` for a tile outside a stack.
    let isTop: Bool
    /// When this tile, or another one, comes on top next.
    let turnsAt: Timestamp?
    let pinned: Int?
    let isUnavailable: Bool
    let isSuggested: Bool

    /// `nil` if the card is not a tile. A stack has a row only in the full view.
    init?(_ card: Card, at now: Timestamp) {
        guard card.key.utf8.first == UInt8(ascii: "@"), let slash = card.key.utf8.firstIndex(of: UInt8(ascii: "/")),
            card.row["widget"]?.string != nil || card.isStack
        else { return nil }
        let row = card.row
        board = String(card.key[..<slash])
        id = String(card.key[card.key.utf8.index(after: slash)...])
        func date(_ json: JSON) -> Timestamp { Timestamp(milliseconds: json["date"]?.integer ?? .max) }
        let moved = (row["orders"]?.array ?? []).last { date($0) <= now }
        order = (moved?["order"] ?? row["order"])?.integer.map { Int(clamping: $0) }
        family = row["presentation"]?.string ?? row["family"]?.string ?? ""
        stack = row["stack"]?.string
        position = Int(clamping: row["position"]?.integer ?? 0)
        let turns = row["turns"]?.array ?? []
        if let turn = turns.last(where: { date($0) <= now }) {
            isTop = turn["key"]?.string == card.key
        } else {
            isTop = row["top"]?.bool ?? true
        }
        turnsAt = turns.map(date).first { $0 > now }
        pinned = row["pinned"]?.integer.map { Int(clamping: $0) }
        isUnavailable = row["unavailable"]?.bool == true
        isSuggested = row["suggested"]?.bool == true
    }
}

extension Card {
    /// Whether this is the row of a stack, which only the full view has.
    var isStack: Bool { row["state"]?.string == "stack" && row["smart"]?.bool != nil }

    /// Its place on the board in words, which follow the picture of a tile in a line.
    func tileNote(_ place: TileCardPlace, at now: Timestamp) -> String {
        var words: [String] = []
        if let order = place.order { words.append(order == 0 ? "not shown now" : "place \(order)") }
        if let stack = place.stack {
            let isTold = place.order != nil && row["top"] != nil
            words.append((!isTold ? "in " : place.isTop ? "top of " : "below in ") + stack)
        }
        if let pinned = place.pinned { words.append("pinned at \(pinned)") }
        if place.isSuggested { words.append("suggested") }
        if place.isUnavailable { words.append("unavailable") }
        if let date = place.turnsAt { words.append("turns in \(Countdown.text(until: date, at: now))") }
        return words.joined(separator: "; ")
    }

    /// The row of a tile, or of a stack, in one line.
    func tileSummary(_ place: TileCardPlace, at now: Timestamp) -> String {
        let note = tileNote(place, at: now)
        guard let state = row["state"]?.string else {
            return widgetSummary(at: now) + (note.isEmpty ? "" : " (\(note.harmless))")
        }
        let words = [state, row["widget"]?.string ?? "", place.family, row["smart"]?.bool == true ? "smart" : ""]
        return (words.filter { !$0.isEmpty }.joined(separator: " ") + (note.isEmpty ? "" : " (\(note))")).harmless
    }
}
