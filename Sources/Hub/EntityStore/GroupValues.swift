internal import TelltaleModel

/// The values that one parameter has in the groups of activities, by their bytes. The gallery offers the first ones.
///
/// There may be 65,536 groups, and the first values are known at any time.
struct GroupValues: Sendable {
    let parameter: String
    /// Of the parameters of its kind it is the only one: each group has a value of its own.
    private let isAlone: Bool
    /// How many groups have each value; of the only parameter it is one each, and they are not counted.
    private var counts: [Value: Int32] = [:]
    private var values = SortedChunks<Value>()

    /// A text as its bytes: texts that are equal to Unicode may be values of different groups.
    private struct Value: Comparable, Hashable {
        let text: String

        static func == (left: Value, right: Value) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
        static func < (left: Value, right: Value) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
        func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
    }

    init(of parameter: String, isAlone: Bool) { (self.parameter, self.isAlone) = (parameter, isAlone) }

    /// How many different values there are.
    var total: Int { values.count }

    /// The first `limit` values.
    func first(_ limit: Int) -> [String] { values.first(limit).map(\.text) }

    /// Counts a group with this configuration once more or once less.
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
