internal import TelltaleModel

/// A board as operators see it, made of rows of the full view: its places in order, with the tiles of each stack below
/// it.
struct BoardOutline {
    private let name: String
    private let cards: [(card: Card, place: TileCardPlace)]

    static func all(of cards: [Card], at now: Timestamp) -> [BoardOutline] {
        let tiles = cards.compactMap { card in TileCardPlace(card, at: now).map { (card: card, place: $0) } }
        return Dictionary(grouping: tiles, by: \.place.board).map(BoardOutline.init)
            .sorted { $0.name < $1.name }
    }

    private init(_ name: String, _ cards: [(card: Card, place: TileCardPlace)]) {
        self.name = name
        // Each stack with its tiles; at the end the tiles of stacks without a row.
        let orders = Dictionary(
            cards.filter(\.card.isStack).map { ($0.place.id, $0.place.order ?? .max) },
            uniquingKeysWith: { first, _ in first })
        func rank(_ card: (card: Card, place: TileCardPlace)) -> (Int, String, Int, String) {
            let place = card.place
            guard let stack = place.stack else { return (place.order ?? .max, place.id, -1, place.id) }
            return (orders[stack] ?? .max, stack, place.position, place.id)
        }
        self.cards = cards.sorted { rank($0) < rank($1) }
    }

    func draw(width: Int) -> Block {
        let inner = max(8, width - 4)
        return Block(cards.map(line), inner: inner).framed(.rounded, title: Line(name, Ink(.cyan)))
    }

    private func line(_ card: Card, _ place: TileCardPlace) -> Line {
        let number = place.stack == nil ? place.order.map { "\($0)" } ?? "" : "\(place.position)"
        var line = Line(place.stack == nil ? "" : "   ")
        line.append(number + String(repeating: " ", count: max(1, 3 - number.count)), .dim)
        line.append(place.id, .bold)
        var words = [card.isStack ? "stack" : card.row["widget"]?.string ?? "", place.family]
        if card.isStack {
            words.append(card.row["smart"]?.bool == true ? "smart" : "")
        } else {
            words += (card.row["configuration"]?.object ?? JSONObject()).map {
                "\($0.name) \($0.value.string ?? $0.value.description)"
            }
        }
        words.append(card.row["placement"]?.string ?? "")
        if place.stack != nil, !cards.contains(where: { $0.card.isStack && $0.place.id == place.stack }) {
            words.append("in \(place.stack ?? "")")
        }
        if let pinned = place.pinned { words.append("pinned \(pinned)") }
        if place.isSuggested { words.append("suggested") }
        line.append("  " + words.filter { !$0.isEmpty }.joined(separator: " · "))
        return line
    }
}
