/// The requests that reload every widget of a kind, and the records that they left.
///
/// Each of them reloads each key once, however many batches it takes. One that was refused, or whose connection was lost, has
/// reloaded some of the keys.
struct ReferenceReloads {
    private struct Walk {
        /// The newest commit when it was sent, and when its answer was read.
        var begun: Int64
        var ended: Int64?
    }

    private var walks: [Walk] = []
    private var records: [String: [Int64]] = [:]

    /// - Returns: The number of the request.
    mutating func begin(at sequence: Int64) -> Int {
        walks.append(Walk(begun: sequence))
        return walks.count - 1
    }

    mutating func end(_ number: Int, at sequence: Int64) { walks[number].ended = sequence }

    /// A record of `type=reload` of a key became durable.
    mutating func note(_ key: String, at sequence: Int64) { records[key, default: []].append(sequence) }

    /// The fault of the records of each of `keys`, if they have one.
    func fault(of keys: [String]) -> String? {
        for key in keys {
            if let fault = fault(of: records[key] ?? []) { return "\(key) \(fault)" }
        }
        return nil
    }

    /// - Parameter records: Of one key, in their order.
    private func fault(of records: [Int64]) -> String? {
        var left = records
        let whole = walks.compactMap { walk in walk.ended.map { (begun: walk.begun, ended: $0) } }
        // The walk that ends first takes the first record of its time.
        for walk in whole.sorted(by: { $0.ended < $1.ended }) {
            guard let place = left.firstIndex(where: { walk.begun < $0 && $0 <= walk.ended }) else {
                return "was left out by a reload of all between \(walk.begun) and \(walk.ended)"
            }
            left.remove(at: place)
        }
        var broken = walks.filter { $0.ended == nil }.map(\.begun).sorted()
        for record in left.sorted() {
            guard let first = broken.first, first < record else { return "was reloaded once too often, at \(record)" }
            broken.removeFirst()
        }
        return nil
    }
}
