import Hub

/// The faults of a run, and how frequent they are. A number without a unit is a share of a thousand.
///
/// A seed picks a profile. The profile of a failed run is shrunk by setting its numbers to 0 one by one.
public struct FaultProfile: Sendable, Equatable {
    public var seed: UInt64
    public var producers = 4
    public var screens = 12
    public var providers = 2
    public var fingers = 2
    /// Posts and taps after which nothing new is sent.
    public var inputs = 2_000
    /// Of the daemon, without warning.
    public var crashes = 1
    /// Times at which the disk is full for some seconds.
    public var fullDisks = 0
    /// The disk is full when the daemon starts for the first time.
    public var startsFull = false
    /// Wall clock jumps.
    public var clockJumps = 0
    /// Records between two snapshots.
    public var snapshotEvery = 500
    /// The slowest sync, in milliseconds.
    public var slowestSync = 20
    /// A wire's longest delay, in milliseconds.
    public var slowestWire = 30
    /// Writes that arrive in pieces.
    public var slices = 200
    /// Connections that a client breaks, at each of its moves.
    public var resets = 20
    /// Half-closes, at each move of a producer.
    public var halfCloses = 5
    /// Screens that read slowly, or not at all for a while.
    public var slowReaders = 150
    /// Events that are posted again although they were answered.
    public var duplicates = 30
    /// Events that the machine has no use for now.
    public var disorder = 200
    /// Lines that no server should accept.
    public var badLines = 10
    /// Providers that answer late, wrongly, or not at all.
    public var lies = 150
    /// How long a dismissed order can be asked for, in seconds.
    public var retention = 300
    /// Events that happen and are never posted.
    public var drops = 0
    /// Events leave within so many places of their own; 0 or 1: in order.
    public var reorderWindow = 0
    /// How many times all connections break at once.
    public var storms = 0
    /// Actions that the provider reports as failed.
    public var providerFailures = 0
    /// A provider's longest time for an action, in milliseconds, where it takes its time; 0: 1,500.
    public var slowestProvider = 0
    /// Taps that come twice.
    public var doubleTaps = 100
    /// Taps on rows that are out of date; 0: some.
    public var staleTaps = 0
    /// How many clients open and give up several subscriptions on one connection.
    public var wanderers = 0
    /// Events that bring an alert of their own.
    public var ownAlerts = 0
    /// Events that report a moment that is over.
    public var lateEvents = 0
    /// Clients with few rights, which change. Where there are some, every connection needs a token.
    public var guests = 0

    /// Orderly stops of the daemon.
    public var stops = 0
    /// Syncs that fail, with any part of the batch on the disk.
    public var failedSyncs = 0
    /// The pause after a flush, in milliseconds.
    public var pace = 1
    /// 1 = the pause is as long as the load needs it, up to ``pace``.
    public var adaptivePace = 1
    /// Requests of one connection that may wait for their replies.
    public var requestsInFlight = 1_024

    /// Screens with widgets. Where there are some, a shop posts timelines, and the kinds of widgets are reloaded.
    public var widgets = 0
    /// Devices that show boards of widgets, where there are any. Three people arrange them.
    public var boards = 0
    /// Watches on whose boards widgets come and go by themselves, where there are widgets and nobody arranges boards. Operators
    /// reload all widgets there.
    public var relevantTiles = 0

    public init(seed: UInt64) {
        self.seed = seed
        var random = SimulationRandom(seed: seed ^ 0x0C11_3A7E)
        // Half of the faults are off in a run, so that one does not always hide another.
        func maybe(_ value: Int, _ random: inout SimulationRandom) -> Int { random.chance(500) ? value : 0 }
        crashes = 1 + random.below(3)
        fullDisks = maybe(1 + random.below(3), &random)
        startsFull = random.chance(100)
        clockJumps = maybe(1 + random.below(2), &random)
        snapshotEvery = [100, 300, 1_000, 100_000][random.below(4)]
        slowestSync = [1, 5, 20, 200][random.below(4)]
        slowestWire = [1, 10, 100, 1_000][random.below(4)]
        slices = maybe(random.below(800), &random)
        resets = maybe(random.below(60), &random)
        halfCloses = maybe(random.below(20), &random)
        slowReaders = maybe(random.below(400), &random)
        duplicates = maybe(random.below(100), &random)
        disorder = maybe(random.below(500), &random)
        badLines = maybe(random.below(30), &random)
        lies = maybe(random.below(500), &random)
        retention = [30, 300, 3_000][random.below(3)]
        wanderers = 1
        ownAlerts = maybe(random.below(300), &random)
        lateEvents = maybe(random.below(100), &random)
        storms = maybe(1 + random.below(2), &random)
        reorderWindow = maybe(random.below(10), &random)
        doubleTaps = random.below(300)
        stops = maybe(1 + random.below(2), &random)
        failedSyncs = maybe(1 + random.below(2), &random)
        pace = [0, 1, 1, 5, 40][random.below(5)]
        requestsInFlight = [3, 20, 1_024][random.below(3)]
        guests = maybe(3, &random)
        adaptivePace = random.below(2)
        widgets = maybe(4, &random)
        boards = widgets > 0 ? maybe(4, &random) : 0
        relevantTiles = widgets > 0 && boards == 0 ? 6 : 0
    }

    // MARK: Every number by its name, for scenario files, shrinking and reports

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
        Knob("visits", .population, 0...100, \.relevantTiles),
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

/// A promise that was not kept.
public struct Violation: Sendable, Equatable, CustomStringConvertible {
    /// `P1` … `P10` of the list of promises, or `protocol` for a rule of the wire.
    public var promise: String
    public var what: String
    /// Milliseconds after the run's start.
    public var time: Int64

    public init(promise: String, what: String, time: Int64) {
        self.promise = promise
        self.what = what
        self.time = time
    }

    public var description: String { "\(promise) at \(time) ms: \(what)" }
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
    /// Scans of many keys take many steps, though a run has few keys.
    mutating func makeSmallSteps() { (keysFilledAtOnce, keysPerCheck, keysPerScan, boardsPerBatch) = (2, 3, 1, 1) }
}
