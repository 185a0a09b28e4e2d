import TelltaleModel

/// Is sent every piece that a client reads and sends, for somebody who looks for a fault: its time, the number of the client and the
/// text. Other parties of a world have numbers that no client has.
public typealias TraceSink = (_ time: Int64, _ party: Int, _ text: String) -> Void

/// A bug that is planted to see whether a simulation finds it. Its raw value says what it is.
public protocol PlantedBug: RawRepresentable<String>, CaseIterable, Hashable, Sendable {}

extension PlantedBug {
    /// The name of its case.
    public var name: String { "\(self)" }

    public init?(named name: String) {
        guard let bug = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = bug
    }
}

/// A simulation in which everything follows from the seed.
public protocol SeededSimulation: Sendable {
    associatedtype Bug: PlantedBug

    /// Whether a seed may break a promise without a planted bug: then it finds none.
    var mayFailByItself: Bool { get }

    func run(_ seed: UInt64, bug: Bug?, trace: TraceSink?) -> SeedResult
}

/// The result of one seed.
public struct SeedResult: Sendable, Equatable {
    public struct Count: Sendable, Equatable {
        public var name: String
        public var value: Int
    }

    public var seed: UInt64
    public var violation: Violation?
    /// Of every byte that any client was given, with its time: the same for the same seed, always.
    public var hash: UInt64 = 0
    /// Virtual milliseconds.
    public var span: Int64 = 0
    /// How often what happened, in the order of a report.
    public var counts: [Count] = []
    public var verdicts: [String: Int] = [:]
    public var errors: [String: Int] = [:]

    /// A count by its name; 0 for one that there is not.
    public subscript(name: String) -> Int { counts.first { $0.name == name }?.value ?? 0 }

    /// - Parameter run: Throws where a world cannot begin.
    static func of(_ seed: UInt64, _ run: () throws -> SeedResult) -> SeedResult {
        do {
            return try run()
        } catch {
            return SeedResult(seed: seed, violation: Violation(promise: "kinds", what: "\(error)", time: 0))
        }
    }
}

extension Environment {
    /// The result of a run that has ended.
    func result(_ counts: KeyValuePairs<String, Int>) -> SeedResult {
        SeedResult(
            seed: climate.seed, violation: ledger.violations.first, hash: ledger.hash.finalize(), span: now,
            counts: counts.map { SeedResult.Count(name: $0.key, value: $0.value) }, verdicts: ledger.verdicts,
            errors: ledger.errors)
    }
}

/// Worlds of a daemon, its disk, its network and its clients.
public struct Swarm: SeededSimulation {
    /// Posts and taps of each world.
    private let inputs: Int

    public init(inputs: Int = 2_000) {
        self.inputs = inputs
    }

    public var mayFailByItself: Bool { false }

    public func climate(_ seed: UInt64) -> FaultProfile {
        var climate = FaultProfile(seed: seed)
        climate.inputs = inputs
        return climate
    }

    public func run(_ seed: UInt64, bug: SeededBug? = nil, trace: TraceSink? = nil) -> SeedResult {
        Self.run(climate(seed), bug: bug, trace: trace)
    }

    public static func run(_ climate: FaultProfile, bug: SeededBug? = nil, trace: TraceSink? = nil) -> SeedResult {
        .of(climate.seed) {
            let world = try World(climate, bug: bug, trace: trace)
            world.run()
            let ledger = world.ledger
            return world.result([
                "inputs": world.inputCount, "steps": world.steps, "crashes": world.daemon.recoveries,
                "rows": ledger.rows, "folded": ledger.folded, "resumes": ledger.resumes, "resets": ledger.resets,
                "bytes": ledger.byteCount,
            ])
        }
    }
}

/// Clusters: three daemons over one replicated log. Nodes are the parties 0 to 2, the log store is -2, clients begin with 100.
public struct ClusterSwarm: SeededSimulation {
    public init() {}

    public var mayFailByItself: Bool { true }

    public func run(_ seed: UInt64, bug: ClusterBug? = nil, trace: TraceSink? = nil) -> SeedResult {
        .of(seed) {
            let cluster = try SimulatedCluster(ClusterClimate(seed: seed), bug: bug, trace: trace)
            cluster.run()
            return cluster.result([
                "inputs": cluster.inputCount, "steps": cluster.steps, "takeovers": cluster.takeovers,
                "records": cluster.log.records.count, "bases": cluster.checkpointCount,
                "nodes that began with one": cluster.joinCount, "snapshots": cluster.snapshotCount,
                "moves": cluster.moves, "rows": cluster.ledger.rows,
                "rows of standbys": cluster.checks.rowsOfStandbys, "resumes": cluster.ledger.resumes,
            ])
        }
    }
}

/// Worlds in which `telltale-push` sends the states of activities to devices.
public struct PushSwarm: SeededSimulation {
    public init() {}

    public var mayFailByItself: Bool { true }

    public func run(_ seed: UInt64, bug: PushBug? = nil, trace: TraceSink? = nil) -> SeedResult {
        var climate = FaultProfile(seed: seed)
        (climate.inputs, climate.screens, climate.wanderers, climate.guests, climate.widgets) = (300, 1, 0, 0, 0)
        // A device drops a push whose time lies before the newest one's, and a clock that is set back makes such.
        climate.clockJumps = 0
        return .of(seed) {
            let world = try World(climate, bug: nil, trace: trace)
            let random = SimulationRandom(seed: seed &+ 99)
            let sender = SimulatedPushProgram(
                Seat(world: world, index: world.clients.count, number: 0, random: random), bug: bug)
            world.add(sender)
            world.run()
            return world.result([
                "inputs": world.inputCount, "pushes": sender.service.arrivals, "cards": sender.service.cards.count,
                "kills of telltale-push": sender.kills, "crashes": world.daemon.recoveries,
            ])
        }
    }
}
