/// Redraws a picture in a terminal without flicker: only the lines that changed, all in one write.
public struct Painter: Sendable {
    private var shown: [String] = []

    public init() {}

    /// Takes over the screen; ``end`` restores it.
    public static let begin = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J"
    public static let end = "\(ending)"
    /// The same for a signal handler, which must not allocate.
    public static let ending: StaticString = "\u{1B}[?25h\u{1B}[?1049l"

    /// The text that turns the last picture on the terminal into this one. Empty when nothing changed.
    public mutating func paint(_ lines: [String]) -> String {
        var text = ""
        for (row, line) in lines.enumerated() where row >= shown.count || shown[row] != line {
            text += "\u{1B}[\(row + 1);1H\(line)\u{1B}[K"
        }
        if lines.count < shown.count { text += "\u{1B}[\(lines.count + 1);1H\u{1B}[J" }
        shown = lines
        // A terminal with synchronised output shows the whole change at once; others ignore the code.
        return text.isEmpty ? "" : "\u{1B}[?2026h\(text)\u{1B}[?2026l"
    }

    /// Call it after the terminal was resized or overwritten: the next picture is drawn completely.
    public mutating func forget() -> String {
        shown = []
        return "\u{1B}[2J"
    }
}
