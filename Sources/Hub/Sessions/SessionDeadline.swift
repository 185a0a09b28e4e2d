internal import TelltaleModel

/// A moment at which a session must be looked at.
struct SessionDeadline: Comparable, Sendable {
    var time: MonotonicTime
    var session: SessionID

    static func < (left: SessionDeadline, right: SessionDeadline) -> Bool {
        (left.time, left.session.number) < (right.time, right.session.number)
    }
}
