import TelltaleModel

/// Limits log lines about a full disk: every batch is tried, many times a second, but only some failures are logged.
struct DiskComplaints {
    private var next: MonotonicTime?

    private static let pause = Milliseconds.seconds(10)

    mutating func isDue(at now: MonotonicTime) -> Bool {
        if let next, now < next { return false }
        next = now + Self.pause
        return true
    }

    /// The disk has room.
    ///
    /// - Returns: Whether it had none before.
    mutating func end() -> Bool {
        defer { next = nil }
        return next != nil
    }
}
