internal import TelltaleModel

/// The values of one parameter in the groups of activities, in byte order. The gallery offers the first ones.
///
/// There may be 65,536 groups; the first values are available without a scan.
struct GroupValues: Sendable {
    let parameter: String
    /// It is the only parameter of its kind, so each group has a distinct value.
    private let isAlone: Bool
    /// The number of groups with each value. Not used for the only parameter, where it is always one.
    private var counts: [Value: Int32] = [:]
    private var values = SortedChunks<Value>()

    /// Compared by bytes: texts that Unicode considers equal may be values of different groups.
    private struct Value: Comparable, Hashable {
        let text: String

        static func == (left: Value, right: Value) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
        static func < (left: Value, right: Value) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
        func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
    }

    init(of parameter: String, isAlone: Bool) { (self.parameter, self.isAlone) = (parameter, isAlone) }

    /// The number of distinct values.
    var total: Int { values.count }

    /// The first `limit` values.
    func first(_ limit: Int) -> [String] { values.first(limit).map(\.text) }

    /// Adds a group with this configuration to the counts, or subtracts it.
    mutating func count(_ configuration: JSON, by difference: Int32) {
        guard let value = configuration[parameter]?.string.map(Value.init) else { return }
        if !isAlone {
            let former = counts[value] ?? 0
            let count = former + difference
            counts[value] = count == 0 ? nil : count
            guard (former == 0) != (count == 0) else { return }
        }
        if difference > 0 { values.insert(value) } else { values.remove(value) }
    }
}
