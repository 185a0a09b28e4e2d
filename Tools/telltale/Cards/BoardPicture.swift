internal import TelltaleModel

/// The board of a device: its places in order, each of which shows one tile.
struct BoardPicture {
    /// A single tile, or a stack, which shows its top tile.
    struct Place {
        var order: Int
        /// Sorted by position.
        var tiles: [(card: Card, place: TileCardPlace)]

        /// The index of the shown tile in ``tiles``.
        ///
        /// Rows of a stack arrive one after another, so for a moment two may claim to be on top. The newest one is
        /// right.
        var top: Int {
            let claiming = tiles.indices.filter { tiles[$0].place.isTop }
            return claiming.max { (tiles[$0].card.rev ?? 0, $1) < (tiles[$1].card.rev ?? 0, $0) } ?? 0
        }
    }

    let name: String
    let places: [Place]

    /// The boards in the rows, by name. Other rows are ignored.
    static func all(of cards: [Card], at now: Timestamp) -> [BoardPicture] {
        var boards: [String: [String: Place]] = [:]
        for card in cards {
            guard let tile = TileCardPlace(card, at: now), !card.isStack, let order = tile.order, order > 0,
                // A suggestion is sent ahead: until its time it has no picture and no place.
                !tile.isSuggested || card.hasPicture(at: now)
            else { continue }
            // Ids contain no `/`, so no tile can have the name of a stack.
            let name = tile.stack.map { "/\($0)" } ?? tile.id
            boards[tile.board, default: [:]][name, default: Place(order: order, tiles: [])].tiles.append((card, tile))
        }
        return boards.map { name, places in
            let sorted = places.map { id, place in
                var place = place
                place.tiles.sort { ($0.place.position, $0.place.id) < ($1.place.position, $1.place.id) }
                place.order = place.tiles[place.top].place.order ?? place.order
                return (id: id, place: place)
            }.sorted { ($0.place.order, $0.id) < ($1.place.order, $1.id) }
            return BoardPicture(name: name, places: sorted.map(\.place))
        }.sorted { $0.name < $1.name }
    }

    // MARK: Drawing

    /// A surface's board in `width` columns: a grid of tiles by their families; of a watch a list.
    func draw(on surface: Surface, width: Int, at now: Timestamp) -> Block {
        if surface == .watch { return list(width: width, at: now) }
        let accessories = places.filter { $0.tiles[$0.top].place.family.hasPrefix("accessory") }
        let others = places.filter { !$0.tiles[$0.top].place.family.hasPrefix("accessory") }
        var blocks: [Block] = []
        if !accessories.isEmpty { blocks.append(lockScreen(accessories, width: width, at: now)) }
        if !accessories.isEmpty, !others.isEmpty {
            blocks.append(Block([Line(String(repeating: "┄", count: width), .dim)], width: width))
        }
        if !others.isEmpty { blocks.append(grid(others, Grid(surface, width: width), at: now)) }
        return Block.above(blocks)
    }

    /// The measures of a grid whose smallest tile is a `systemSmall`.
    private struct Grid {
        let columns: Int
        let cell: Int
        let height: Int

        /// The least columns of a small tile; tiles that do not fit side by side move to the next line.
        private static let narrowest = 14

        init(_ surface: Surface, width: Int) {
            let wanted =
                switch surface {
                case .phone, .standby, .watch: 2
                case .carplay: 3
                case .pad, .desktop, .vision: 4
                }
            columns = max(1, min(wanted, (width + 1) / (Self.narrowest + 1)))
            cell = max(1, (width - (columns - 1)) / columns)
            height = surface == .standby ? 8 : 7
        }

        /// Columns and rows that a family takes.
        func span(_ family: String) -> (width: Int, height: Int) {
            let (width, height) =
                switch family {
                case "systemMedium": (2, 1)
                case "systemLarge": (2, 2)
                case "systemExtraLarge": (4, 2)
                case "systemExtraLargePortrait": (2, 3)
                case _: (1, 1)
                }
            return (min(width, columns), height)
        }
    }

    private func grid(_ places: [Place], _ grid: Grid, at now: Timestamp) -> Block {
        let spans = places.map { grid.span($0.tiles[$0.top].place.family) }
        let corners = Self.flow(spans, columns: grid.columns)
        let pieces = zip(places, zip(corners, spans)).map { place, at in
            let width = at.1.width * grid.cell + (at.1.width - 1)
            return (
                column: at.0.column * (grid.cell + 1), line: at.0.row * grid.height,
                block: Self.tile(place, width: width, height: at.1.height * grid.height, at: now)
            )
        }
        return Block.placed(pieces)
    }

    /// The places of tiles that are laid out line by line, each after the one before it, at the first place with room.
    static func flow(_ spans: [(width: Int, height: Int)], columns: Int) -> [(column: Int, row: Int)] {
        var taken: Set<Int> = []
        var next = 0
        return spans.map { span in
            func cells(at cell: Int) -> [Int] {
                (0..<span.height).flatMap { row in (0..<span.width).map { cell + row * columns + $0 } }
            }
            while next % columns + span.width > columns || cells(at: next).contains(where: taken.contains) { next += 1 }
            taken.formUnion(cells(at: next))
            return (next % columns, next / columns)
        }
    }

