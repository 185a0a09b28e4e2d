import ArgumentParser

/// `telltale journal …`: works on a data folder, without the daemon.
struct JournalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Looks at a daemon's journal, checks it, copies it, repairs it.",
        discussion: "DIR is the daemon's --data. All but repair may be used while the daemon runs.",
        subcommands: [
            JournalInfoCommand.self, JournalVerifyCommand.self, JournalExportCommand.self, JournalRepairCommand.self,
            JournalBackupCommand.self,
        ])
}

/// The data folder of the commands.
struct JournalFolderArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The daemon's data folder.", valueName: "dir"))
    var path: String
}
