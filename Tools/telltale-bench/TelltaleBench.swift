import ArgumentParser

@main
struct TelltaleBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-bench", abstract: "Measures Telltale, alone and beside others.",
        subcommands: [
            ActivityCommand.self, ProjectionCommand.self, JournalBench.self, StatechartCommand.self,
            StatechartTracesCommand.self,
        ])
}
