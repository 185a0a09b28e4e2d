internal import TelltaleModel

/// The connections and the requests of each principal.
///
/// Invariants:
/// - A bucket that is not full outlives the last connection of its principal, or reconnecting would fill it.
/// - Principals without a connection whose buckets are full are forgotten in time: the memory follows the connections, and not
///   every principal that ever came.
struct PrincipalUsage {
    private var entries: [String: Entry] = [:]
    /// How many entries there may be before the next look for those that can be forgotten.
    private var sweepCount = Self.smallestSweep

    private struct Entry {
        var connectionCount = 0
        var bucket = RateBucket()
    }

    private static let smallestSweep = 64

    /// Of principals that are remembered.
    var count: Int { entries.count }

    func connectionCount(of name: String) -> Int { entries[name]?.connectionCount ?? 0 }

    /// A connection speaks for a principal from now on.
    mutating func opened(_ name: String, at now: MonotonicTime) {
        if entries.count >= sweepCount { sweep(at: now) }
        entries[name, default: Entry()].connectionCount += 1
    }

    /// A connection of a principal is gone.
    mutating func closed(_ name: String) {
        guard var entry = entries[name] else { return }
        entry.connectionCount -= 1
        entries[name] = entry.connectionCount == 0 && entry.bucket.isUnused ? nil : entry
    }

    /// Takes one request of a principal that has a connection.
    ///
    /// - Returns: `nil` where it may be made; else how long until it may.
    mutating func take(_ name: String, rate: Int, at now: MonotonicTime) -> Milliseconds? {
        entries[name]?.bucket.take(rate: rate, at: now)
    }

    private mutating func sweep(at now: MonotonicTime) {
        entries = entries.filter { $0.value.connectionCount > 0 || !$0.value.bucket.isFull(at: now) }
        // Twice what is left, so that each entry is looked at a few times in all.
        sweepCount = max(Self.smallestSweep, 2 * entries.count)
    }
}

/// How many requests a principal may still make: a bucket that fills by its rate, and holds twice as much.
struct RateBucket {
    /// Requests that were taken and have not been given back by time, in nanoseconds of the rate.
    private var emptyUntil = MonotonicTime.distantPast

    var isUnused: Bool { emptyUntil == .distantPast }

    /// Whether it holds no less than an unused one.
    func isFull(at now: MonotonicTime) -> Bool { emptyUntil <= now }

    /// Takes one request out.
    ///
    /// - Returns: `nil` where it was there; else how long until there is one.
    mutating func take(rate: Int, at now: MonotonicTime) -> Milliseconds? {
        let interval = Duration.seconds(1) / max(1, rate)
        let capacity = Duration.seconds(2)
        let start = max(emptyUntil, now)
        let used = start - now
        guard used + interval <= capacity else {
            let wait = used + interval - capacity
            return max(Milliseconds(1), Milliseconds(Int64((wait / .milliseconds(1)).rounded(.up))))
        }
        emptyUntil = start + interval
        return nil
    }
}
