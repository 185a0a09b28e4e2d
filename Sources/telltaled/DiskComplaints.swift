import TelltaleModel

/// When a full disk is worth a line in the log: every batch is tried, many a second, and people are told now and then.
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
