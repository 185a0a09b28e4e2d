import ArgumentParser

/// `telltale kinds`.
struct KindsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kinds", abstract: "What the daemon has loaded; and make, check, try and draw kind files.",
        subcommands: [
            KindsListCommand.self, KindsNewCommand.self, KindsCheckCommand.self, KindsRunCommand.self,
            KindsDrawCommand.self,
        ],
        defaultSubcommand: KindsListCommand.self)
}
