public import ArgumentParser
import Foundation

/// Runs a program. Wrong usage counts as a wrong configuration, with exit code 78 (sysexits.h), so that systemd does
/// not restart it.
public func launch<Program: AsyncParsableCommand>(_ program: Program.Type) async {
    do {
        var command = try program.parseAsRoot()
        if var command = command as? any AsyncParsableCommand {
            try await command.run()
        } else {
            try command.run()
        }
    } catch {
        guard program.exitCode(for: error) == .validationFailure else { program.exit(withError: error) }
        let message = program.fullMessage(for: error)
        if !message.isEmpty { FileHandle.standardError.write(Data("\(message)\n".utf8)) }
        program.exit(withError: ExitCode(78))
    }
}
