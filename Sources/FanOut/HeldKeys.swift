internal import HeapModule
internal import TelltaleModel

/// The keys of one subscription that `rate=` delays, and those whose delay has ended but that have not been sent.
///
/// A subscriber of every key at one row a second has thousands of delayed keys, and each row that it is sent needs the
/// oldest commit among them. Reading that is O(1); delaying a key, releasing it and removing it are O(log n),
/// amortised.
struct HeldKeys: Sendable {
    /// A key, ordered by the first commit that its reader lacks.
    struct Place: Comparable, Sendable {
        let commit: Int64
        let raw: Int32

        static func < (left: Place, right: Place) -> Bool { (left.commit, left.raw) < (right.commit, right.raw) }
    }

    /// A key, ordered by the time from which it may be sent.
    private struct Delay: Comparable, Sendable {
        let time: MonotonicTime
        let place: Place

        static func < (left: Delay, right: Delay) -> Bool { (left.time, left.place) < (right.time, right.place) }
    }

    private var delays = Heap<Delay>()
    private var released = Heap<Place>()
    /// The places of all `delays`, and of some that have ended. A heap removes only its first element, and delays end
    /// in another order than that of their commits.
    private var places = Heap<Place>()
    /// The elements of `places` whose delay has ended. While both heaps have the same first element, it is removed from
    /// both.
    private var ended = Heap<Place>()

    /// The number of ended delays that may stay whatever the number of active ones, so that a few keys do not rebuild
    /// the heap all the time.
    private static let spareCount = 32

    var isEmpty: Bool { delays.isEmpty && released.isEmpty }

    /// The time at which the next delay ends.
    var nextRelease: MonotonicTime? { delays.min?.time }

    /// The oldest first commit of all keys, delayed or released.
    var oldestCommit: Int64? {
        guard let delayed = places.min?.commit else { return released.min?.commit }
        return released.min.map { min($0.commit, delayed) } ?? delayed
    }

    /// The key that is sent next: of the released ones, the one with the oldest first commit.
    var firstReleased: Place? { released.min }

    /// The approximate memory of all keys, in bytes.
    var byteCount: Int {
        MemoryLayout<Delay>.stride * delays.count
            + MemoryLayout<Place>.stride * (released.count + places.count + ended.count)
    }

    /// Delays a key that is not present until `time`.
    mutating func insert(_ place: Place, until time: MonotonicTime) {
        delays.insert(Delay(time: time, place: place))
        places.insert(place)
    }

    /// Ends every delay whose time is `time` or earlier.
    mutating func release(at time: MonotonicTime) {
        guard let first = delays.min, first.time <= time else { return }
        while let next = delays.min, next.time <= time {
            delays.removeMin()
            released.insert(next.place)
            ended.insert(next.place)
        }
        removeEnded()
    }

    mutating func removeFirstReleased() { released.removeMin() }

    private mutating func removeEnded() {
        guard ended.count <= delays.count + Self.spareCount else {
            // A single long delay keeps every place that ended after it, so the heap is rebuilt.
            places = Heap(delays.unordered.map(\.place))
            ended = Heap()
            return
        }
        while let first = ended.min, first == places.min {
            ended.removeMin()
            places.removeMin()
        }
    }
}
