public import ArgumentParser
import Cards
@unsafe @preconcurrency import Glibc
import TelltaleEventLoop
import TelltaleModel

/// Writes one line or several to standard error, as a terminal can show them. Characters that control a terminal are replaced
/// by spaces.
public func complain(_ text: String) {
    let text = DaemonWords.translated("\(text)\n").harmlessLines
    StandardStream.error.write(isatty(STDERR_FILENO) == 1 && !Output.hasUTF8 ? text.inASCII : text)
}

/// The name of this program, as it begins its messages.
let programName = String(CommandLine.arguments.first?.split(separator: "/").last ?? "telltale")

extension ExitCode {
    /// Says why the command failed, behind the program's name.
    ///
    /// - Returns: `code`.
    public static func failed(_ reason: some CustomStringConvertible, _ code: ExitCode = .failure) -> ExitCode {
        complain("\(programName): \(reason)")
        return code
    }
}

extension ParsableCommand {
    /// Runs the command of this process's arguments, and ends the program where it fails.
    public static func runProgram() {
        StandardStream.occupyMissing()
        // A closed standard output then ends every command with an error of the write, whether or not it runs a loop.
        signal(SIGPIPE, SIG_IGN)
        // A file that may not grow is then an error of the write, like a full disk.
        signal(SIGXFSZ, SIG_IGN)
        do {
            var command = try parseAsRoot()
            try command.run()
            // Printed text may still be buffered. A missing report must not look like a success.
            guard fflush(nil) == 0, unsafe ferror(stdout) == 0 else {
                complain("\(programName): not all of it could be written to standard output")
                throw ExitCode.failure
            }
        } catch {
            end(after: error)
        }
    }

    /// Ends the program after an error of ``parseAsRoot(_:)`` or ``run()``: prints it, and exits with its code.
    private static func end(after error: any Error) -> Never {
        let code = exitCode(for: error)
        guard code != .success else { exit(withError: error) }
        var message = fullMessage(for: error)
        // The parser's word for every error that is not one of usage.
        let beginning = "Error: "
        if code == .failure, message.hasPrefix(beginning) {
            message = "\(programName): \(message.dropFirst(beginning.count))"
        }
        if !message.isEmpty { complain(message) }
        exit(withError: code == .validationFailure ? ExitCode.usage : code)
    }
}
