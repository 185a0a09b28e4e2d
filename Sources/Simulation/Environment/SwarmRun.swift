import TelltaleModel

/// The result of one seed.
public struct SwarmResult: Sendable, Equatable {
    public var seed: UInt64
    public var violation: Violation?
    /// Of every byte that any client was given, with its time: the same for the same climate, always.
    public var hash: UInt64
    public var inputs = 0
    public var steps = 0
    public var recoveries = 0
    /// Virtual milliseconds.
    public var span: Int64 = 0
    public var rows = 0
    public var folded = 0
    public var resumes = 0
    public var resets = 0
    public var bytes = 0
    public var verdicts: [String: Int] = [:]
    public var errors: [String: Int] = [:]
}

/// Runs of the simulation.
public enum Swarm {
    /// - Parameter trace: Called with every piece that a client reads and sends, its time and the client's number.
    public static func run(
        _ climate: FaultProfile, bug: SeededBug? = nil,
        trace: ((_ time: Int64, _ client: Int, _ text: String) -> Void)? = nil
    ) -> SwarmResult {
        do throws(SimulatedKinds.KindFault) {
            let world = try World(climate, bug: bug, trace: trace)
            world.run()
            let ledger = world.ledger
            return SwarmResult(
                seed: climate.seed, violation: ledger.violations.first, hash: ledger.hash.finalize(),
                inputs: world.inputCount, steps: world.steps, recoveries: world.daemon.recoveries, span: world.now,
                rows: ledger.rows, folded: ledger.folded, resumes: ledger.resumes, resets: ledger.resets,
                bytes: ledger.byteCount, verdicts: ledger.verdicts, errors: ledger.errors)
        } catch {
            return SwarmResult(
                seed: climate.seed, violation: Violation(promise: "kinds", what: error.text, time: 0), hash: 0)
        }
    }
}
