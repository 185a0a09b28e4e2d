internal import Kinds
internal import TelltaleModel

/// The faults of one file, in the order in which they are found.
final class ScenarioFaults {
    private(set) var texts: [String] = []

    func add(_ path: String, _ what: String) { texts.append("\(path) \(what)") }
}

/// Reads one object of a scenario file, member by member, and knows its place in the file.
///
/// A wrong member is noted in ``faults`` and read as if it were absent, so that one reading finds every fault of a file.
/// A member that was not read when ``finish()`` is called is unknown, and a fault.
struct ScenarioReader {
    let path: String
    let faults: ScenarioFaults
    private let object: JSONObject
    private var known: [String] = []

    /// - Returns: `nil` after noting that `json` is no object.
    init?(_ json: JSON, at path: String, _ faults: ScenarioFaults) {
        guard let object = json.object else {
            faults.add(path, "takes an object: write { … }")
            return nil
        }
        self.object = object
        self.path = path
        self.faults = faults
    }

    /// Notes a fault of a member.
    func fault(_ name: String, _ what: String) { faults.add("\(path).\(name)", what) }

    /// Notes a fault of the object as a whole.
    func fault(_ what: String) { faults.add(path, what) }

    var members: JSONObject { object }

    mutating func readValue(_ name: String) -> JSON? {
        known.append(name)
        return object[name]
    }

    func has(_ name: String) -> Bool { object[name] != nil }

    /// The member as `read` understands it; `nil` where it is absent, and where it is wrong and `advice` was noted.
    private mutating func member<Value>(_ name: String, _ advice: String, _ read: (JSON) -> Value?) -> Value? {
        guard let json = readValue(name) else { return nil }
        guard let value = read(json) else {
            fault(name, advice)
            return nil
        }
        return value
    }

    mutating func text(_ name: String) -> String? {
        member(name, "takes a text") { json in json.string.flatMap { $0.isEmpty ? nil : $0 } }
    }

    /// - Returns: `nil` after noting that the text is missing or wrong.
    mutating func needText(_ name: String) -> String? { isThere(name, "a text") ? text(name) : nil }

    /// Notes a member that is missing, and what it takes.
    private mutating func isThere(_ name: String, _ what: String) -> Bool {
        if has(name) { return true }
        known.append(name)
        fault(name, "is missing: it takes \(what)")
        return false
    }

    mutating func flag(_ name: String) -> Bool? { member(name, "takes true or false", \.bool) }

    mutating func count(_ name: String, _ range: ClosedRange<Int>) -> Int? {
        member(name, "takes a whole number from \(range.lowerBound) to \(range.upperBound)") { json in
            json.integer.flatMap { range.contains(Int($0)) ? Int($0) : nil }
        }
    }

    mutating func rate(_ name: String) -> Double? {
        member(name, "takes a number of events a second, above 0") { json in
            json.double.flatMap { $0 > 0 && $0 <= 1_000_000 ? $0 : nil }
        }
    }

    /// A duration such as `250ms`, `30s` or `5m`, in milliseconds; at most a year.
    mutating func span(_ name: String) -> Int64? {
        member(name, "takes a duration such as \"250ms\", \"30s\" or \"5m\"") { json in
            guard let text = json.string, let span = Milliseconds(duration: text), span.count <= 365 * 86_400_000 else {
                return nil
            }
            return span.count
        }
    }

    private static let aKey = "a key such as \"coffee-order/1042\""

    mutating func key(_ name: String) -> String? {
        member(name, "takes \(Self.aKey)") { json in
            json.string.flatMap { Key($0) }?.text
        }
    }

    /// - Returns: `nil` after noting that the key is missing or wrong.
    mutating func needKey(_ name: String) -> String? { isThere(name, Self.aKey) ? key(name) : nil }

    mutating func texts(_ name: String) -> [String]? {
        member(name, "takes an array of texts") { json in
            let texts = json.array?.compactMap(\.string)
            return texts?.count == json.array?.count ? texts : nil
        }
    }

    mutating func tail(_ name: String) -> JSONObject? { member(name, "takes an object", \.object) }

    /// The object under a name, as a reader of its own.
    mutating func inner(_ name: String) -> ScenarioReader? {
        readValue(name).flatMap { ScenarioReader($0, at: "\(path).\(name)", faults) }
    }

    /// The objects of an array under a name, as readers of their own.
    mutating func list(_ name: String) -> [ScenarioReader] {
        guard let array = member(name, "takes an array: write [ … ]", \.array) else { return [] }
        return array.enumerated().compactMap { index, element in
            ScenarioReader(element, at: "\(path).\(name)[\(index)]", faults)
        }
    }

    /// Notes every member that was not read.
    func finish() {
        let names = known.filter { $0 != "$schema" }.joined(separator: ", ")
        for member in object where !known.contains(member.name) {
            fault(member.name, "is unknown; there are \(names)")
        }
    }
}

/// Both, where both are there. The two readings note their faults in any case.
func both<First, Second>(_ first: First?, _ second: Second?) -> (First, Second)? {
    guard let first, let second else { return nil }
    return (first, second)
}

extension Scenario.Fault {
    init(at path: String, _ what: String) {
        self.init(description: "\(path) \(what)")
    }
}
