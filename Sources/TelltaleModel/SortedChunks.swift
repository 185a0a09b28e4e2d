/// Sorted elements without duplicates, possibly a hundred thousand.
///
/// They are stored in chunks, so an insertion or removal moves at most one chunk, and the first and last elements are found at
/// once. The caller passes the same order to each call; `Comparable` elements use their own.
public struct SortedChunks<Element: Sendable>: Sendable {
    @usableFromInline var elementCount = 0
    /// Sorted within and across chunks; no chunk is empty.
    @usableFromInline var chunks: [[Element]] = []

    @inlinable static var chunkLimit: Int { 256 }

    @inlinable public init() {}

    @inlinable public var count: Int { elementCount }
    @inlinable public var isEmpty: Bool { chunks.isEmpty }

    /// All elements, in order.
    @inlinable public var elements: some Sequence<Element> { chunks.lazy.joined() }

    /// - Complexity: O(limit)
    @inlinable
    public func first(_ limit: Int) -> [Element] {
        var found: [Element] = []
        for chunk in chunks {
            guard found.count < limit else { break }
            found += chunk.prefix(limit - found.count)
        }
        return found
    }

    /// The last elements, in descending order.
    ///
    /// - Complexity: O(limit)
    @inlinable
    public func last(_ limit: Int) -> [Element] {
        var found: [Element] = []
        for chunk in chunks.reversed() {
            guard found.count < limit else { break }
            found += chunk.reversed().prefix(limit - found.count)
        }
        return found
    }

    /// How many elements precede `element`, which need not be present; `nil` if there are `limit` or more.
    ///
    /// - Complexity: O(limit / 128 + log n)
    @inlinable
    public func position(of element: Element, within limit: Int, by precedes: (Element, Element) -> Bool) -> Int? {
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

    /// Whether an element equal to `element` is present.
    @inlinable
    public func contains(_ element: Element, by precedes: (Element, Element) -> Bool) -> Bool {
        guard !chunks.isEmpty else { return false }
        let sorted = chunks[chunk(of: element, by: precedes)]
        let place = Self.place(of: element, in: sorted, by: precedes)
        return place < sorted.count && !precedes(element, sorted[place])
    }

    /// - Precondition: No equal element is present.
    @inlinable
    public mutating func insert(_ element: Element, by precedes: (Element, Element) -> Bool) {
        elementCount += 1
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

    /// Removes the element that is equal to `element`, if present.
    @inlinable
    public mutating func remove(_ element: Element, by precedes: (Element, Element) -> Bool) {
        guard !chunks.isEmpty else { return }
        let index = chunk(of: element, by: precedes)
        let place = Self.place(of: element, in: chunks[index], by: precedes)
        guard place < chunks[index].count, !precedes(element, chunks[index][place]) else { return }
        elementCount -= 1
        chunks[index].remove(at: place)
        if chunks[index].isEmpty { chunks.remove(at: index) }
    }

    /// The last chunk that begins at or before `element`, else the first one.
    @inlinable
    func chunk(of element: Element, by precedes: (Element, Element) -> Bool) -> Int {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(element, chunks[middle][0]) { high = middle } else { low = middle + 1 }
        }
        return max(0, low - 1)
    }

    /// The position of an element among sorted ones, or where it would be inserted.
    @inlinable
    static func place(
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
    /// - Precondition: No equal element is present.
    @inlinable
    public mutating func insert(_ element: Element) { insert(element, by: <) }

    @inlinable
    public func contains(_ element: Element) -> Bool { contains(element, by: <) }

    /// Removes the element that is equal to `element`, if present.
    @inlinable
    public mutating func remove(_ element: Element) { remove(element, by: <) }
}
