import Glibc
import ToolSupport

/// Shows output that is longer than the terminal in the pager that `PAGER` names.
enum Pager {
    /// - Parameter lines: Made harmless, and as the terminal can show them.
    /// - Returns: Whether there was a pager; without one nothing was written.
    static func show(_ lines: [String]) -> Bool {
        let program = Output.environment("PAGER") ?? "less"
        guard !program.isEmpty else { return false }
        // As git does: less quits if everything fits on one screen, and leaves the lines on the screen.
        unsafe setenv("LESS", "FRX", 0)
        guard let pipe = unsafe popen(program, "w") else { return false }
        // Ctrl-C and ctrl-\ belong to the pager while it runs: less ends a search with ctrl-C. This process ignores
        // them meanwhile.
        let keys: [2 of CInt] = [SIGINT, SIGQUIT]
        for index in keys.indices { signal(keys[index], SIG_IGN) }
        defer { for index in keys.indices { signal(keys[index], SIG_DFL) } }
        for line in lines where unsafe fputs(line + "\n", pipe) < 0 { break }
        let status = unsafe pclose(pipe)
        // The shell returns 127 for a missing program.
        return status >= 0 && (status >> 8) & 0xFF != 127
    }
}
