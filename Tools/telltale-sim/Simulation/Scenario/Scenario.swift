public import Model

/// A named world: who is in it, what goes wrong, and what must come of it (`Protocols/Scenarios`).
public struct Scenario: Sendable {
    public var name: String
    public var title: String
    public var about: String
    public var climate: Climate
    /// What must have happened at least so often, by the names of a report.
    public var expectations: [(what: String, least: Int)]

    /// What is wrong with a scenario file.
    public struct Fault: Error, CustomStringConvertible {
        public var description: String

        public init(description: String) {
            self.description = description
        }
    }

    /// - Parameter name: The file's, without its ending.
    public init(_ json: JSON, name: String) throws(Fault) {
        guard let object = json.object else { throw Fault(description: "\(name): takes an object") }
        guard let title = object["title"]?.string else { throw Fault(description: "\(name): title is missing") }
        self.name = name
        self.title = title
        about = object["about"]?.string ?? ""
        let seed = object["seed"]?.integer ?? 1
        climate = Climate(calmWithSeed: UInt64(bitPattern: seed))
        climate.startsFull = object["startsFull"]?.bool ?? false
        expectations = []
        for member in object {
            switch member.name {
            case "$schema", "title", "about", "seed", "startsFull": break
            case "population", "faults": try read(member.value, group: member.name)
            case "expect": try readExpectations(member.value)
            case _:
                throw Fault(
                    description:
                        "\(name): \(member.name) is unknown; there are title, about, seed, startsFull, population, faults, expect"
                )
            }
        }
    }

    private mutating func read(_ json: JSON, group: String) throws(Fault) {
        guard let object = json.object else { throw Fault(description: "\(name): \(group) takes an object") }
        for member in object {
            guard let knob = Climate.knobs.first(where: { $0.name == member.name && $0.group.rawValue == group }) else {
                let known = Climate.knobs.filter { $0.group.rawValue == group }.map(\.name).joined(separator: ", ")
                throw Fault(description: "\(name): \(group).\(member.name) is unknown; there are \(known)")
            }
            guard let value = member.value.integer, knob.range.contains(Int(value)) else {
                throw Fault(
                    description:
                        "\(name): \(group).\(member.name) takes a whole number from \(knob.range.lowerBound) to \(knob.range.upperBound)"
                )
            }
            knob.set(&climate, Int(value))
        }
    }

    private mutating func readExpectations(_ json: JSON) throws(Fault) {
        guard let object = json.object else { throw Fault(description: "\(name): expect takes an object") }
        for member in object {
            guard SwarmResult.countNames.contains(member.name), let least = member.value.integer else {
                throw Fault(
                    description:
                        "\(name): expect.\(member.name) is none of \(SwarmResult.countNames.joined(separator: ", ")), or no whole number"
                )
            }
            expectations.append((member.name, Int(least)))
        }
    }

    /// What was expected and did not come of it.
    public func unmet(by result: SwarmResult) -> [String] {
        expectations.compactMap { what, least in
            let count = result.count(of: what)
            return count >= least ? nil : "\(what): \(count), and at least \(least) were expected"
        }
    }
}

extension Climate {
    /// Nothing goes wrong in it, but for what is set.
    init(calmWithSeed seed: UInt64) {
        self.init(seed: seed)
        for knob in Self.knobs where knob.group == .faults { knob.set(&self, knob.range.lowerBound) }
        startsFull = false
        snapshotEvery = 1_000
        retention = 300
        inputs = 500
    }
}

extension SwarmResult {
    public static let countNames = [
        "inputs", "crashes", "rows", "folded", "resumes", "resets", "applied", "noop", "duplicate", "stale", "ignored",
        "storage_full", "refused",
    ]

    /// A number of the report by its name; 0 for one that there is not.
    public func count(of name: String) -> Int {
        switch name {
        case "inputs": inputs
        case "crashes": recoveries
        case "rows": rows
        case "folded": folded
        case "resumes": resumes
        case "resets": resets
        case "refused": errors.values.reduce(0, +)
        case _: verdicts[name] ?? errors[name] ?? 0
        }
    }
}
