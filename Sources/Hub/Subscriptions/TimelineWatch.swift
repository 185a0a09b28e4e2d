internal import FanOut
internal import HeapModule
internal import TelltaleModel

/// The moments, on the kinds' clock, at which a subscriber has used up the entries of a widget that it was sent.
///
/// They are not recorded: reaching the date of an entry changes nothing. A replaced moment stays until it comes up, and is then
/// skipped.
struct TimelineWatch {
    struct Moment: Comparable {
        var time: Timestamp
        var subscription: SubscriptionIndex
        var entity: EntityIndex

        static func < (left: Moment, right: Moment) -> Bool {
            (left.time, left.subscription.rawValue, left.entity.rawValue)
                < (right.time, right.subscription.rawValue, right.entity.rawValue)
        }
    }

    private var moments = Heap<Moment>()
    private var sweepCount = leastSweep

    private static let leastSweep = 1_024

    var next: Timestamp? { moments.min?.time }
    var count: Int { moments.count }

    mutating func insert(_ time: Timestamp, _ entity: EntityIndex, of subscription: SubscriptionIndex) {
        moments.insert(Moment(time: time, subscription: subscription, entity: entity))
    }

    /// Whether there are twice as many as after the last ``restore(_:)``.
    var isSweepDue: Bool { moments.count >= sweepCount }

    /// Removes and returns all of them, in no order.
    mutating func take() -> [Moment] {
        defer { moments = Heap() }
        return moments.unordered
    }

    mutating func restore(_ kept: [Moment]) {
        moments = Heap(kept)
        sweepCount = max(Self.leastSweep, 2 * kept.count)
    }

    /// Removes and returns the earliest moment at or before `time`.
    mutating func pop(by time: Timestamp) -> Moment? {
        guard let next = moments.min, next.time <= time else { return nil }
        return moments.popMin()
    }
}
