import ArgumentParser
import Hub
import Journal
import JournalSQLite
import TelltaleModel
import ToolSupport

struct JournalVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Reads all of a journal and compares it with its checksums.",
        discussion: """
            Exit status 1 when anything is not as it was written; the place is named.

            --replay does what a starting daemon does: it computes the state again, compares what every event since \
            the snapshot gives with what it gave then, and prints a hash of the whole. The same journal gives the same \
            hash, here and on any machine.
            """)

    @OptionGroup var folder: JournalFolderArgument
    @Flag(help: "One JSON object.")
    var json = false
    @Flag(help: "Compute the state again too, and print its hash.")
    var replay = false

    func run() throws {
        let progress = JournalProgress("verifying")
        defer { progress.end() }
        try JournalFailure.report(asJSON: json) {
            let inspector = try JournalInspector(folder.path)
            try inspector.verify { progress.show($0, of: $1) }
            progress.end()
            let summary = try inspector.summary()
            var object = JSONObject()
            object["ok"] = true
            object["records"] = .integer(summary.recordCount)
            object["last"] = .integer(summary.lastSequence)
            var text = "\(summary.recordCount) records up to \(summary.lastSequence): all is as it was written"
            if replay {
                let hub = try Self.recover(inspector, epoch: summary.epoch)
                let hash = JournalInfoCommand.hex(hub.stateHash)
                object["replayed"] = .integer(hub.lastRecordSequence)
                object["state"] = .string(hash)
                text += "\nreplayed up to \(hub.lastRecordSequence), \(hub.entityCount) keys: state \(hash)"
            }
            Output.line(json ? JSON.object(object).description : text)
        }
    }

    private static func recover(_ inspector: JournalInspector, epoch: UInt64) throws -> Hub {
        var hub = Hub(configuration: HubConfiguration(), epoch: epoch)
        var hasSnapshot = false
        try inspector.recover {
            hasSnapshot = true
            try hub.load($0)
        } record: { record in
            if let record {
                try hub.replay(record)
            } else if hasSnapshot {
                hub.finishLoading()
            }
        }
        return hub
    }
}
