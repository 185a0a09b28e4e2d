import ArgumentParser

/// `telltale`: what people and scripts type beside the daemon (protocol.md §8).
@main
struct Telltale: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale", abstract: "Talks to a Telltale daemon, and looks after its files.",
        subcommands: [KindsCommand.self, SurfacesCommand.self, JournalCommand.self])

    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let code = exitCode(for: error)
            guard code == .validationFailure else { exit(withError: error) }
            // ArgumentParser's 64 for a wrong usage is 2 here.
            StandardError.write(fullMessage(for: error))
            exit(withError: ExitCode(2))
        }
    }
}
