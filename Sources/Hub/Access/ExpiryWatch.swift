internal import HeapModule
internal import TelltaleModel

/// The moments of the real clock at which the tokens of connections expire.
///
/// The real clock may be set ahead, and nothing tells of that. So the first moment is compared with it again and again, once a
/// second for all connections together.
struct ExpiryWatch {
    private var moments = Heap<SessionDeadline<Timestamp>>()
    /// When ``takeDue(at:)`` is to be asked, by the monotonic clock; `nil` = there is nothing to ask for.
    private(set) var nextLook: MonotonicTime?

    /// The longest time in which a clock that was set ahead is not noticed.
    private static let longestWait = Milliseconds.seconds(1)

    /// Of moments, those of connections that have gone or have a newer token included.
    var count: Int { moments.count }

    mutating func insert(_ moment: Timestamp, of id: SessionID, at now: HubTime) {
        moments.insert(SessionDeadline(time: moment, session: id))
        let look = Self.look(for: moment, at: now)
        nextLook = nextLook.map { min($0, look) } ?? look
    }

    /// Forgets every moment but these.
    mutating func replaceAll(with moments: [SessionDeadline<Timestamp>]) {
        self.moments = Heap(moments)
    }

    /// The next connection with a moment that has come. It may have gone, or have a newer token.
    mutating func takeDue(at now: HubTime) -> SessionDeadline<Timestamp>? {
        if let first = moments.min, first.time <= now.wall { return moments.popMin() }
        if let nextLook, nextLook <= now.monotonic {
            self.nextLook = moments.min.map { Self.look(for: $0.time, at: now) }
        }
        return nil
    }

    private static func look(for moment: Timestamp, at now: HubTime) -> MonotonicTime {
        now.monotonic + max(Milliseconds(1), min(moment - now.wall, longestWait))
    }
}
