import Cards
import Foundation
import Glibc
import Synchronization

/// Keys as they are pressed, from a terminal that shows a picture meanwhile.
///
/// The terminal is given back as it was when this ends, when the process is told to end, and for as long as it is stopped
/// (ctrl-Z).
final class Keyboard {
    private struct Settings {
        var before: termios
        var own: termios
    }

    // The handlers of signals know no object.
    private static let settings = Mutex<Settings?>(nil)
    private static let hasComeBack = Atomic(false)
    private static let endings = [SIGTERM, SIGHUP, SIGINT]

    /// Whether keys can be read: standard input is a terminal.
    private let isOpen: Bool
    private var isOver = false

    init() {
        var before = termios()
        if unsafe tcgetattr(STDIN_FILENO, &before) == 0 {
            var own = before
            // Each key at once, unseen; ctrl-C and ctrl-Z are keys too, so that they are obeyed in order.
            own.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
            isOpen = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &own) == 0
            let settings = Settings(before: before, own: own)
            if isOpen { Self.settings.withLock { $0 = settings } }
        } else {
            isOpen = false
        }
        // The parent may have blocked these signals, and a child inherits the blocked ones.
        var obeyed = sigset_t()
        unsafe sigemptyset(&obeyed)
        for number in Self.endings + [SIGTSTP] { unsafe sigaddset(&obeyed, number) }
        unsafe pthread_sigmask(SIG_UNBLOCK, &obeyed, nil)
        for number in Self.endings {
            signal(number) { number in
                Keyboard.giveBack()
                Terminal.write(Painter.end)
                _exit(128 + number)
            }
        }
        signal(SIGTSTP) { _ in
            Keyboard.giveBack()
            Terminal.write(Painter.end)
            // The process stops here until it is continued.
            kill(getpid(), SIGSTOP)
            Keyboard.apply { $0.own }
            Keyboard.hasComeBack.store(true, ordering: .relaxed)
        }
    }

    deinit { close() }

    func close() {
        guard !isOver else { return }
        isOver = true
        Self.giveBack()
        for number in Self.endings + [SIGTSTP] { signal(number, SIG_DFL) }
    }

    private static func giveBack() { apply { $0.before } }

    private static func apply(_ choose: (Settings) -> termios) {
        guard let settings = settings.withLockIfAvailable({ $0 }) ?? nil else { return }
        var chosen = choose(settings)
        unsafe tcsetattr(STDIN_FILENO, TCSANOW, &chosen)
    }

    /// Stops the process, as the terminal itself does where ctrl-Z is no key.
    func suspend() { raise(SIGTSTP) }

    /// Whether the process was stopped since the last call. The screen may show something else then.
    func takeComeback() -> Bool { Self.hasComeBack.exchange(false, ordering: .relaxed) }

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
