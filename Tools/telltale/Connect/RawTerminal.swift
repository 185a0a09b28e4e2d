import Glibc

/// The terminal of standard input, for reading single keys. Restored by ``leave()``.
final class RawTerminal {
    private var before = termios()
    private let keepsSignals: Bool
    private var isEntered = false

    /// - Parameter keepsSignals: Whether ctrl-C and ctrl-Z stay signals; otherwise they are keys.
    /// - Returns: `nil` if standard input is not a terminal, or if this is a background job, which reading would stop.
    init?(keepsSignals: Bool) {
        self.keepsSignals = keepsSignals
        guard unsafe tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
        // A terminal that is not the controlling one has no jobs.
        let job = tcgetpgrp(STDIN_FILENO)
        guard job < 0 || job == getpgrp() else { return nil }
    }

    deinit { leave() }

    /// Delivers each key immediately, without echo.
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
