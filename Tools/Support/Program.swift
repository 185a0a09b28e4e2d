public import ArgumentParser
import TelltaleEventLoop

/// Writes one line to standard error.
public func complain(_ text: String) { StandardStream.error.write("\(text)\n") }

extension ExitCode {
    /// No daemon answers at the address (EX_UNAVAILABLE of sysexits.h).
    public static let noDaemon = ExitCode(69)
    /// The command line is wrong. ArgumentParser's own code is 64; scripts rely on 2.
    public static let usage = ExitCode(2)
}

extension ParsableCommand {
    /// Ends the program after an error of ``parseAsRoot(_:)`` or ``run()``: prints it, and exits with its code.
    public static func end(after error: any Error) -> Never {
        guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
        complain(fullMessage(for: error))
        exit(withError: ExitCode.usage)
    }
}
