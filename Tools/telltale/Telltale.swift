import ArgumentParser

@main
struct Telltale: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale", abstract: "Talks to a Telltale daemon, and looks after its files.",
        subcommands: [SurfacesCommand.self, JournalCommand.self])
}
