import ArgumentParser
@unsafe @preconcurrency import Glibc
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire

@main
struct TelltaleSim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-sim", abstract: "Worlds to develop against: replays of real orders, and made-up ones.",
        version: Release.version,
        subcommands: [
            RunCommand.self, CompareCommand.self, ListCommand.self, ReplayCommand.self, RecordCommand.self,
            SwarmCommand.self,
            DemoCommand.self,
            ProviderCommand.self, ActCommand.self,
        ])

    static func main() {
        StandardStream.occupyMissing()
        do {
            var command = try parseAsRoot()
            try command.run()
            // What was printed may still be on its way, and a report that is not there must not look like a success.
            guard fflush(nil) == 0, unsafe ferror(stdout) == 0 else {
                complain("telltale-sim: not all of it could be written to standard output")
                throw ExitCode.failure
            }
        } catch {
            let code = exitCode(for: error)
            guard code != .success else { exit(withError: error) }
            let message = fullMessage(for: error)
            if !message.isEmpty { complain(message) }
            // Scripts rely on 2 for a wrong command line (Programs/README.md); the library uses 64.
            exit(withError: code == .validationFailure ? ExitCode(2) : code)
        }
    }
}

/// One clear line on standard error.
func complain(_ text: String) {
    StandardStream.error.write("\(text)\n".harmlessLines)
}

extension ExitCode {
    /// No daemon answers there (EX_UNAVAILABLE).
    static let noDaemon = ExitCode(69)
}
