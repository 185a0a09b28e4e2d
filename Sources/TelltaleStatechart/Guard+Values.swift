internal import TelltaleModel

/// The state of a machine for a guard outside it.
public struct GuardSubject: Sendable {
    var values: MachineValues
    /// The life-cycle state of the activity; `nil` without an activity.
    var lifecycle: String?
    /// Its machine; `nil` if there is none.
    var machine: (instance: MachineInstance, statechart: Statechart)?
    /// The active states, where they are known without a machine.
    var activeStates: Set<String>?
}

extension GuardSubject {
    /// The machine `instance` of an activity in the life-cycle state `lifecycle`.
    public init(_ values: MachineValues, lifecycle: String, _ instance: MachineInstance, in statechart: Statechart) {
        self.init(values: values, lifecycle: lifecycle, machine: (instance, statechart))
    }

    /// An activity without known values in these states, by their keys and paths.
    public init(activeStates: [String], lifecycle: String?) {
        self.init(
            values: MachineValues(attributes: .null, content: .null), lifecycle: lifecycle, machine: nil,
            activeStates: Set(activeStates))
    }

    /// Whether any of these states, by their keys or paths, is active; `false` without a machine.
    public func isActive(anyOf names: [String]) -> Bool { names.contains { isActive($0) ?? false } }

    /// Whether a state of this key or path is active, or is an innermost active one.
    fileprivate func isActive(_ name: String, amongLeaves: Bool = false) -> Bool? {
        guard let (instance, statechart) = machine else { return amongLeaves ? nil : activeStates?.contains(name) }
        let states = amongLeaves ? instance.leaves(in: statechart) : instance.configuration(in: statechart)
        return states.contains { state in
            statechart.states[state.rawValue].key == name || statechart.states[state.rawValue].path == name
        }
    }
}

extension Guard {
    /// Whether it holds without a machine, for example for a delivery. No state is active then.
    ///
    /// - Returns: `nil` if it is undecided: a path leads nowhere, values without an order are compared, or it tests a
    ///   state.
    public func holds(for values: MachineValues) -> Bool? {
        Self.holds(expression, GuardSubject(values: values, lifecycle: nil, machine: nil))
    }

    /// Whether it holds for an activity.
    ///
    /// - Returns: `nil` if it is undecided: a path leads nowhere, or values without an order are compared.
    public func holds(for subject: GuardSubject) -> Bool? { Self.holds(expression, subject) }

    private static func holds(_ expression: GuardExpression, _ subject: GuardSubject) -> Bool? {
        func value(of operand: GuardOperand) -> JSON? { self.value(of: operand, subject) }
        func isLeaf(_ operand: GuardOperand) -> Bool? {
            guard let name = value(of: operand) else { return nil }
            return name.string.map { subject.isActive($0, amongLeaves: true) } ?? false
        }
        switch expression {
        case .any(let parts):
            let results = parts.map { holds($0, subject) }
            return results.contains(true) ? true : results.contains(nil) ? nil : false
        case .all(let parts):
            let results = parts.map { holds($0, subject) }
            return results.contains(false) ? false : results.contains(nil) ? nil : true
        case .not(let part): return holds(part, subject).map { !$0 }
        case .isActive(let name): return subject.isActive(name)
        case .isTrue(let operand): return value(of: operand)?.bool
        case .compares(.state, let comparison, let name), .compares(let name, let comparison, .state):
            return isLeaf(name).map { comparison == .equal ? $0 : !$0 }
        case .compares(let left, let comparison, let right):
            guard let left = value(of: left), let right = value(of: right) else { return nil }
            return comparison.holds(left, right)
        case .isOneOf(.state, let list):
            let results = list.map { isLeaf($0) }
            return results.contains(true) ? true : results.contains(nil) ? nil : false
        case .isOneOf(let operand, let list):
            guard let known = value(of: operand) else { return nil }
            let results = list.map { element in value(of: element).map { $0 == known } }
            return results.contains(true) ? true : results.contains(nil) ? nil : false
        }
    }

    private static func value(of operand: GuardOperand, _ subject: GuardSubject) -> JSON? {
        switch operand {
        case .literal(let literal): literal
        case .path(let path): path.value(in: subject.values)
        case .lifecycle: subject.lifecycle.map { .string($0) }
        case .state: nil
        }
    }
}
