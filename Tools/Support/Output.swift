public import Cards
import Glibc
import Synchronization
import TelltaleEventLoop
public import TelltaleModel

/// Standard output of the programs that people run, for programs and for terminals.
public enum Output {
    public static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// On a terminal that can be drawn on.
    public static let canDraw = isTerminal && environment("TERM") != "dumb"

    /// Whether the output is a terminal with colours, and the user has not turned them off.
    public static let hasColor = canDraw && allowsColors(environment)

    /// Whether output to a terminal may have characters beyond ASCII.
    static let hasUTF8 = localeHasUTF8(environment)

    /// A picture as the terminal can show it.
    public static func drawable(_ text: String) -> String { isTerminal && !hasUTF8 ? text.inASCII : text }

    /// - Parameter text: Made harmless, or JSON, which is made so here where a terminal would obey it.
    public static func line(_ text: String) { write(shown(text) + "\n") }

    /// JSON, or a line with JSON, as a terminal can show it: characters that it would obey or does not know are escapes.
    public static func shown(_ text: String) -> String {
        guard isTerminal else { return text }
        return hasUTF8 ? text.harmlessJSON : text.harmlessJSON.escapedToASCII
    }

    public static func json(_ value: JSON) { line(value.description) }

    /// Lines for people, as the terminal can show them. Characters that control a terminal are replaced by spaces.
    public static func text(_ text: String) { write(drawable(text.harmlessLines) + "\n") }

    /// A report, as JSON where there is one for a program.
    public static func report(_ json: JSON?, _ text: String) {
        if let json { self.json(json) } else { self.text(text) }
    }

    private static let goesOnWithoutReader = Atomic(false)

    /// From now on the program does its work although the reader of its output has gone: it acts, and does not only report.
    public static func goOnWithoutReader() { goesOnWithoutReader.store(true, ordering: .relaxed) }

    /// Writes without buffering. When the reader has closed its end (`telltale watch | head`), the program ends. When
    /// the output cannot be written, the program ends with a message.
    public static func write(_ text: String) { write(Array(text.utf8)) }

    public static func write(_ bytes: [UInt8]) {
        let error = StandardStream.output.write(bytes.span)
        guard error != 0 else { return }
        if error == EPIPE {
            if goesOnWithoutReader.load(ordering: .relaxed) { return }
            exit(0)
        }
        let cause = unsafe String(cString: strerror(error))
        complain("\(programName): not all of it could be written to standard output: \(cause)")
        exit(1)
    }

    /// Rows in columns; the first row is the head.
    public static func table(_ rows: [[String]]) {
        var table = Table(rows.first ?? [])
        for row in rows.dropFirst() { table.append(row) }
        self.table(table)
    }

    /// On a terminal no wider than it; a pipe has all of each cell.
    public static func table(_ table: Table) {
        let block = table.draw(width: isTerminal ? size.width : nil)
        for line in block.text(color: hasColor) { write(drawable(isTerminal ? line : line.trimmed) + "\n") }
    }

    /// - Parameter erasesRest: Whether what stands on the terminal after each line, and below the last one, is erased.
    public static func draw(_ block: Block, erasesRest: Bool = false) {
        let lines = block.text(color: hasColor).map { drawable($0) + (erasesRest ? "\u{1B}[K\n" : "\n") }
        write(lines.joined() + (erasesRest ? "\u{1B}[J" : ""))
    }

    /// Draws what has changed since the last picture of `painter`.
    public static func paint(_ block: Block, with painter: inout Painter) {
        write(painter.paint(block.text(color: hasColor).map(drawable)))
    }

    /// Columns and lines; 80 × 24 when they are not known.
    public static var size: (width: Int, height: Int) {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    public static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// The same, for a variable that counts as absent while it is empty.
    public static func variable(_ name: String) -> String? {
        environment(name).flatMap { $0.isEmpty ? nil : $0 }
    }
}
