internal import HeapModule
internal import TelltaleModel

/// The moments of the real clock at which the tokens of connections expire.
///
/// The real clock may be set ahead without notice. So the earliest moment is compared with it once a second, for all connections
/// together.
struct ExpiryWatch {
    private var moments = Heap<SessionDeadline<Timestamp>>()
    /// When ``takeDue(at:)`` should be called next, by the monotonic clock; `nil` = no moment is watched.
    private(set) var nextCheck: MonotonicTime?

    /// The longest time for which a clock that was set ahead goes unnoticed.
    private static let longestWait = Milliseconds.seconds(1)

    /// Number of moments, including those of closed connections and replaced tokens.
    var count: Int { moments.count }

    mutating func insert(_ moment: Timestamp, of id: SessionID, at now: HubTime) {
        moments.insert(SessionDeadline(time: moment, session: id))
        let look = Self.checkTime(for: moment, at: now)
        nextCheck = nextCheck.map { min($0, look) } ?? look
    }

    /// Replaces all moments.
    mutating func replaceAll(with moments: [SessionDeadline<Timestamp>]) {
        self.moments = Heap(moments)
    }

    /// The next connection whose moment has come. It may be closed, or have a newer token.
    mutating func takeDue(at now: HubTime) -> SessionDeadline<Timestamp>? {
        if let first = moments.min, first.time <= now.wall { return moments.popMin() }
        if let nextCheck, nextCheck <= now.monotonic {
            self.nextCheck = moments.min.map { Self.checkTime(for: $0.time, at: now) }
        }
        return nil
    }

    private static func checkTime(for moment: Timestamp, at now: HubTime) -> MonotonicTime {
        now.monotonic + max(Milliseconds(1), min(moment - now.wall, longestWait))
    }
}
