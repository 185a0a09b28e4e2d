import ArgumentParser
import Foundation
import Journal
import JournalSQLite
import TelltaleModel
import ToolSupport

struct JournalExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes every record as a line of JSON, oldest first.",
        discussion: "Of a damaged journal it writes what is whole, says what is not, and ends with exit status 1.")

    @OptionGroup var folder: JournalFolderArgument
    @Option(help: ArgumentHelp("Begin after this record.", valueName: "seq"))
    var after: Int64 = 0
    @Option(help: ArgumentHelp("Only records of this key.", valueName: "kind/id"))
    var key: Key?

    func run() throws {
        let findings = try JournalInspector(folder.path).readWhole(after: after) { records in
            var lines = ""
            for record in records where key == nil || key?.text == record.entity {
                let object: JSON = [
                    "seq": .integer(record.sequence), "time": .integer(record.time.milliseconds),
                    "key": .string(record.entity), "previous": .integer(record.previous),
                    "body": .string(Data(record.body).base64EncodedString()),
                ]
                lines += "\(object)\n"
            }
            Output.write(lines)
        }
        for finding in findings { complain("telltale: \(finding)") }
        if !findings.isEmpty { throw ExitCode.failure }
    }
}
