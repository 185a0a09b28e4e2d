/// A moment of some clock at which a session must be examined.
struct SessionDeadline<Time: Comparable & Sendable>: Comparable, Sendable {
    var time: Time
    var session: SessionID

    static func < (left: SessionDeadline, right: SessionDeadline) -> Bool {
        (left.time, left.session.number) < (right.time, right.session.number)
    }
}
