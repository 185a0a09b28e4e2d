public import Glibc
import Synchronization

/// Another mode of standard input's terminal, for a while: keys that are not shown, or keys without a line end.
///
/// A signal that ends the process gives the terminal back first, and ctrl-Z gives it back until the process goes on.
public enum TerminalMode {
    /// Plain memory: the handler of a signal may neither lock nor allocate.
    private struct State {
        var before = termios()
        var own = termios()
        var isTerminal = false
        var farewell: StaticString = ""
    }

    nonisolated(unsafe) private static var state = State()
    private static let hasComeBack = Atomic(false)
    /// Inline: Swift 6.3 with `-O` puts the buffer of a literal array into static memory and releases it in
    /// `endings + [SIGTSTP]`, which crashed every release build on a terminal.
    private static let endings: [4 of CInt] = [SIGTERM, SIGHUP, SIGINT, SIGQUIT]

    /// - Parameters:
    ///   - farewell: Written to standard output whenever the terminal is given back.
    ///   - change: Makes the mode from the present one.
    /// - Returns: Whether standard input is a terminal that has the mode now.
    @discardableResult
    public static func begin(farewell: StaticString = "", _ change: (inout termios) -> Void) -> Bool {
        var new = State()
        new.farewell = farewell
        if unsafe tcgetattr(STDIN_FILENO, &new.before) == 0 {
            new.own = new.before
            change(&new.own)
            new.isTerminal = true
        }
        unsafe state = new
        // The parent may have blocked these signals, and a child inherits the blocked ones.
        var obeyed = sigset_t()
        unsafe sigemptyset(&obeyed)
        for index in endings.indices { unsafe sigaddset(&obeyed, endings[index]) }
        unsafe sigaddset(&obeyed, SIGTSTP)
        unsafe pthread_sigmask(SIG_UNBLOCK, &obeyed, nil)
        for index in endings.indices {
            signal(endings[index]) { number in
                TerminalMode.giveBack()
                _exit(128 + number)
            }
        }
        signal(SIGTSTP) { _ in
            TerminalMode.giveBack()
            // The process stops here until it is continued.
            kill(getpid(), SIGSTOP)
            TerminalMode.set(isOwn: true)
            TerminalMode.hasComeBack.store(true, ordering: .relaxed)
        }
        return set(isOwn: true)
    }

    /// Gives the terminal back as it was.
    public static func end() {
        giveBack()
        for index in endings.indices { signal(endings[index], SIG_DFL) }
        signal(SIGTSTP, SIG_DFL)
    }

    /// Stops the process, as the terminal itself does where ctrl-Z is no key.
    public static func suspend() { raise(SIGTSTP) }

    /// Whether the process was stopped since the last call. The screen may show something else then.
    public static func takeComeback() -> Bool { hasComeBack.exchange(false, ordering: .relaxed) }

    private static func giveBack() {
        set(isOwn: false)
        let farewell = unsafe state.farewell
        _ = unsafe write(STDOUT_FILENO, farewell.utf8Start, farewell.utf8CodeUnitCount)
    }

    @discardableResult
    private static func set(isOwn: Bool) -> Bool {
        guard unsafe state.isTerminal else { return false }
        var mode = unsafe isOwn ? state.own : state.before
        return unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0
    }
}
