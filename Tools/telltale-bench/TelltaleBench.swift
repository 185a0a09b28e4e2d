import ArgumentParser

@main
struct TelltaleBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-bench", abstract: "Measures Telltale, alone and beside others.",
        subcommands: [
            ActivityCommand.self, ControlCommand.self, IngestCommand.self, JournalBench.self, ProjectionCommand.self,
            RecoveryCommand.self, StatechartCommand.self, StatechartTracesCommand.self,
        ])
}
