public import ArgumentParser
import TelltaleEventLoop
import TelltaleModel

/// Writes one line or several to standard error. Characters that control a terminal are replaced by spaces.
public func complain(_ text: String) { StandardStream.error.write("\(text)\n".harmlessLines) }

extension ExitCode {
    /// No daemon answers at the address (EX_UNAVAILABLE of sysexits.h).
    public static let noDaemon = ExitCode(69)
    /// The command line is wrong. ArgumentParser's own code is 64; scripts rely on 2.
    public static let usage = ExitCode(2)
}

extension ParsableCommand {
    /// Ends the program after an error of ``parseAsRoot(_:)`` or ``run()``: prints it, and exits with its code.
    public static func end(after error: any Error) -> Never {
        let code = exitCode(for: error)
        guard code != .success else { exit(withError: error) }
        let message = fullMessage(for: error)
        if !message.isEmpty { complain(message) }
        exit(withError: code == .validationFailure ? ExitCode.usage : code)
    }
}
