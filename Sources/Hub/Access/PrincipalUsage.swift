internal import TelltaleModel

/// Counts the connections and limits the request rate of each principal.
///
/// Invariants:
/// - A bucket that is not full outlives the last connection of its principal; otherwise reconnecting would refill it.
/// - Principals without a connection whose buckets are full are eventually forgotten, so memory is bounded by the connections.
struct PrincipalUsage {
    private var entries: [String: Entry] = [:]
    /// How many entries trigger the next sweep.
    private var sweepCount = Self.smallestSweep

    private struct Entry {
        var connectionCount = 0
        var bucket = RateBucket()
    }

    private static let smallestSweep = 64

    /// Number of principals that are remembered.
    var count: Int { entries.count }

    func connectionCount(of name: String) -> Int { entries[name]?.connectionCount ?? 0 }

    mutating func opened(_ name: String, at now: MonotonicTime) {
        if entries.count >= sweepCount { sweep(at: now) }
        entries[name, default: Entry()].connectionCount += 1
    }

    mutating func closed(_ name: String) {
        guard var entry = entries[name] else { return }
        entry.connectionCount -= 1
        entries[name] = entry.connectionCount == 0 && entry.bucket.isUnused ? nil : entry
    }

    /// Takes one request of a connected principal.
    ///
    /// - Returns: `nil` if the request is allowed; else how long until it is.
    mutating func chargePrincipal(_ name: String, rate: Int, at now: MonotonicTime) -> Milliseconds? {
        entries[name]?.bucket.charge(rate: rate, at: now)
    }

    private mutating func sweep(at now: MonotonicTime) {
        entries = entries.filter { $0.value.connectionCount > 0 || !$0.value.bucket.isFull(at: now) }
        // Twice the number that is left, so the cost of sweeps is amortised.
        sweepCount = max(Self.smallestSweep, 2 * entries.count)
    }
}

/// A token bucket that fills at the rate and holds twice as much.
struct RateBucket {
    /// When the bucket is full again if nothing more is taken. One request costs 1 s divided by the rate.
    private var emptyUntil = MonotonicTime.distantPast

    var isUnused: Bool { emptyUntil == .distantPast }

    func isFull(at now: MonotonicTime) -> Bool { emptyUntil <= now }

    /// Takes one request.
    ///
    /// - Returns: `nil` if one was available; else how long until one is.
    mutating func charge(rate: Int, at now: MonotonicTime) -> Milliseconds? {
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
