/// The requests that reload every widget of a kind, and the records that they left.
///
/// Each of them reloads each key once, however many batches it takes. One that was refused, or whose connection was lost, has
/// reloaded some of the keys.
struct ReferenceReloads {
    private struct Scan {
        /// The newest commit when it was sent, and when its answer was read.
        var begun: Int64
        var ended: Int64?
    }

    private var scans: [Scan] = []
    private var records: [String: [Int64]] = [:]

    /// - Returns: The number of the request.
    mutating func begin(at sequence: Int64) -> Int {
        scans.append(Scan(begun: sequence))
        return scans.count - 1
    }

    mutating func end(_ number: Int, at sequence: Int64) { scans[number].ended = sequence }

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
        let whole = scans.compactMap { scan in scan.ended.map { (begun: scan.begun, ended: $0) } }
        // The scan that ends first takes the first record of its time.
        for scan in whole.sorted(by: { $0.ended < $1.ended }) {
            guard let place = left.firstIndex(where: { scan.begun < $0 && $0 <= scan.ended }) else {
                return "was left out by a reload of all between \(scan.begun) and \(scan.ended)"
            }
            left.remove(at: place)
        }
        var broken = scans.filter { $0.ended == nil }.map(\.begun).sorted()
        for record in left.sorted() {
            guard let first = broken.first, first < record else { return "was reloaded once too often, at \(record)" }
            broken.removeFirst()
        }
        return nil
    }
}
