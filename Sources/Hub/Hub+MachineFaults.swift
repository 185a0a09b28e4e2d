internal import FanOut
internal import Machines
internal import TelltaleModel

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
        note("machine_error, \(key): \(rejection)") { $0.machineErrors += 1 }
    }

    mutating func noteFaults(of outcome: ActivityOutcome, at entity: EntityIndex) {
        guard outcome.guardErrorCount > 0 || outcome.failure != nil, let key = entities[entity].key else { return }
        if let location = outcome.guardErrorLocation {
            let place = "the guard at \(location)"
            note("\(key): \(place) reads what is not there, or compares what cannot be compared; it was false") {
                $0.guardErrors += outcome.guardErrorCount
            }
        }
        if let failure = outcome.failure {
            note("machine_error, \(key): a timer was dropped: \(ActivityRejection.machine(failure))") {
                $0.machineErrors += 1
            }
        }
    }

    private mutating func note(_ fault: String, _ count: (inout Statistics) -> Void) {
        // Outside of a batch it is a recovery, which tells of the past.
        guard batch != nil else { return }
        count(&statistics)
        if machineFaults.count < Self.machineFaultLimit { machineFaults.append(fault) }
    }
}
