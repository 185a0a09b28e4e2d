/// The outcome of a scenario, in process or at a daemon in another process.
public struct ScenarioOutcome: Sendable {
    public var violations: [Violation] = []
    public var inputs = 0
    public var crashes = 0
    public var rows = 0
    public var folded = 0
    public var resumes = 0
    public var resets = 0
    /// Rows whose rev went back (P3).
    public var regressions = 0
    public var verdicts: [String: Int] = [:]
    public var errors: [String: Int] = [:]
    /// Operations of controls by how they ended: `confirmed`, `reverted timeout`, `superseded`, …
    public var operations: [String: Int] = [:]
    /// Of each view, from the moment at which an event was meant to leave to its row on a screen, in microseconds.
    public var latencies: [String: [Int64]] = [:]
    /// Screens of each view.
    public var screens: [String: Int] = [:]
    /// By key, as the scenario names it.
    public var states: [String: String] = [:]
    /// Expectations of steps, `eventually` and `never` that did not hold.
    public var unmetViews: [String] = []
    public var timeline = Timeline()
    /// The scenes of the script, or some moments of a crowd.
    public var story: [StoryScene] = []
    /// Of the scenario's own time.
    public var milliseconds: Int64 = 0

    public init() {}

    public static let countNames = [
        "inputs", "crashes", "rows", "folded", "resumes", "resets", "regressions", "applied", "noop", "duplicate",
        "stale", "ignored", "storage_full", "refused", "confirmed", "reverted", "superseded",
    ]

    /// The counts that only a world in process can have.
    static let inProcessCounts: Set<String> = ["crashes", "storage_full", "resets"]

    /// A number of the report by its name; 0 for one that there is not.
    public func count(of name: String) -> Int {
        switch name {
        case "inputs": inputs
        case "crashes": crashes
        case "rows": rows
        case "folded": folded
        case "resumes": resumes
        case "resets": resets
        case "regressions": regressions
        case "refused": errors.values.reduce(0, +)
        case "confirmed", "reverted", "superseded":
            operations.reduce(0) { $0 + ($1.key.hasPrefix(name) ? $1.value : 0) }
        case _: verdicts[name] ?? errors[name] ?? 0
        }
    }

    /// - Parameter surface: `nil`: all of them, without slow readers.
    /// - Returns: Microseconds; `nil` where nothing was measured.
    public func latency(of surface: String?, percentile: Double) -> Int64? {
        let samples = surface.map { latencies[$0] ?? [] }
        let all = latencies.filter { $0.key != LatencyBook.slowReader }.values
        return (samples ?? all.flatMap { $0 }).value(atPercentile: percentile)
    }
}
