internal import HeapModule

/// Things in the order of their times; at one time, in the order in which they were put in.
struct TimedQueue<Element> {
    private struct Entry: Comparable {
        var time: Int64
        var order: Int64
        var element: Element

        static func < (left: Entry, right: Entry) -> Bool { (left.time, left.order) < (right.time, right.order) }
        static func == (left: Entry, right: Entry) -> Bool { left.order == right.order }
    }

    private var heap = Heap<Entry>()
    private var count: Int64 = 0

    mutating func insert(_ element: Element, at time: Int64) {
        count += 1
        heap.insert(Entry(time: time, order: count, element: element))
    }

    var nextTime: Int64? { heap.min?.time }

    /// The next element that is due at `time`.
    mutating func pop(by time: Int64) -> (time: Int64, element: Element)? {
        guard let next = heap.min, next.time <= time else { return nil }
        return heap.popMin().map { ($0.time, $0.element) }
    }
}
