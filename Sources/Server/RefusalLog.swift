public import TelltaleModel

/// Decides which refused connections are worth a line in the log: one line a second at the most, which counts the others.
public struct RefusalLog: Sendable {
    private var count = 0
    private var nextReport = MonotonicTime.distantPast

    /// The least time between two lines.
    static let pause = Milliseconds.seconds(1)

    public init() {}

    /// A connection was refused.
    ///
    /// - Returns: The number of refusals since the last line, this one among them, when a line is due; else `nil`.
    public mutating func refused(at now: MonotonicTime) -> Int? {
        count += 1
        guard now >= nextReport else { return nil }
        defer { count = 0 }
        nextReport = now + Self.pause
        return count
    }
}
