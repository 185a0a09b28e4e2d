import ArgumentParser
import Hub
import Journal
import JournalSQLite
import TelltaleModel
import ToolSupport

struct JournalExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes every record as a line of JSON, oldest first.",
        discussion: """
            Of a damaged journal it writes what is whole, says what is not, and ends with exit status 1.

            The body of a record is Base64 of its bytes. With --readable it is what `telltale history` tells: type, \
            verdict, rev, and what came with it; times are dates in UTC.
            """)

    @OptionGroup var folder: JournalFolderArgument
    @Option(help: ArgumentHelp("Begin after this record.", valueName: "seq"))
    var after: Int64 = 0
    @Option(help: ArgumentHelp("Only records of this key.", valueName: "kind/id"))
    var key: Key?
    @Flag(help: "Decode the bodies.")
    var readable = false

    func run() throws {
        let findings = try JournalInspector(folder.path).readWhole(after: after) { records in
            var lines = ""
            for record in records where key == nil || key?.text == record.entity {
                let object = readable ? Self.decoded(record) : Self.raw(record)
                lines += "\(Output.shown(object.description))\n"
            }
            Output.write(lines)
        }
        for finding in findings { complain("telltale: \(finding)") }
        if !findings.isEmpty { throw ExitCode.failure }
    }

    private static func raw(_ record: JournalRecord) -> JSON {
        [
            "seq": .integer(record.sequence), "time": .integer(record.time.milliseconds),
            "key": .string(record.entity), "previous": .integer(record.previous),
            "body": .string(Base64.text(record.body, .standard)),
        ]
    }

    private static func decoded(_ record: JournalRecord) -> JSON {
        guard let readable = ReadableRecord(record) else {
            return [
                "seq": .integer(record.sequence), "time": .string(record.time.internetDate),
                "key": .string(record.entity), "error": "this release cannot read the record",
            ]
        }
        return [
            "seq": .integer(record.sequence), "time": .string(record.time.internetDate),
            "happened": .string(readable.happenedAt.internetDate), "key": .string(record.entity),
            "type": .string(readable.type), "verdict": .string(readable.verdict.rawValue),
            "rev": .integer(readable.rev), "body": readable.tail,
        ]
    }
}
