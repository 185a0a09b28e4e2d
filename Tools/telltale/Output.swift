import Cards
import Glibc
import Model

/// Standard output, for programs and for terminals.
enum Output {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// On a terminal that has colours and whose person wants them (https://no-color.org).
    static let hasColor = isTerminal && (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"

    static func line(_ text: String) {
        write(text + "\n")
    }

    /// Writes at once. When nobody reads any more (`telltale watch | head`), the program ends.
    static func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes.removeFirst(count)
            } else if errno != EINTR && errno != EAGAIN {
                exit(0)
            }
        }
    }

    static func draw(_ block: Block) {
        for text in block.text(color: hasColor) { line(text) }
    }

    /// Columns and lines; 80 × 24 where nobody knows.
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
