public import ArgumentParser
import TelltaleEventLoop
import TelltaleModel

/// Writes one line or several to standard error. Characters that control a terminal are replaced by spaces.
public func complain(_ text: String) { StandardStream.error.write("\(text)\n".harmlessLines) }

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
