/// Rows in columns under a head, for people.
public struct Table: Hashable, Sendable {
    private enum Part: Hashable {
        /// A title over the rows that follow.
        case section(Line)
        case row([Line])
    }

    private let columns: [String]
    private var parts: [Part] = []

    private static let gap = 2
    /// A column is not cut to less.
    private static let narrowest = 6

    /// - Parameter columns: The heads. Every row has as many cells.
    public init(_ columns: [String]) { self.columns = columns }

    public mutating func append(_ cells: [Line]) { parts.append(.row(cells)) }

    public mutating func append(_ cells: [String]) { append(cells.map { Line($0) }) }

    public mutating func beginSection(_ title: Line) { parts.append(.section(title)) }

    public var isEmpty: Bool { parts.isEmpty }

    /// The table in its natural width, or cut to `width` columns: the widest column gives way first.
    ///
    /// - Parameter width: The most columns to use; `nil` for as many as the table needs.
    public func draw(width: Int? = nil) -> Block {
        let widths = fitted(natural, to: width ?? .max)
        var lines = [line(columns.map { Line($0, .bold) }, widths)]
        for part in parts {
            switch part {
            case .section(let title): lines.append(title)
            case .row(let cells): lines.append(line(cells, widths))
            }
        }
        return Block(lines.map { $0.cut(toWidth: width ?? .max) })
    }

    private var natural: [Int] {
        var widths = columns.map(\.displayWidth)
        for case .row(let cells) in parts {
            for (column, cell) in zip(widths.indices, cells) { widths[column] = max(widths[column], cell.width) }
        }
        return widths
    }

    private func fitted(_ widths: [Int], to limit: Int) -> [Int] {
        var widths = widths
        let gaps = Self.gap * max(0, widths.count - 1)
        while true {
            let excess = widths.reduce(gaps, +) - limit
            guard excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
                widths[widest] > Self.narrowest
            else { return widths }
            // As wide as the second, so that the next round cuts both.
            let second = widths.indices.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
            widths[widest] = max(Self.narrowest, min(widths[widest] - 1, max(second, widths[widest] - excess)))
        }
    }

    private func line(_ cells: [Line], _ widths: [Int]) -> Line {
        var line = Line()
        for (column, (cell, width)) in zip(cells, widths).enumerated() {
            // The last column has no blanks after it.
            line.append(column == widths.count - 1 ? cell.cut(toWidth: width) : cell.fitted(to: width))
            if column < widths.count - 1 { line.append(String(repeating: " ", count: Self.gap)) }
        }
        return line
    }
}
