import ArgumentParser
import JournalSQLite
import TelltaleModel
import ToolSupport

struct JournalRepairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair", abstract: "Makes a journal that a daemon can start from out of a damaged one.",
        discussion: """
            Keeps the newest whole snapshot, the records after it up to the first that is not whole, and what is whole of \
            the history before. The damaged files are moved into a folder beside it. The daemon must be stopped; it \
            begins a new epoch then, so that every client gets a fresh copy.
            """)

    @OptionGroup var folder: JournalFolderArgument
    @Flag(help: "One JSON object.")
    var json = false

    func run() throws {
        try JournalFailure.report(asJSON: json) { try repair() }
    }

    private func repair() throws {
        let progress = JournalProgress("repairing")
        defer { progress.end() }
        let report = try JournalRepair.repair(folder.path) { progress.show($0, of: $1) }
        progress.end()
        FolderOwner.advise(folder.path)
        let lost = max(0, report.lastSequenceBefore - report.lastSequence)
        guard !json else {
            Output.json(
                [
                    "kept": .integer(report.keptRecordCount), "last": .integer(report.lastSequence),
                    "last_before": .integer(report.lastSequenceBefore), "lost": .integer(lost),
                    "lost_history": .integer(report.lostHistoryCount),
                    "damaged_files": .string(report.damagedFolder),
                    "findings": .array(report.findings.map(JSON.string)),
                ])
            return
        }
        for finding in report.findings { Output.line("found: \(finding)") }
        if report.lostHistoryCount > 0 {
            Output.line("lost: \(report.lostHistoryCount) records of histories before the snapshot, or fewer")
        }
        if lost > 0 { Output.line("lost: \(lost) records, \(report.lastSequence + 1) to \(report.lastSequenceBefore)") }
        Output.line("kept: \(report.keptRecordCount) records, up to \(report.lastSequence)")
        let isWhole = report.findings.isEmpty && lost == 0 && report.lostHistoryCount == 0
        if isWhole { Output.line("nothing was damaged; the history has a new epoch all the same") }
        Output.line(
            "the \(isWhole ? "files of before" : "damaged files") are in \(report.damagedFolder); remove them when you do not need them"
        )
    }
}
