import Hub

/// Every number of a fault profile by its name, for scenario files, shrinking and reports.
extension FaultProfile {
    struct Knob: Sendable {
        let name: String
        let group: Group
        let range: ClosedRange<Int>
        let get: @Sendable (FaultProfile) -> Int
        let set: @Sendable (inout FaultProfile, Int) -> Void

        enum Group: String {
            case population, faults, clients
        }

        init(
            _ name: String, _ group: Group, _ range: ClosedRange<Int>,
            _ member: any WritableKeyPath<FaultProfile, Int> & Sendable
        ) {
            (self.name, self.group, self.range) = (name, group, range)
            get = { $0[keyPath: member] }
            set = { $0[keyPath: member] = $1 }
        }
    }

    static let knobs: [Knob] = [
        Knob("producers", .population, 0...100, \.producers),
        Knob("screens", .population, 0...1_000, \.screens),
        Knob("providers", .population, 0...20, \.providers),
        Knob("fingers", .population, 0...100, \.fingers),
        Knob("inputs", .population, 1...10_000_000, \.inputs),
        Knob("crashes", .faults, 0...1_000, \.crashes),
        Knob("fullDisks", .faults, 0...1_000, \.fullDisks),
        Knob("clockJumps", .faults, 0...1_000, \.clockJumps),
        Knob("snapshotEvery", .faults, 10...1_000_000_000, \.snapshotEvery),
        Knob("slowestSync", .faults, 1...10_000, \.slowestSync),
        Knob("slowestWire", .faults, 1...10_000, \.slowestWire),
        Knob("slices", .faults, 0...1_000, \.slices),
        Knob("resets", .faults, 0...1_000, \.resets),
        Knob("halfCloses", .faults, 0...1_000, \.halfCloses),
        Knob("slowReaders", .faults, 0...1_000, \.slowReaders),
        Knob("duplicates", .faults, 0...1_000, \.duplicates),
        Knob("disorder", .faults, 0...1_000, \.disorder),
        Knob("badLines", .faults, 0...1_000, \.badLines),
        Knob("lies", .faults, 0...1_000, \.lies),
        Knob("retention", .faults, 1...31_536_000, \.retention),
        Knob("drops", .faults, 0...1_000, \.drops),
        Knob("reorderWindow", .faults, 0...1_000, \.reorderWindow),
        Knob("storms", .faults, 0...1_000, \.storms),
        Knob("providerFailures", .faults, 0...1_000, \.providerFailures),
        Knob("slowestProvider", .faults, 0...600_000, \.slowestProvider),
        Knob("doubleTaps", .clients, 0...1_000, \.doubleTaps),
        Knob("staleTaps", .clients, 0...1_000, \.staleTaps),
        Knob("wanderers", .population, 0...100, \.wanderers),
        Knob("guests", .population, 0...10, \.guests),
        Knob("widgets", .population, 0...100, \.widgets),
        Knob("boards", .population, 0...100, \.boards),
        Knob("visits", .population, 0...100, \.visits),
        Knob("ownAlerts", .faults, 0...1_000, \.ownAlerts),
        Knob("lateEvents", .faults, 0...1_000, \.lateEvents),
        Knob("stops", .faults, 0...1_000, \.stops),
        Knob("failedSyncs", .faults, 0...1_000, \.failedSyncs),
        Knob("pace", .faults, 0...1_000, \.pace),
        Knob("adaptivePace", .faults, 0...1, \.adaptivePace),
        Knob("requestsInFlight", .faults, 1...1_000_000, \.requestsInFlight),
    ]

    /// The profile as a scenario file.
    public func scenarioText(title: String) -> String {
        func members(_ group: Knob.Group) -> String {
            Self.knobs.filter { $0.group == group }.map { "\"\($0.name)\": \($0.get(self))" }.joined(separator: ", ")
        }
        return """
            { "title": "\(title)", "seed": \(seed), "startsFull": \(startsFull),
              "population": { \(members(.population)) },
              "faults": { \(members(.faults)) },
              "clients": { \(members(.clients)) } }
            """
    }
}

extension Swarm {
    /// Turns down every number that the failure does not need: first the faults, then the crowd, then the inputs.
    ///
    /// - Parameter progress: Called with each profile that still fails.
    /// - Returns: The smallest profile found that breaks the same promise, `nil` when `climate` breaks none.
    public static func shrink(
        _ climate: FaultProfile, bug: SeededBug? = nil, progress: (FaultProfile, Violation) -> Void = { _, _ in }
    ) -> (FaultProfile, Violation)? {
        guard var violation = run(climate, bug: bug).violation else { return nil }
        var smallest = climate
        func fails(_ candidate: FaultProfile) -> Bool {
            guard candidate != smallest, let found = run(candidate, bug: bug).violation,
                found.promise == violation.promise
            else { return false }
            (smallest, violation) = (candidate, found)
            progress(candidate, found)
            return true
        }
        var candidate = smallest
        candidate.startsFull = false
        _ = fails(candidate)
        // Snapshots and delays are turned to where nothing happens; the rest to nothing at all, or to half.
        for knob in FaultProfile.knobs.reversed() where knob.name != "inputs" && knob.name != "retention" {
            let calm = knob.name == "snapshotEvery" ? 1_000_000 : knob.range.lowerBound
            var candidate = smallest
            knob.set(&candidate, calm)
            if fails(candidate) { continue }
            for _ in 0..<6 {
                var candidate = smallest
                knob.set(&candidate, max(knob.range.lowerBound, knob.get(smallest) / 2))
                if !fails(candidate) { break }
            }
        }
        for _ in 0..<12 {
            var candidate = smallest
            candidate.inputs = max(1, smallest.inputs / 2)
            if !fails(candidate) { break }
        }
        return (smallest, violation)
    }
}

extension Limits {
    /// Walks over many keys take many steps, though a run has few keys.
    mutating func makeSmallSteps() { (keysFilledAtOnce, keysPerLook, keysPerWalk, boardsPerBatch) = (2, 3, 1, 1) }
}
