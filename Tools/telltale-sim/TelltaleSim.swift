import ArgumentParser
@unsafe @preconcurrency import Glibc
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

@main
struct TelltaleSim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-sim", abstract: "Worlds to develop against: replays of real orders, and made-up ones.",
        version: Release.version,
        subcommands: [
            RunCommand.self, CompareCommand.self, ListCommand.self, UnpackCommand.self, ReplayCommand.self,
            RecordCommand.self,
            SwarmCommand.self,
            DemoCommand.self,
            ProviderCommand.self, ActCommand.self,
        ])

    static func main() {
        StandardStream.occupyMissing()
        do {
            var command = try parseAsRoot()
            try command.run()
            // Output that is still buffered may fail to be written. A missing report must not look like a success.
            guard fflush(nil) == 0, unsafe ferror(stdout) == 0 else {
                complain("telltale-sim: not all of it could be written to standard output")
                throw ExitCode.failure
            }
        } catch {
            end(after: error)
        }
    }
}
