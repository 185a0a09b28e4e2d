/// A rectangle of lines of one width. Drawings are composed of blocks.
public struct Block: Hashable, Sendable {
    public private(set) var lines: [Line]
    public let width: Int

    public var height: Int { lines.count }

    public init(_ lines: [Line], width: Int, centered: Bool = false) {
        self.width = max(0, width)
        self.lines = lines.map { $0.fitted(to: max(0, width), centered: centered) }
    }

    public init(_ lines: [Line]) {
        self.init(lines, width: lines.map(\.width).max() ?? 0)
    }

    /// Lines of `inner` columns, with a blank at both ends, as they stand in the frame of a card.
    init(_ lines: [Line], inner: Int, centered: Bool = false) {
        self.init(
            lines.map { line in
                var padded = Line(" ")
                padded.append(line.fitted(to: inner, centered: centered))
                padded.append(" ")
                return padded
            }, width: inner + 2)
    }

    /// Blocks from left to right, aligned at the top.
    public static func beside(_ blocks: [Block], gap: Int = 1) -> Block {
        let height = blocks.map(\.height).max() ?? 0
        var lines: [Line] = []
        for row in 0..<height {
            var line = Line()
            for (column, block) in blocks.enumerated() {
                if column > 0 { line.append(String(repeating: " ", count: gap)) }
                line.append(row < block.height ? block.lines[row] : Line().fitted(to: block.width))
            }
            lines.append(line)
        }
        return Block(lines)
    }

    /// Blocks from top to bottom, aligned at the left.
    public static func above(_ blocks: [Block], gap: Int = 0) -> Block {
        let width = blocks.map(\.width).max() ?? 0
        var lines: [Line] = []
        for (row, block) in blocks.enumerated() {
            if row > 0 { lines += Array(repeating: Line(), count: gap) }
            lines += block.lines
        }
        return Block(lines, width: width)
    }

    /// The blocks side by side, wrapped at `width`.
    static func flowing(_ blocks: [Block], width: Int, gap: Int = 1) -> Block {
        var rows: [[Block]] = []
        var used = 0
        for block in blocks {
            if let last = rows.indices.last, used + gap + block.width <= width {
                rows[last].append(block)
                used += gap + block.width
            } else {
                rows.append([block])
                used = block.width
            }
        }
        return above(rows.map { beside($0, gap: gap) })
    }

    /// The blocks at their places, which do not overlap.
    static func placed(_ pieces: [(column: Int, line: Int, block: Block)]) -> Block {
        let height = pieces.map { $0.line + $0.block.height }.max() ?? 0
        let lines = (0..<height).map { row -> Line in
            var line = Line()
            let here = pieces.filter { ($0.line..<$0.line + $0.block.height).contains(row) }
            for piece in here.sorted(by: { $0.column < $1.column }) {
                line.append(String(repeating: " ", count: max(0, piece.column - line.width)))
                line.append(piece.block.lines[row - piece.line])
            }
            return line
        }
        return Block(lines)
    }

    enum Frame {
        /// A card.
        case rounded
        /// A display: heavier than the cards on it.
        case display

        var parts: (corners: [String], horizontal: String, vertical: String) {
            switch self {
            case .rounded: (["╭", "╮", "╰", "╯"], "─", "│")
            case .display: (["┏", "┓", "┗", "┛"], "━", "┃")
            }
        }
    }

    /// Adds a frame, with an optional title above, and an optional foot and corner text below.
    func framed(
        _ frame: Frame, title: Line = Line(), ink: Ink = .dim, foot: Line = Line(), corner: Line = Line()
    ) -> Block {
        let (corners, horizontal, vertical) = frame.parts
        var top = Line(corners[0] + horizontal, ink)
        if title.width > 0 {
            top.append(" ", ink)
            top.append(title.fitted(to: min(title.width, max(0, width - 4))))
            top.append(" ", ink)
        }
        top.append(String(repeating: horizontal, count: max(0, width + 1 - top.width)), ink)
        top.append(corners[1], ink)
        var framed = [top]
        for line in lines {
            var row = Line(vertical, ink)
            row.append(line)
            row.append(vertical, ink)
            framed.append(row)
        }
        var bottom = Line(corners[2], ink)
        if foot.width > 0 {
            bottom.append("\(horizontal) ", ink)
            bottom.append(foot)
            bottom.append(" ", ink)
        }
        let end = corner.width > 0 ? corner.width + 3 : 0
        bottom.append(String(repeating: horizontal, count: max(0, width + 1 - end - bottom.width)), ink)
        if corner.width > 0 {
            bottom.append(" ", ink)
            bottom.append(corner)
            bottom.append(" \(horizontal)", ink)
        }
        bottom.append(corners[3], ink)
        framed.append(bottom)
        return Block(framed, width: width + 2)
    }

    /// Pads it with empty lines below to at least this height.
    func filled(toHeight height: Int) -> Block {
        Block(lines + Array(repeating: Line(), count: max(0, height - lines.count)), width: width)
    }

    /// Cuts the block to this height. The last line then says how much is missing.
    public func cut(toHeight height: Int) -> Block {
        guard lines.count > height, height > 0 else { return self }
        let hidden = lines.count - height + 1
        return Block(Array(lines.prefix(height - 1)) + [Line("… \(hidden) more lines", .dim)], width: width)
    }

    /// The lines from `offset` on that fit into the height. `offset` is reduced if the block ends earlier.
    public func window(from offset: inout Int, height: Int) -> Block {
        offset = max(0, min(offset, lines.count - height))
        return Block(Array(lines[offset...].prefix(max(0, height))), width: width)
    }

    func inked(_ change: (inout Ink) -> Void) -> Block {
        Block(lines.map { $0.inked(change) }, width: width)
    }

    public func text(color: Bool) -> [String] { lines.map { $0.text(color: color) } }
}
