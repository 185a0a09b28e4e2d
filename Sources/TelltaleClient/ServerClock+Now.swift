import TelltaleEventLoop
public import TelltaleModel

extension ServerClock {
    /// The clock of a server whose greeting has come just now.
    public init(_ greeting: ServerGreeting) {
        self.init(
            greeting, at: Self.monotonicNow,
            wallClock: Timestamp(milliseconds: EventLoop.wallClockMilliseconds()))
    }

    /// The server's time now.
    public var now: Timestamp { time(at: Self.monotonicNow) }

    /// The real time until the `deadline` of an action; 0 when it has passed.
    public func wait(until deadline: Timestamp) -> Milliseconds { wait(until: deadline, at: Self.monotonicNow) }

    private static var monotonicNow: Timestamp { Timestamp(milliseconds: EventLoop.monotonicMilliseconds()) }
}
