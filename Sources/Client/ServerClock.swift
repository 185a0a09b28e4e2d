public import Model

/// The clock of a server, as far as its greeting tells it: dates in rows and deadlines of actions are on it. It may be
/// minutes off from this machine's own, and run faster.
///
/// Only spans of this machine's clock that never jumps go into it.
public struct ServerClock: Hashable, Sendable {
    private let greetedAt: Timestamp
    private let atGreeting: Timestamp
    /// How many times as fast as real time it runs.
    public let speed: Double

    /// - Parameters:
    ///   - now: When the greeting came, on the clock that never jumps.
    ///   - wallClock: What stands in for a server that does not tell its time: this machine's idea of it.
    public init(_ greeting: ServerGreeting, at now: Timestamp, wallClock: Timestamp) {
        greetedAt = now
        atGreeting = greeting.now ?? wallClock
        speed = greeting.speed
    }

    /// What it says, as far as one knows.
    ///
    /// - Parameter now: A point of the clock that never jumps.
    public func time(at now: Timestamp) -> Timestamp {
        let elapsed = (Double((now - greetedAt).count) * speed).rounded()
        return atGreeting + Milliseconds(Int64(exactly: elapsed) ?? (elapsed < 0 ? .min : .max))
    }

    /// How long it takes, in real time, until it says `deadline`: 0 when it has.
    ///
    /// - Parameter now: A point of the clock that never jumps.
    public func wait(until deadline: Timestamp, at now: Timestamp) -> Milliseconds {
        let time = time(at: now)
        guard deadline > time else { return .zero }
        let wait = (Double((deadline - time).count) / speed).rounded(.up)
        return Milliseconds(Int64(exactly: wait) ?? .max)
    }
}
