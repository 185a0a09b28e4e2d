import ArgumentParser
import Demo
import TelltaleWire
import ToolSupport

@main
struct TelltaleSim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-sim", abstract: "Worlds to develop against: replays of real orders, and made-up ones.",
        version: Release.version,
        subcommands: [
            RunCommand.self, CompareCommand.self, WorldListCommand.self, UnpackCommand.self, ReplayCommand.self,
            RecordCommand.self,
            SwarmCommand.self, ClusterSwarmCommand.self, PushesCommand.self,
            DemoCommand.self,
            ProviderCommand.self, ActCommand.self,
        ])

    static func main() { runProgram() }
}
