import ArgumentParser
import Journal
import JournalSQLite
import Model

struct JournalVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Reads all of a journal and compares it with its checksums.",
        discussion: "Exit status 1 when anything is not as it was written; the place is named.")

    @OptionGroup var folder: JournalFolderArgument
    @Flag(help: "One JSON object.")
    var json = false

    func run() throws {
        let progress = JournalProgress("verifying")
        do {
            let inspector = try JournalInspector(folder.path)
            try inspector.verify { progress.show($0, of: $1) }
            progress.end()
            let summary = try inspector.summary()
            let object: JSON = [
                "ok": true, "records": .integer(summary.recordCount), "last": .integer(summary.lastSequence),
            ]
            print(
                json
                    ? object.description
                    : "\(summary.recordCount) records up to \(summary.lastSequence): all is as it was written")
        } catch {
            progress.end()
            guard json else { throw error }
            print(["ok": false, "error": .string("\(error)")] as JSON)
            throw ExitCode.failure
        }
    }
}
