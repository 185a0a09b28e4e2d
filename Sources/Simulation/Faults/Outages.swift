/// The spans in which the daemon could decide nothing: it was down, the disk was full, or the wall clock jumped.
///
/// They are on the hub's clock, in milliseconds. It follows the wall clock, and does not go back.
struct Outages {
    private var closed: [(from: Int64, to: Int64)] = []
    private var open: [Cause: Int64] = [:]

    enum Cause: Hashable {
        case down, fullDisk
    }

    mutating func begin(_ cause: Cause, at time: Int64) {
        if open[cause] == nil { open[cause] = time }
    }

    /// - Parameter time: When it had surely noticed that it can go on.
    mutating func end(_ cause: Cause, at time: Int64) {
        guard let from = open.removeValue(forKey: cause) else { return }
        closed.append((from, time))
    }

    /// The daemon has come back. What a crash undid takes the hub's clock back, and an outage that goes on covers that span
    /// as well.
    mutating func recovered(at time: Int64) {
        open = open.mapValues { min($0, time) }
        end(.down, at: time)
    }

    mutating func jump(from: Int64, to: Int64) {
        if to > from { closed.append((from, to)) }
    }

    /// The moment by which work that was due at `due` must have been decided, not counting the time of the decision.
    ///
    /// - Parameter reach: Milliseconds from the due time of a decision until it is durable. An outage that begins
    ///   within them may undo it.
    func excused(_ due: Int64, reach: Int64) -> Int64 {
        if !open.isEmpty, let from = open.values.min(), from <= due + reach { return .max - reach }
        var time = due
        var isMoving = true
        while isMoving {
            isMoving = false
            for outage in closed where outage.from <= time + reach && outage.to > time {
                time = outage.to
                isMoving = true
            }
        }
        return time
    }
}
