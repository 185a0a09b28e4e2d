internal import Machines
internal import TelltaleModel

/// Machine faults that concern the author of a kind: refused steps, and guards that could not be evaluated. `STATS` reports the
/// counts; the daemon logs the texts.
struct MachineFaultLog: Sendable {
    private(set) var guardErrorCount = 0
    private(set) var refusedStepCount = 0
    /// Changes that would have opened a group of activities beyond the limits.
    private(set) var refusedGroupCount = 0
    private var refusedGroupReportedAt: Timestamp?
    private var texts: [String] = []

    /// The most texts between two takes. Clients cause faults, so only the first ones are logged.
    private static let textLimit = 16

    mutating func takeTexts() -> [String] {
        guard !texts.isEmpty else { return [] }
        defer { texts = [] }
        return texts
    }

    mutating func noteRefusedStep(of key: Key, _ rejection: ActivityRejection) {
        refusedStepCount += 1
        append("machine_error, \(key): \(rejection)")
    }

    mutating func note(_ outcome: ActivityOutcome, of key: Key) {
        if let location = outcome.guardErrorLocation {
            guardErrorCount += outcome.guardErrorCount
            append(
                "\(key): the guard at \(location) reads what is not there, or compares what cannot be compared; it was false"
            )
        }
        if let failure = outcome.failure {
            refusedStepCount += 1
            append("machine_error, \(key): a timer was dropped: \(ActivityRejection.machine(failure))")
        }
    }

    /// Records values of aggregates that should be numbers and are not.
    mutating func noteFaults(_ count: Int, of key: Key) {
        guardErrorCount += count
        append("\(key): a value that a widget adds up or compares is no number; it is left out")
    }

    /// Records a group that was not opened. Logged at most once a second: one event may request many, and clients choose their
    /// names.
    mutating func noteRefusedGroup(_ key: Key, at now: Timestamp) {
        refusedGroupCount += 1
        if let refusedGroupReportedAt, now < refusedGroupReportedAt + Milliseconds.seconds(1) { return }
        refusedGroupReportedAt = now
        append(
            "\(key): there are as many widgets of this kind, or of all kinds, as the daemon holds; it is not opened, and its activities are in no widget (see by in the kind's file)"
        )
    }

    private mutating func append(_ text: String) {
        if texts.count < Self.textLimit { texts.append(text) }
    }
}
