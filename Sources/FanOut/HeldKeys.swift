internal import HeapModule

/// The keys of one subscription that `rate=` holds back, and those of them that may leave again.
///
/// Who follows everything there is at one row a second has thousands of them, and each row that leaves asks for the
/// oldest commit of them all: that is O(1), and holding a key back, letting it go and taking it out are O(log n),
/// amortised.
struct HeldKeys: Sendable {
    /// A key by the first commit that its reader lacks.
    struct Place: Comparable, Sendable {
        let commit: Int64
        let raw: Int32

        static func < (left: Place, right: Place) -> Bool { (left.commit, left.raw) < (right.commit, right.raw) }
    }

    /// A key by the moment from which it may leave.
    private struct Delay: Comparable, Sendable {
        let time: Int64
        let place: Place

        static func < (left: Delay, right: Delay) -> Bool { (left.time, left.place) < (right.time, right.place) }
    }

    private var delays = Heap<Delay>()
    private var released = Heap<Place>()
    /// The places of all `delays`, and those of some that are over: a heap gives up its first element alone, and these
    /// end in another order than theirs.
    private var places = Heap<Place>()
    /// Which of `places` are over. Where its first is the first of `places` too, both go.
    private var over = Heap<Place>()

    /// So many delays that are over may be kept whatever there is, so that a few keys are not sorted all the time.
    private static let spareCount = 32

    var isEmpty: Bool { delays.isEmpty && released.isEmpty }

    /// When the next key may leave.
    var nextRelease: Int64? { delays.min?.time }

    /// The oldest first commit of all keys.
    var oldestCommit: Int64? {
        guard let delayed = places.min?.commit else { return released.min?.commit }
        return released.min.map { min($0.commit, delayed) } ?? delayed
    }

    /// The key that leaves next: of those that may, the one that has been missing for longest.
    var firstReleased: Place? { released.min }

    /// What all of it takes in memory: about so much for each key, whatever has happened.
    var byteCount: Int {
        MemoryLayout<Delay>.stride * delays.count
            + MemoryLayout<Place>.stride * (released.count + places.count + over.count)
    }

    /// Holds a key back that is not here.
    mutating func insert(_ place: Place, until time: Int64) {
        delays.insert(Delay(time: time, place: place))
        places.insert(place)
    }

    /// Lets go what was held back until `time` or before.
    mutating func release(at time: Int64) {
        guard let first = delays.min, first.time <= time else { return }
        while let next = delays.min, next.time <= time {
            delays.removeMin()
            released.insert(next.place)
            over.insert(next.place)
        }
        forgetOver()
    }

    mutating func removeFirstReleased() { released.removeMin() }

    private mutating func forgetOver() {
        guard over.count <= delays.count + Self.spareCount else {
            // One that is held back for long keeps all that ended behind it.
            places = Heap(delays.unordered.map(\.place))
            over = Heap()
            return
        }
        while let first = over.min, first == places.min {
            over.removeMin()
            places.removeMin()
        }
    }
}