    /// The Smart Stack of a watch.
    private func list(width: Int, at now: Timestamp) -> Block {
        Block.above(places.map { Self.tile($0, width: width, height: nil, at: now) })
    }

    /// Widgets of the Lock Screen: the line above the clock, then circles and rectangles, four circles a row.
    private func lockScreen(_ places: [Place], width: Int, at now: Timestamp) -> Block {
        func family(_ place: Place) -> String { place.tiles[place.top].place.family }
        let lines = places.filter { family($0) == "accessoryInline" }.map { place -> Line in
            let card = place.tiles[place.top].card
            return card.inline(at: now)
        }
        // A circle has at least eight columns. If four do not fit, fewer stand side by side.
        let columns = width < 17 ? 1 : width < 35 ? 2 : 4
        let cell = max(1, (width - (columns - 1)) / columns)
        let others = places.filter { family($0) != "accessoryInline" }
        let spans = others.map { (width: family($0) == "accessoryRectangular" ? min(2, columns) : 1, height: 1) }
        let corners = Self.flow(spans, columns: columns)
        let pieces = zip(others, zip(corners, spans)).map { place, at in
            let height = 5
            return (
                column: at.0.column * (cell + 1), line: at.0.row * height,
                block: Self.tile(
                    place, width: at.1.width * cell + (at.1.width - 1), height: height, at: now)
            )
        }
        return Block.above([Block(lines, width: width, centered: true), Block.placed(pieces)])
    }

    private static func tile(_ place: Place, width: Int, height: Int?, at now: Timestamp) -> Block {
        let (card, tile) = place.tiles[place.top]
        let others = place.tiles.count > 1 ? (shown: place.top, count: place.tiles.count) : nil
        return card.tile(tile, stack: others, width: width, height: height, at: now)
    }
}

extension Card {
    /// A tile as its board shows it.
    ///
    /// - Parameters:
    ///   - stack: The number of the shown tile in its stack, and how many there are; `nil` for a single tile.
    ///   - height: In lines, frame included; `nil` for as many as needed.
    fileprivate func tile(
        _ tile: TileCardPlace, stack: (shown: Int, count: Int)?, width: Int, height: Int?, at now: Timestamp
    ) -> Block {
        let inner = max(1, width - 4)
        let isRound = ["accessoryCircular", "accessoryCorner"].contains(tile.family) && height != nil
        var lines = isRound ? roundLines(at: now) : widgetLines(width: inner, at: now)
        if let height {
            let room = max(1, height - 2)
            if lines.count > room { lines = Array(lines.prefix(room - 1)) + [Line("…", .dim)] }
            let before = isRound ? (room - lines.count) / 2 : 0
            lines = Array(repeating: Line(), count: before) + lines
            lines += Array(repeating: Line(), count: room - lines.count)
        }
        let name = isRound ? Line() : Line(row["appName"]?.string ?? row["title"]?.string ?? key, .dim)
        let dots = stack.map { Self.dots($0.shown, of: $0.count, width: width) } ?? Line()
        let room = width - 6 - (dots.width > 0 ? dots.width + 3 : 0)
        let note = tileNotes(tile, at: now).first { $0.width <= room } ?? Line()
        let block = Block(lines, inner: inner, centered: isRound).framed(
            .rounded, title: name, ink: .dim, foot: note, corner: dots)
        return isFaint(at: now) || tile.isUnavailable ? block.inked { $0.isDim = true } : block
    }

    /// One dot for each tile of a stack; numbers if there are many.
    private static func dots(_ shown: Int, of count: Int, width: Int) -> Line {
        guard count + 6 <= width / 2 else { return Line("\(shown + 1)/\(count)", .dim) }
        var line = Line()
        for index in 0..<count { line.append(index == shown ? "●" : "○", index == shown ? .plain : .dim) }
        return line
    }

    /// The states and dates of a tile as texts, the longest one first: the first one that fits is drawn.
    private func tileNotes(_ tile: TileCardPlace, at now: Timestamp) -> [Line] {
        let states = tileStates(tile, at: now)
        func joined(_ parts: [(String, Ink)]) -> Line {
            parts.reduce(into: Line()) { $0.add(Line($1.0, $1.1)) }
        }
        var notes: [Line] = []
        let turns = tile.turnsAt != nil
        if let date = tile.turnsAt ?? next(at: now), !tile.isUnavailable {
            let (left, word) = (Countdown.text(until: date, at: now), turns ? "turns" : "next")
            let texts = ["\(word) in \(left)", "\(word) \(left)", turns ? "↻\(left)" : left]
            notes += texts.map { joined(states + [($0, .dim)]) }
        }
        return notes + (0..<states.count).map { joined(Array(states.dropLast($0))) }
    }

    /// The most important first.
    private func tileStates(_ tile: TileCardPlace, at now: Timestamp) -> [(String, Ink)] {
        var states: [(String, Ink)] = []
        if tile.isUnavailable { states.append(("unavailable", Ink(.red))) }
        if isChanging { states.append(("changing", Ink(.yellow))) }
        if isStale(at: now) { states.append(("stale", Ink(.yellow))) }
        if tile.isSuggested { states.append(("suggested", Ink(.blue))) }
        if let pinned = tile.pinned { states.append(("pinned \(pinned)", .dim)) }
        return states
    }
}
