import TelltaleModel

/// The result of one seed of a cluster.
public struct ClusterResult: Sendable, Equatable {
    public var seed: UInt64
    public var violation: Violation?
    /// Of every byte that any client was given, with its time: the same for the same seed, always.
    public var hash: UInt64 = 0
    public var inputs = 0
    public var steps = 0
    /// How many times a node began to lead.
    public var takeovers = 0
    /// Records that the log stored.
    public var records = 0
    public var rows = 0
    public var resumes = 0
    /// Bases that nodes have stored, and that nodes began with.
    public var bases = 0
    public var joins = 0
    /// Snapshots of local copies.
    public var snapshots = 0
    /// Moves of the history into another log.
    public var moves = 0
    /// Virtual milliseconds.
    public var span: Int64 = 0
}

/// Runs of a simulated cluster: three daemons over one replicated log.
public enum ClusterSwarm {
    /// - Parameter trace: Called with what nodes (0 to 2), the engine (-2) and clients (from 100) do, and when.
    public static func run(
        seed: UInt64, bug: ClusterBug? = nil,
        trace: ((_ time: Int64, _ party: Int, _ text: String) -> Void)? = nil
    ) -> ClusterResult {
        var result = ClusterResult(seed: seed)
        do {
            let cluster = try SimulatedCluster(ClusterClimate(seed: seed), bug: bug, trace: trace)
            cluster.run()
            result.violation = cluster.ledger.violations.first
            result.hash = cluster.ledger.hash.finalize()
            (result.inputs, result.steps, result.takeovers) = (cluster.inputCount, cluster.steps, cluster.takeovers)
            result.records = cluster.log.records.count
            result.moves = cluster.moves
            (result.bases, result.joins, result.snapshots) = (
                cluster.baseCount, cluster.joinCount, cluster.snapshotCount
            )
            (result.rows, result.resumes, result.span) = (cluster.ledger.rows, cluster.ledger.resumes, cluster.now)
        } catch {
            result.violation = Violation(promise: "kinds", what: "\(error)", time: 0)
        }
        return result
    }
}
