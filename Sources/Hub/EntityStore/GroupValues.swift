internal import TelltaleModel

/// The values that one parameter has in the groups of activities. The gallery offers the first ones.
///
/// These are kept up by each group that comes and goes, because there may be 65,536 groups. Where so many of the first
/// ones go that too few are known, the next question finds them again.
struct GroupValues: Sendable {
    /// As many as a gallery tells, and as many again, so that those that go are made up for.
    static let keptCount = 128

    let parameter: String
    /// Of the parameters of its kind it is the only one: each group has a value of its own.
    private let isAlone: Bool
    /// How many groups have each value; of the only parameter it is one each, and they are not counted.
    private var counts: [String: Int32] = [:]
    private(set) var total = 0
    /// The first values, by their bytes.
    private(set) var first: [String] = []

    init(of parameter: String, isAlone: Bool) { (self.parameter, self.isAlone) = (parameter, isAlone) }

    /// Too few of the first values are known.
    var isIncomplete: Bool { first.count < min(total, Self.keptCount / 2) }

    /// Counts a group with this configuration once more or once less.
    mutating func count(_ configuration: JSON, by difference: Int32) {
        guard let value = configuration[parameter]?.string else { return }
        if !isAlone {
            let former = counts[value] ?? 0
            let count = former + difference
            counts[value] = count == 0 ? nil : count
            guard (former == 0) != (count == 0) else { return }
        }
        let place = Self.place(of: value, in: first)
        if difference > 0 {
            // Behind the last known one there may be others before it.
            let isNext = place < first.count || first.count == total
            total += 1
            guard isNext, place < Self.keptCount else { return }
            first.insert(value, at: place)
            if first.count > Self.keptCount { first.removeLast() }
        } else {
            total -= 1
            if place < first.count, first[place] == value { first.remove(at: place) }
        }
    }

    mutating func forgetFirst() { first = [] }

    /// Finds the first values anew: is told those of all groups, after ``forgetFirst()``.
    mutating func findFirst(_ value: String) {
        let place = Self.place(of: value, in: first)
        guard place < Self.keptCount, place == first.count || first[place] != value else { return }
        first.insert(value, at: place)
        if first.count > Self.keptCount { first.removeLast() }
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
