import ArgumentParser
import TelltaleWire
import ToolSupport

/// `telltale`: the commands that people and scripts use beside the daemon.
@main
struct TelltaleTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale",
        abstract: "Live activities and controls, from a shell.",
        discussion: """
            Commands that speak to a daemon find it at --connect, else at TELLTALE_CONNECT, else by the context in use \
            (`telltale context`), else at 127.0.0.1:7878.

              telltale watch --view carplay            what a car shows, live
              telltale post coffee-order/7 start --attributes '{"item":"Flat white"}'
              telltale post coffee-order/7 ready
              telltale set porch-light/front on
              telltale history coffee-order/7 --json | jq .

            Exit codes:
            \(ExitStatus.table)
            """,
        version: Release.version,
        groupedSubcommands: [
            CommandGroup(
                name: "Look",
                subcommands: [
                    WatchCommand.self, GetCommand.self, ListCommand.self, HistoryCommand.self, GalleryCommand.self,
                    StatsCommand.self, BarCommand.self, ConnectCommand.self,
                ]),
            CommandGroup(
                name: "Act",
                subcommands: [
                    PostCommand.self, SetCommand.self, PressCommand.self, ReloadCommand.self, OpenCommand.self,
                    DismissCommand.self, TileToolCommand.self,
                    ServeCommand.self,
                ]),
            CommandGroup(
                name: "Look after",
                subcommands: [
                    KindsCommand.self, SurfacesCommand.self, JournalCommand.self, ClusterCommand.self,
                    TokenCommand.self,
                    ContextCommand.self,
                    PingCommand.self,
                ]),
        ])

    static func main() { runProgram() }
}
