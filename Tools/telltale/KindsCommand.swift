import ArgumentParser

/// `telltale kinds`.
struct KindsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kinds", abstract: "Check, try and draw kind files.",
        subcommands: [KindsCheckCommand.self, KindsRunCommand.self, KindsDrawCommand.self])
}
