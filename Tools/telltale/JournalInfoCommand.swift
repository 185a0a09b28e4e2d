import ArgumentParser
import Foundation
import Journal
import JournalSQLite
import Replication
import TelltaleModel
import ToolSupport

struct JournalInfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Says what is in a journal: epoch, records, snapshot, sizes.")

    @OptionGroup var folder: JournalFolderArgument
    @Flag(help: "One JSON object.")
    var json = false

    func run() throws {
        let summary = try JournalFailure.report(asJSON: json) { try JournalInspector(folder.path).summary() }
        Output.line(json ? Self.object(summary).description : text(summary))
    }

    static func object(_ summary: JournalInspector.Summary) -> JSON {
        var snapshot = JSON.null
        if let newest = summary.snapshot {
            snapshot = [
                "seq": .integer(newest.sequence), "chunks": .integer(Int64(newest.chunkCount)),
                "bytes": .integer(newest.byteCount),
            ]
        }
        var log = JSON.null
        if let reader = logReader(summary) {
            log = [
                "cluster": .string(reader.cluster), "messages": .integer(reader.position),
                "term": .integer(reader.term), "sealed": .bool(reader.isSealed),
                "lost": reader.loss.map(JSON.string) ?? .null,
            ]
        }
        return [
            "epoch": .string(hex(summary.epoch)), "sync": .string(summary.sync.rawValue),
            "used_by": summary.user.map(JSON.string) ?? .null, "clean": .bool(summary.isClean),
            "records": .integer(summary.recordCount), "first": .integer(summary.firstSequence),
            "last": .integer(summary.lastSequence), "first_time": .integer(summary.firstTime),
            "last_time": .integer(summary.lastTime), "pruned_through": .integer(summary.prunedThrough),
            "snapshot": snapshot, "log": log, "file_bytes": .integer(Int64(summary.fileByteCount)),
            "log_bytes": .integer(Int64(summary.logByteCount)),
        ]
    }

    private func text(_ summary: JournalInspector.Summary) -> String {
        let ending =
            switch (summary.user, summary.isClean) {
            case (let user?, _): "in use by \(user)"
            case (nil, true): "stopped in order"
            case (nil, false): "not stopped in order"
            }
        let records =
            summary.recordCount == 0
            ? "none"
            : """
            \(summary.recordCount), from \(summary.firstSequence) of \(date(summary.firstTime)) \
            to \(summary.lastSequence) of \(date(summary.lastTime))
            """
        var log = ""
        if let reader = Self.logReader(summary) {
            log =
                "\nlog       \(reader.position) messages of the cluster \(reader.cluster.harmless), in term \(reader.term)"
            if let loss = reader.loss { log += "\nstopped   because \(loss.harmless)" }
        }
        let snapshot =
            summary.snapshot.map { "of record \($0.sequence), \($0.byteCount) bytes in \($0.chunkCount) chunks" }
        return """
            epoch     \(Self.hex(summary.epoch))
            daemon    \(ending), --sync \(summary.sync.rawValue)
            records   \(records)
            pruned    \(summary.prunedThrough == 0 ? "nothing" : "what was over, up to record \(summary.prunedThrough)")
            snapshot  \(snapshot ?? "none yet")
            files     \(summary.fileByteCount) bytes, and \(summary.logByteCount) in the write-ahead log\(log)
            """
    }

    /// How much of a cluster's log a node's journal holds; `nil` for a journal that is not a copy.
    private static func logReader(_ summary: JournalInspector.Summary) -> LogReader? {
        summary.mark.flatMap { try? LogReader(mark: $0) }
    }

    static func hex(_ epoch: UInt64) -> String { Hexadecimal.text(of: epoch) }

    private func date(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000).ISO8601Format()
    }
}
