public import TelltaleModel

/// The clock of a server, as far as its greeting tells it: dates of activities are on it. It may be minutes off from this
/// machine's own, and run faster.
///
/// Only spans of this machine's clock that never jumps go into it. Deadlines of actions are in real time, whatever its
/// speed: a lamp is no quicker because a demo is.
public struct ServerClock: Hashable, Sendable {
    private let greetedAt: Timestamp
    private let atGreeting: Timestamp
    /// Real time at the greeting: what the server said where its clock is real, else what this machine's clock did.
    private let realAtGreeting: Timestamp
    /// How many times as fast as real time it runs.
    public let speed: Double

    /// - Parameters:
    ///   - now: When the greeting came, on the clock that never jumps.
    ///   - wallClock: This machine's idea of the time. It stands in for a server that does not tell its own, or tells one
    ///     that is not real.
    public init(_ greeting: ServerGreeting, at now: Timestamp, wallClock: Timestamp) {
        greetedAt = now
        atGreeting = greeting.now ?? wallClock
        speed = greeting.speed
        realAtGreeting = speed == 1 ? atGreeting : wallClock
    }

    /// What it says, as far as one knows.
    ///
    /// - Parameter now: A point of the clock that never jumps.
    public func time(at now: Timestamp) -> Timestamp {
        let elapsed = (Double((now - greetedAt).count) * speed).rounded()
        return atGreeting + Milliseconds(Int64(exactly: elapsed) ?? (elapsed < 0 ? .min : .max))
    }

    /// How long it is until the `deadline` of an action: 0 when it has passed.
    ///
    /// - Parameter now: A point of the clock that never jumps.
    public func wait(until deadline: Timestamp, at now: Timestamp) -> Milliseconds {
        max(.zero, deadline - (realAtGreeting + (now - greetedAt)))
    }
}
