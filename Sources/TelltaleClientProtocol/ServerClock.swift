public import TelltaleModel

/// The server's clock as its greeting reports it. Dates of activities refer to it. It may differ from this machine's
/// clock and run faster.
///
/// Elapsed time is measured with this machine's monotonic clock. Deadlines of actions are in real time, whatever the
/// clock's speed, because the speed does not change how fast a device acts.
public struct ServerClock: Hashable, Sendable {
    private let greetedAt: Timestamp
    private let atGreeting: Timestamp
    /// The real time at the greeting: the server's clock if that runs in real time, otherwise this machine's.
    private let realAtGreeting: Timestamp
    /// The speed of the clock relative to real time.
    public let speed: Double

    /// - Parameters:
    ///   - now: The time of the greeting on the monotonic clock.
    ///   - wallClock: This machine's time, for a server that does not report its own or whose clock is not in real
    ///     time.
    public init(_ greeting: ServerGreeting, at now: Timestamp, wallClock: Timestamp) {
        greetedAt = now
        atGreeting = greeting.now ?? wallClock
        speed = greeting.speed
        realAtGreeting = speed == 1 ? atGreeting : wallClock
    }

    /// The estimated time of the server's clock.
    ///
    /// - Parameter now: A time of the monotonic clock.
    public func time(at now: Timestamp) -> Timestamp {
        let elapsed = (Double((now - greetedAt).count) * speed).rounded()
        return atGreeting + Milliseconds(Int64(exactly: elapsed) ?? (elapsed < 0 ? .min : .max))
    }

    /// The time until the `deadline` of an action; 0 if it has passed.
    ///
    /// - Parameter now: A time of the monotonic clock.
    public func wait(until deadline: Timestamp, at now: Timestamp) -> Milliseconds {
        max(.zero, deadline - (realAtGreeting + (now - greetedAt)))
    }
}
