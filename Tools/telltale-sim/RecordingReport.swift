import Recordings
import Reports
import TelltaleModel

/// Whether a replay had the outcomes of the recording.
struct RecordingReport {
    private let recording: Recording
    private let differences: [String]
    private let refusals: [String]

    init(_ recording: Recording, _ played: Recording, refusals: [String]) {
        self.recording = recording
        differences = recording.differences(from: played)
        self.refusals = refusals
    }

    var isClean: Bool { differences.isEmpty && refusals.isEmpty }

    var text: String {
        let keys = Set(recording.entries.map(\.key)).count
        var lines = [
            "\(recording.entries.count) deeds of \(keys) keys: \(RunReport.table(recording.verdicts)); \(recording.views.count) views"
        ]
        lines += refusals.prefix(10).map { "refused: \($0)" }
        lines += differences.prefix(10).map { "✗ \($0)" }
        if differences.count > 10 { lines.append("… and \(differences.count - 10) more differences") }
        lines.append(isClean ? "The same verdicts, and the same views." : "Something differs.")
        return lines.joined(separator: "\n")
    }

    var json: JSON {
        [
            "deeds": .integer(Int64(recording.entries.count)), "views": .integer(Int64(recording.views.count)),
            "same": .bool(isClean), "differences": .array(differences.map { .string($0) }),
            "refusals": .array(refusals.map { .string($0) }),
        ]
    }
}
