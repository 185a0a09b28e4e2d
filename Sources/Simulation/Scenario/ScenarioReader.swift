internal import Kinds
internal import TelltaleModel

/// Reads one object of a scenario file, member by member, and knows its place in the file.
///
/// A member that was not read when ``finish()`` is called is unknown, and an error.
struct ScenarioReader {
    let path: String
    private let object: JSONObject
    private var known: [String] = []

    init(_ json: JSON, at path: String) throws(Scenario.Fault) {
        guard let object = json.object else { throw Scenario.Fault(at: path, "takes an object: write { … }") }
        self.object = object
        self.path = path
    }

    func fault(_ name: String, _ what: String) -> Scenario.Fault { Scenario.Fault(at: "\(path).\(name)", what) }

    var members: JSONObject { object }

    mutating func take(_ name: String) -> JSON? {
        known.append(name)
        return object[name]
    }

    func has(_ name: String) -> Bool { object[name] != nil }

    mutating func text(_ name: String) throws(Scenario.Fault) -> String? {
        guard let json = take(name) else { return nil }
        guard let text = json.string, !text.isEmpty else { throw fault(name, "takes a text") }
        return text
    }

    mutating func needText(_ name: String) throws(Scenario.Fault) -> String {
        guard let text = try text(name) else { throw fault(name, "is missing: it takes a text") }
        return text
    }

    mutating func flag(_ name: String) throws(Scenario.Fault) -> Bool? {
        guard let json = take(name) else { return nil }
        guard let flag = json.bool else { throw fault(name, "takes true or false") }
        return flag
    }

    mutating func count(_ name: String, _ range: ClosedRange<Int>) throws(Scenario.Fault) -> Int? {
        guard let json = take(name) else { return nil }
        guard let count = json.integer, range.contains(Int(count)) else {
            throw fault(name, "takes a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(count)
    }

    mutating func rate(_ name: String) throws(Scenario.Fault) -> Double? {
        guard let json = take(name) else { return nil }
        guard let rate = json.double, rate > 0, rate <= 1_000_000 else {
            throw fault(name, "takes a number of events a second, above 0")
        }
        return rate
    }

    /// A duration such as `250ms`, `30s` or `5m`.
    mutating func span(_ name: String) throws(Scenario.Fault) -> Int64? {
        guard let json = take(name) else { return nil }
        guard let text = json.string, let span = Milliseconds(duration: text), span.count <= 365 * 86_400_000 else {
            throw fault(name, "takes a duration such as \"250ms\", \"30s\" or \"5m\"")
        }
        return span.count
    }

    mutating func key(_ name: String) throws(Scenario.Fault) -> String? {
        guard let json = take(name) else { return nil }
        guard let key = json.string.flatMap({ Key($0) }) else {
            throw fault(name, "takes a key such as \"coffee-order/1042\"")
        }
        return key.text
    }

    mutating func texts(_ name: String) throws(Scenario.Fault) -> [String]? {
        guard let json = take(name) else { return nil }
        guard let texts = json.array?.compactMap(\.string), texts.count == json.array?.count else {
            throw fault(name, "takes an array of texts")
        }
        return texts
    }

    mutating func tail(_ name: String) throws(Scenario.Fault) -> JSONObject? {
        guard let json = take(name) else { return nil }
        guard let object = json.object else { throw fault(name, "takes an object") }
        return object
    }

    /// The object under a name, as a reader of its own.
    mutating func inner(_ name: String) throws(Scenario.Fault) -> ScenarioReader? {
        guard let json = take(name) else { return nil }
        return try ScenarioReader(json, at: "\(path).\(name)")
    }

    /// The objects of an array under a name, as readers of their own.
    mutating func list(_ name: String) throws(Scenario.Fault) -> [ScenarioReader] {
        guard let json = take(name) else { return [] }
        guard let array = json.array else { throw fault(name, "takes an array: write [ … ]") }
        var readers: [ScenarioReader] = []
        for (index, element) in array.enumerated() {
            readers.append(try ScenarioReader(element, at: "\(path).\(name)[\(index)]"))
        }
        return readers
    }

    /// - Throws: For the first member that was not read.
    func finish() throws(Scenario.Fault) {
        guard let stranger = object.first(where: { !known.contains($0.name) }) else { return }
        throw fault(stranger.name, "is unknown; there are \(known.filter { $0 != "$schema" }.joined(separator: ", "))")
    }
}

extension Scenario.Fault {
    init(at path: String, _ what: String) {
        self.init(description: "\(path) \(what)")
    }
}
