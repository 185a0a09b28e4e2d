internal import TelltaleModel

extension Guard {
    /// Whether it holds where there is no machine, so that no state is active: of a delivery, say, rather than of an activity.
    ///
    /// - Returns: `nil` where it can be told to be neither: a path leads nowhere, what cannot be ordered is compared, or it asks
    ///   for a state.
    public func holds(for values: MachineValues) -> Bool? { Self.holds(expression, values) }

    private static func holds(_ expression: GuardExpression, _ values: MachineValues) -> Bool? {
        switch expression {
        case .any(let parts):
            let results = parts.map { holds($0, values) }
            return results.contains(true) ? true : results.contains(nil) ? nil : false
        case .all(let parts):
            let results = parts.map { holds($0, values) }
            return results.contains(false) ? false : results.contains(nil) ? nil : true
        case .not(let part): return holds(part, values).map { !$0 }
        case .isActive: return nil
        case .isTrue(let operand): return value(of: operand, values)?.bool
        case .compares(let left, let comparison, let right):
            guard let left = value(of: left, values), let right = value(of: right, values) else { return nil }
            return comparison.holds(left, right)
        case .isOneOf(let operand, let list):
            guard let value = value(of: operand, values) else { return nil }
            let results = list.map { element in self.value(of: element, values).map { $0 == value } }
            return results.contains(true) ? true : results.contains(nil) ? nil : false
        }
    }

    private static func value(of operand: GuardOperand, _ values: MachineValues) -> JSON? {
        switch operand {
        case .literal(let literal): literal
        case .path(let path): path.value(in: values)
        case .state: nil
        }
    }
}
