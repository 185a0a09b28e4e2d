import ArgumentParser
import TelltaleWire

@main
struct TelltaleBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-bench", abstract: "Measures Telltale, alone and beside others.",
        version: Release.version,
        subcommands: [
            AccountsCommand.self, ClusterCommand.self, ControlCommand.self, CrowdCommand.self, FanOutCommand.self,
            HostileCommand.self, HubCommand.self, IdleCommand.self, IngestCommand.self, LogCommand.self,
            PeersCommand.self, ProjectionCommand.self, RecoveryCommand.self, RelayCommand.self, StatechartCommand.self,
            StatechartTracesCommand.self, StormCommand.self, WidgetsCommand.self,
        ])
}
