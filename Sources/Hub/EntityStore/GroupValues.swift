internal import TelltaleModel

/// The values that one parameter has in the groups of activities, by their bytes. The gallery offers the first ones.
///
/// There may be 65,536 groups, so the values stand in chunks: one that comes or goes moves a chunk at most, and the first
/// ones are known at any time.
struct GroupValues: Sendable {
    let parameter: String
    /// Of the parameters of its kind it is the only one: each group has a value of its own.
    private let isAlone: Bool
    /// How many groups have each value; of the only parameter it is one each, and they are not counted.
    private var counts: [String: Int32] = [:]
    private(set) var total = 0
    /// Sorted, each and together; none is empty.
    private var chunks: [[String]] = []

    private static let chunkLimit = 256

    init(of parameter: String, isAlone: Bool) { (self.parameter, self.isAlone) = (parameter, isAlone) }

    /// The first `limit` values.
    func first(_ limit: Int) -> [String] {
        var first: [String] = []
        for chunk in chunks {
            guard first.count < limit else { break }
            first += chunk.prefix(limit - first.count)
        }
        return first
    }

    /// Counts a group with this configuration once more or once less.
    mutating func count(_ configuration: JSON, by difference: Int32) {
        guard let value = configuration[parameter]?.string else { return }
        if !isAlone {
            let former = counts[value] ?? 0
            let count = former + difference
            counts[value] = count == 0 ? nil : count
            guard (former == 0) != (count == 0) else { return }
        }
        if difference > 0 { insert(value) } else { remove(value) }
    }

    private mutating func insert(_ value: String) {
        total += 1
        guard !chunks.isEmpty else {
            chunks = [[value]]
            return
        }
        let index = chunk(of: value)
        chunks[index].insert(value, at: Self.place(of: value, in: chunks[index]))
        guard chunks[index].count > Self.chunkLimit else { return }
        let half = chunks[index].count / 2
        chunks.insert(Array(chunks[index][half...]), at: index + 1)
        chunks[index].removeLast(chunks[index].count - half)
    }

    private mutating func remove(_ value: String) {
        guard !chunks.isEmpty else { return }
        let index = chunk(of: value)
        let place = Self.place(of: value, in: chunks[index])
        guard place < chunks[index].count, chunks[index][place] == value else { return }
        total -= 1
        chunks[index].remove(at: place)
        if chunks[index].isEmpty { chunks.remove(at: index) }
    }

    /// The last chunk that begins at `value` or before it, else the first one.
    private func chunk(of value: String) -> Int {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if value.utf8.lexicographicallyPrecedes(chunks[middle][0].utf8) { high = middle } else { low = middle + 1 }
        }
        return max(0, low - 1)
    }

    /// Where a value stands, or would stand, among sorted ones.
    private static func place(of value: String, in sorted: [String]) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle].utf8.lexicographicallyPrecedes(value.utf8) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
