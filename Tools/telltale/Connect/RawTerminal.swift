import Glibc

/// The terminal of standard input, for reading single keys. It is given back by ``leave()``.
final class RawTerminal {
    private var before = termios()
    private let keepsSignals: Bool
    private var isEntered = false

    /// - Parameter keepsSignals: Whether ctrl-C and ctrl-Z stay signals; otherwise they are keys.
    /// - Returns: `nil` where standard input is no terminal, or that of another job, which would be stopped by reading it.
    init?(keepsSignals: Bool) {
        self.keepsSignals = keepsSignals
        guard unsafe tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
        // A terminal that does not control this process has no jobs.
        let job = tcgetpgrp(STDIN_FILENO)
        guard job < 0 || job == getpgrp() else { return nil }
    }

    deinit { leave() }

    /// Each key at once, and unseen.
    func enter() {
        guard !isEntered else { return }
        var own = before
        own.c_lflag &= ~tcflag_t(ICANON | ECHO | (keepsSignals ? 0 : ISIG))
        if !keepsSignals { own.c_iflag &= ~tcflag_t(IXON) }
        isEntered = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &own) == 0
    }

    func leave() {
        guard isEntered else { return }
        isEntered = false
        unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
    }
}
