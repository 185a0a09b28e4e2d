internal import Machines
internal import TelltaleModel

/// Faults of machines that the author of a kind wants to hear of: steps that were refused, and guards that could not be
/// evaluated. `STATS` tells the counts; the daemon writes the texts to its log.
struct MachineFaultLog: Sendable {
    private(set) var guardErrorCount = 0
    private(set) var refusedStepCount = 0
    /// Changes that would have opened a group of activities beyond the limits.
    private(set) var refusedGroupCount = 0
    private var refusedGroupToldAt: Timestamp?
    private var texts: [String] = []

    /// The most texts between two takes. Clients cause faults, so the log is told the first ones only.
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

    /// Values of aggregates that should be numbers, and are none.
    mutating func noteFaults(_ count: Int, of key: Key) {
        guardErrorCount += count
        append("\(key): a value that a widget adds up or compares is no number; it is left out")
    }

    /// A group was not opened. Told once a second at the most: one event may ask for many, and clients choose their names.
    mutating func noteRefusedGroup(_ key: Key, at now: Timestamp) {
        refusedGroupCount += 1
        if let refusedGroupToldAt, now < refusedGroupToldAt + Milliseconds.seconds(1) { return }
        refusedGroupToldAt = now
        append(
            "\(key): there are as many widgets of this kind, or of all kinds, as the daemon holds; it is not opened, and its activities are in no widget (see by in the kind's file)"
        )
    }

    private mutating func append(_ text: String) {
        if texts.count < Self.textLimit { texts.append(text) }
    }
}
