internal import TelltaleClientProtocol
internal import TelltaleModel

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Glibc)
    internal import Glibc
#endif

/// A server's real time, measured with this machine's monotonic clock.
struct RealClock: Sendable {
    private let clock: ServerClock
    private let origin = ContinuousClock.now

    /// - Parameter greeting: A greeting that has just arrived.
    init(_ greeting: ServerGreeting) {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let wall = Timestamp(milliseconds: Int64(time.tv_sec) &* 1_000 &+ Int64(time.tv_nsec) / 1_000_000)
        clock = ServerClock(greeting, at: Timestamp(milliseconds: 0), wallClock: wall)
    }

    /// The moment of a date of the server in real time; now if it has passed.
    func moment(of date: Timestamp) -> ContinuousClock.Instant {
        let wait = clock.wait(until: date, at: Timestamp(milliseconds: 0))
        // Bounded to some 30 years, so that the instant cannot overflow.
        return origin.advanced(by: .milliseconds(min(wait.count, 1_000_000_000_000)))
    }
}
