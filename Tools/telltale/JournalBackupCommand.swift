import ArgumentParser
import JournalSQLite
import TelltaleModel
import ToolSupport

struct JournalBackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copies a journal into another folder; the daemon may be running.",
        discussion: "A daemon can start from the copy. It begins a new epoch then, because its history forks there.")

    @OptionGroup var folder: JournalFolderArgument
    @Argument(help: ArgumentHelp("The folder to make.", valueName: "to"))
    var destination: String
    @Flag(help: "One JSON object.")
    var json = false

    func run() throws {
        try JournalFailure.report(asJSON: json) { try copy() }
    }

    private func copy() throws {
        let progress = JournalProgress("copying")
        defer { progress.end() }
        try JournalInspector(folder.path).backup(to: destination) { progress.show($0, of: $1) }
        progress.end()
        let summary = try JournalInspector(destination).summary()
        Output.line(
            json
                ? JournalInfoCommand.object(summary).description
                : "\(summary.recordCount) records up to \(summary.lastSequence) are in \(destination)")
    }
}
