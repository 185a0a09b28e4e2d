/// Sorted elements, each of which is there once: there may be a hundred thousand.
///
/// They stand in chunks, so one that comes or goes moves a chunk at most, and the first and the last ones are known at any time.
/// The caller gives the order with each call, always the same one; elements that are `Comparable` have their own.
struct SortedChunks<Element: Sendable>: Sendable {
    private(set) var count = 0
    /// Sorted, each and together; none is empty.
    private var chunks: [[Element]] = []

    private static var chunkLimit: Int { 256 }

    var isEmpty: Bool { chunks.isEmpty }

    /// All elements, in order.
    var elements: some Sequence<Element> { chunks.lazy.joined() }

    /// - Complexity: O(limit)
    func first(_ limit: Int) -> [Element] {
        var found: [Element] = []
        for chunk in chunks {
            guard found.count < limit else { break }
            found += chunk.prefix(limit - found.count)
        }
        return found
    }

    /// The last ones, from the end.
    ///
    /// - Complexity: O(limit)
    func last(_ limit: Int) -> [Element] {
        var found: [Element] = []
        for chunk in chunks.reversed() {
            guard found.count < limit else { break }
            found += chunk.reversed().prefix(limit - found.count)
        }
        return found
    }

    /// How many elements precede `element`, which need not be there; `nil` if there are `limit` or more.
    ///
    /// - Complexity: O(limit / 128 + log n)
    func position(of element: Element, within limit: Int, by precedes: (Element, Element) -> Bool) -> Int? {
        var before = 0
        for chunk in chunks {
            guard before < limit else { return nil }
            if precedes(chunk[chunk.count - 1], element) {
                before += chunk.count
                continue
            }
            before += Self.place(of: element, in: chunk, by: precedes)
            break
        }
        return before < limit ? before : nil
    }

    /// - Precondition: Nothing that is equal to `element` is there.
    mutating func insert(_ element: Element, by precedes: (Element, Element) -> Bool) {
        count += 1
        guard !chunks.isEmpty else {
            chunks = [[element]]
            return
        }
        let index = chunk(of: element, by: precedes)
        let place = Self.place(of: element, in: chunks[index], by: precedes)
        chunks[index].insert(element, at: place)
        guard chunks[index].count > Self.chunkLimit else { return }
        let half = chunks[index].count / 2
        chunks.insert(Array(chunks[index][half...]), at: index + 1)
        chunks[index].removeLast(chunks[index].count - half)
    }

    /// Takes out what is equal to `element`, where it is there.
    mutating func remove(_ element: Element, by precedes: (Element, Element) -> Bool) {
        guard !chunks.isEmpty else { return }
        let index = chunk(of: element, by: precedes)
        let place = Self.place(of: element, in: chunks[index], by: precedes)
        guard place < chunks[index].count, !precedes(element, chunks[index][place]) else { return }
        count -= 1
        chunks[index].remove(at: place)
        if chunks[index].isEmpty { chunks.remove(at: index) }
    }

    /// The last chunk that begins at `element` or before it, else the first one.
    private func chunk(of element: Element, by precedes: (Element, Element) -> Bool) -> Int {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(element, chunks[middle][0]) { high = middle } else { low = middle + 1 }
        }
        return max(0, low - 1)
    }

    /// Where an element stands, or would stand, among sorted ones.
    private static func place(
        of element: Element, in sorted: [Element], by precedes: (Element, Element) -> Bool
    ) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(sorted[middle], element) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension SortedChunks where Element: Comparable {
    /// - Precondition: Nothing that is equal to `element` is there.
    mutating func insert(_ element: Element) { insert(element, by: <) }

    /// Takes out what is equal to `element`, where it is there.
    mutating func remove(_ element: Element) { remove(element, by: <) }
}
