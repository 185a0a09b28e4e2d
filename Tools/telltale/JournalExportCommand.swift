import ArgumentParser
import Foundation
import Journal
import JournalSQLite
import Model

struct JournalExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes every record as a line of JSON, oldest first.")

    @OptionGroup var folder: JournalFolderArgument
    @Option(help: ArgumentHelp("Begin after this record.", valueName: "seq"))
    var after: Int64 = 0
    @Option(help: ArgumentHelp("Only records of this key.", valueName: "kind/id"))
    var key: String?

    func run() throws {
        let inspector = try JournalInspector(folder.path)
        var last = after
        while true {
            let records = try inspector.readRecords(after: last, limit: 1_000)
            guard let newest = records.last else { return }
            var lines = ""
            for record in records where key == nil || key == record.entity {
                let object: JSON = [
                    "seq": .integer(record.sequence), "time": .integer(record.time.milliseconds),
                    "key": .string(record.entity), "previous": .integer(record.previous),
                    "body": .string(Data(record.body).base64EncodedString()),
                ]
                lines += "\(object)\n"
            }
            Output.write(lines)
            last = newest.sequence
        }
    }
}
