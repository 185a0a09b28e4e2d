import Cards
import Foundation
import Glibc
import ToolSupport

/// Keys as they are pressed, from a terminal that shows a picture meanwhile.
///
/// The terminal is given back as it was when this ends, when the process is asked to end, and for as long as it is stopped
/// (ctrl-Z).
final class Keyboard {
    /// Whether keys can be read: standard input is a terminal.
    private let isOpen: Bool
    private var isOver = false

    init() {
        // Each key at once, unseen; ctrl-C and ctrl-Z are keys too, so that they are obeyed in order.
        isOpen = TerminalMode.begin(farewell: Painter.ending) { $0.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG) }
    }

    deinit { close() }

    func close() {
        guard !isOver else { return }
        isOver = true
        TerminalMode.end()
    }

    /// The next key, if one is pressed within so many milliseconds.
    func key(within milliseconds: Int64) -> Character? {
        guard isOpen else {
            if milliseconds > 0 { usleep(UInt32(clamping: milliseconds * 1_000)) }
            return nil
        }
        var wanted = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&wanted, 1, Int32(clamping: milliseconds)) > 0 else { return nil }
        var byte: UInt8 = 0
        guard unsafe read(STDIN_FILENO, &byte, 1) == 1 else { return nil }
        return Character(Unicode.Scalar(byte))
    }
}
