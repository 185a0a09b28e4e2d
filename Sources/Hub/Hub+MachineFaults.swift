internal import FanOut
internal import Machines
internal import Model

// What a kind's author wants to hear of. It is counted in STATS, and the shell writes it to its log.
extension Hub {
    /// The most faults that are kept between two calls of ``takeMachineFaults()``. Clients cause them, and a log that
    /// tells the first of a thousand tells enough.
    private static let machineFaultLimit = 16

    /// What went wrong in machines since the last call, for people: steps that were refused (`machine_error`), and
    /// guards that could not be evaluated.
    public mutating func takeMachineFaults() -> [String] {
        guard !machineFaults.isEmpty else { return [] }
        defer { machineFaults = [] }
        return machineFaults
    }

    mutating func noteRefusedStep(of key: Key, _ rejection: ActivityRejection) {
        statistics.machineErrors += 1
        note("machine_error, \(key): \(rejection)")
    }

    mutating func noteFaults(of outcome: ActivityOutcome, at entity: EntityIndex) {
        guard outcome.guardErrorCount > 0 || outcome.failure != nil, let key = entities.key(at: entity) else { return }
        statistics.guardErrors += outcome.guardErrorCount
        if outcome.guardErrorCount > 0 {
            let place = outcome.guardErrorLocation.map { " at \($0)" } ?? ""
            note("\(key): the guard\(place) reads what is not there, or compares what cannot be compared; it was false")
        }
        if let failure = outcome.failure {
            statistics.machineErrors += 1
            note("machine_error, \(key): a timer was dropped: \(ActivityRejection.machine(failure))")
        }
    }

    private mutating func note(_ fault: String) {
        // Outside of a batch it is a recovery, which tells of the past.
        guard batch != nil, machineFaults.count < Self.machineFaultLimit else { return }
        machineFaults.append(fault)
    }
}
