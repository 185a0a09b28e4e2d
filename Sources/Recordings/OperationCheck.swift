/// Whether each operation of a control ended on a screen as it did at its provider.
///
/// In a cluster the provider's connection ends with the leader. The next leader may then end an operation as `unavailable`:
/// before its provider was asked, or after the provider did what it was asked for.
public struct OperationCheck: Sendable {
    /// How an operation ended, as a row says it under `last`.
    public struct End: Hashable, Sendable {
        public var result: String
        public var reason: String?

        public init(_ result: String, reason: String? = nil) {
            self.result = result
            self.reason = reason
        }

        public static let confirmed = End("confirmed")
        public static let failed = End("reverted", reason: "failed")
        public static let unavailable = End("reverted", reason: "unavailable")
    }

    private let hasLeaders: Bool
    /// By operation: the end that the provider's answer gives it.
    private var expected: [String: End] = [:]
    /// By operation: the end that the screen showed.
    private var shown: [String: End] = [:]
    /// A connection of the provider has ended, as it does with a leader.
    private var hasEnded = false
    /// The operations that were under way when the provider's connection ended. Their answers may be lost.
    private var interrupted: Set<String> = []

    /// - Parameter hasLeaders: The daemon is a cluster, so connections end with its leader.
    public init(hasLeaders: Bool) {
        self.hasLeaders = hasLeaders
    }

    /// The provider was asked, and its answer gives the operation this end.
    public mutating func expect(_ end: End, of operation: String) {
        expected[operation] = end
    }

    /// The provider's connection ended.
    public mutating func interrupt() {
        guard hasLeaders else { return }
        hasEnded = true
        interrupted.formUnion(expected.keys.filter { shown[$0] == nil })
    }

    /// The screen showed the end of an operation.
    ///
    /// - Returns: Whether it had not shown it before.
    public mutating func show(_ end: End, of operation: String) -> Bool {
        guard shown[operation] == nil else { return false }
        shown[operation] = end
        return true
    }

    public var endedCount: Int { shown.count }
    public var askedCount: Int { expected.count }
    public var hasInterruptions: Bool { !interrupted.isEmpty }

    public func count(of end: End) -> Int { shown.values.count { $0 == end } }

    /// Every operation that the provider was asked for ended, and each end is one that the provider gave, or the leader's.
    public var isClean: Bool {
        expected.keys.allSatisfy { shown[$0] != nil } && shown.allSatisfy { isRight($1, of: $0) }
    }

    private func isRight(_ end: End, of operation: String) -> Bool {
        end == expected[operation] || interrupted.contains(operation) || (hasEnded && end == .unavailable)
    }
}

/// What a screen was notified of one case, by commits: whether the row was due to it of the case's end.
///
/// The newest state is due to a screen of a case. Of a case that ended and left while the screen had no connection that is the deletion
/// alone, with which the next connection resumes.
public struct EndOnScreen: Hashable, Sendable {
    private var newestRow = Int64.min
    private var deletion: Int64?
    private var isResumed = false

    public init() {}

    public mutating func wasShown(_ commit: Int64) {
        newestRow = max(newestRow, commit)
        deletion = nil
    }

    /// - Parameter isResuming: The subscription of this connection has not reported `LIVE` yet.
    public mutating func wasRemoved(_ commit: Int64, isResuming: Bool) {
        (deletion, isResumed) = (commit, isResuming)
    }

    /// Whether the deletion is all that was due to the screen since a row of before the end.
    ///
    /// - Parameter end: The commit of the last event of the case.
    public func awaitsDeletionAlone(of end: Int64) -> Bool {
        guard let deletion else { return false }
        return isResumed && deletion >= end && newestRow < end
    }
}
