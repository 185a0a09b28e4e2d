import ArgumentParser
import Glibc
import TelltaleEventLoop
import TelltaleWire

/// `telltale`: what people and scripts type beside the daemon (Programs/README.md).
@main
struct Telltale: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale",
        abstract: "Live activities and controls, from a shell.",
        discussion: """
            Commands that speak to a daemon find it at --connect, else at TELLTALE_CONNECT, else at 127.0.0.1:7878.

              telltale watch --view carplay            what a car shows, live
              telltale post coffee-order/7 start --attributes '{"item":"Flat white"}'
              telltale post coffee-order/7 ready
              telltale set porch-light/front on
              telltale history coffee-order/7 --json | jq .

            Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 69 no daemon there.
            """,
        version: Release.version,
        groupedSubcommands: [
            CommandGroup(
                name: "Look",
                subcommands: [
                    WatchCommand.self, GetCommand.self, ListCommand.self, HistoryCommand.self, StatsCommand.self,
                ]),
            CommandGroup(
                name: "Act",
                subcommands: [
                    PostCommand.self, SetCommand.self, PressCommand.self, OpenCommand.self, DismissCommand.self,
                    ServeCommand.self,
                ]),
            CommandGroup(
                name: "Look after",
                subcommands: [KindsCommand.self, SurfacesCommand.self, JournalCommand.self]),
        ])

    static func main() {
        StandardStream.occupyMissing()
        // Nobody reads any more: that ends every command alike, whether or not it has a loop.
        signal(SIGPIPE, SIG_IGN)
        // A file that may not grow is a full disk, and not a death.
        signal(SIGXFSZ, SIG_IGN)
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let code = exitCode(for: error)
            guard code != .success else { exit(withError: error) }
            let message = fullMessage(for: error)
            if !message.isEmpty { StandardError.write(message) }
            // ArgumentParser's 64 for a wrong usage is 2 here.
            exit(withError: code == .validationFailure ? ExitCode(2) : code)
        }
    }
}
