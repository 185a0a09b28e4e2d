import ArgumentParser
import Foundation

@main
struct TelltaleSim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-sim", abstract: "Worlds to develop against: replays of real orders, and made-up ones.",
        subcommands: [
            RunCommand.self, ListCommand.self, ReplayCommand.self, RecordCommand.self, SwarmCommand.self,
            DemoCommand.self,
            ProviderCommand.self, ActCommand.self,
        ])

    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            // Scripts rely on 2 for a wrong command line (protocol.md §8); the library would say 64.
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            complain(fullMessage(for: error))
            Foundation.exit(2)
        }
    }
}

/// One clear line on standard error.
func complain(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
}

extension ExitCode {
    /// No daemon answers there (EX_UNAVAILABLE).
    static let noDaemon = ExitCode(69)
}
