import Cards
import Glibc
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// Standard output, for programs and for terminals.
enum Output {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// On a terminal that can be drawn on.
    static let canDraw = isTerminal && environment("TERM") != "dumb"

    /// Whether the output is a terminal with colours, and the user has not turned them off.
    static let hasColor = canDraw && allowsColors(environment)

    /// Whether output to a terminal may have characters beyond ASCII.
    static let hasUTF8 = localeHasUTF8(environment)

    /// A picture as the terminal can show it.
    static func drawable(_ text: String) -> String { isTerminal && !hasUTF8 ? text.inASCII : text }

    /// - Parameter text: Made harmless, or JSON, which is made so here where a terminal would obey it.
    static func line(_ text: String) {
        write((isTerminal ? text.harmlessJSON : text) + "\n")
    }

    static func json(_ value: JSON) { line(value.description) }

    /// Writes without buffering. When the reader has closed its end (`telltale watch | head`), the program ends. When
    /// the output cannot be written, the program ends with a message.
    static func write(_ text: String) { write(Array(text.utf8)) }

    static func write(_ bytes: [UInt8]) {
        let error = StandardStream.output.write(bytes.span)
        guard error != 0 else { return }
        if error == EPIPE { exit(0) }
        let cause = unsafe String(cString: strerror(error))
        complain("telltale: not all of it could be written to standard output: \(cause)")
        exit(1)
    }

    static func draw(_ block: Block) {
        for text in block.text(color: hasColor) { write(drawable(text) + "\n") }
    }

    /// Columns and lines; 80 × 24 when they are not known.
    static var size: (width: Int, height: Int) {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
