import Glibc
import TelltaleEventLoop

/// One line on standard error that is drawn over and over, where standard error is a terminal.
struct Progress {
    private let isShown = isatty(STDERR_FILENO) == 1

    func show(_ text: String) {
        if isShown { StandardStream.error.write("\r\(text)\u{1B}[K") }
    }

    /// Takes the line away.
    func clear() {
        show("")
    }
}
