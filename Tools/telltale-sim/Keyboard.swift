import Foundation
import Glibc
import Synchronization

/// Keys as they are pressed, from a terminal that shows a picture meanwhile.
///
/// The terminal is given back as it was when this ends, and when the process is told to end.
final class Keyboard {
    private static let saved = Mutex<termios?>(nil)
    private var isOpen = false

    /// Whether somebody can press keys.
    static var isPresent: Bool { isatty(STDIN_FILENO) == 1 }

    init() {
        var settings = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
        Self.saved.withLock { $0 = settings }
        // Each key at once, unseen; ctrl-c is a key too, so that it ends us in order.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        guard unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return }
        isOpen = true
        for number in [SIGTERM, SIGHUP, SIGINT] {
            signal(number) { number in
                Keyboard.giveBack()
                Terminal.write("\u{1B}[?25h\u{1B}[?1049l")
                _exit(128 + number)
            }
        }
    }

    deinit { close() }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Self.giveBack()
        for number in [SIGTERM, SIGHUP, SIGINT] { signal(number, SIG_DFL) }
    }

    private static func giveBack() {
        guard var settings = saved.withLockIfAvailable({ $0 }) ?? nil else { return }
        unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings)
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
