internal import TelltaleModel

/// A condition (Protocols/Kinds/README.md): paths, literals, comparisons, `and or not`, `in [..]`, `in(STATE)`.
///
/// Evaluation is total. A comparison that cannot be made (a path without a value, an ordering of unordered types) is
/// unknown, as in SQL: `not` of unknown is unknown, and `and` and `or` give a value only if the other side decides
/// alone. An unknown guard counts as false and is recorded as a guard error.
///
///     guard      = conjunction *( "or" conjunction )
///     conjunction = negation *( "and" negation )
///     negation   = "not" negation / "(" guard ")" / "in(" STATE ")" / comparison
///     comparison = operand / operand ( "==" / "!=" / "<" / "<=" / ">" / ">=" ) operand
///                / operand "in" "[" operand *( "," operand ) "]"
///     operand    = "state" / path / number / string / "true" / "false" / "null"
///
/// `state` is the key and the path of the innermost active state; in parallel regions, of each of them. A path alone
/// must be a boolean. Strings are in single or double quotes, with JSON's escapes. A guard that selects activities for
/// a widget may read `lifecycle` too, as an operand.
public struct Guard: Hashable, Sendable {
    /// The source text.
    public let text: String
    let expression: GuardExpression

    /// Parses `text`.
    ///
    /// - Parameter knowsLifecycle: Whether `lifecycle` is an operand: the life-cycle state of an activity, in which a
    ///   machine is of no help.
    /// - Throws: ``GuardSyntaxError`` with the expected syntax and the offset.
    public init(_ text: String, knowsLifecycle: Bool = false) throws(GuardSyntaxError) {
        self.text = text
        var parser = GuardParser(text, knowsLifecycle: knowsLifecycle)
        expression = try parser.parse()
    }

    /// The paths that the guard reads, in the order of the text.
    public var paths: [ValuePath] {
        expression.operands.compactMap { if case .path(let path) = $0 { path } else { nil } }
    }

    /// Whether it reads the innermost active states (`state`), whichever they are.
    public var readsLeaves: Bool { expression.operands.contains(.state) }

    /// The states named with `in(STATE)`, in the order of the text.
    public var stateNames: [String] { expression.stateNames }
}

public struct GuardSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Offset in bytes from the start of the text.
    public var offset: Int
    public var expected: String

    public var description: String { "at byte \(offset): expected \(expected)" }
}

/// A parsed guard whose state names are not yet resolved.
indirect enum GuardExpression: Hashable, Sendable {
    case any([GuardExpression])
    case all([GuardExpression])
    case not(GuardExpression)
    case isActive(String)
    case isTrue(GuardOperand)
    case compares(GuardOperand, GuardComparison, GuardOperand)
    case isOneOf(GuardOperand, [GuardOperand])

    var operands: [GuardOperand] {
        switch self {
        case .any(let parts), .all(let parts): parts.flatMap(\.operands)
        case .not(let part): part.operands
        case .isActive: []
        case .isTrue(let operand): [operand]
        case .compares(let left, _, let right): [left, right]
        case .isOneOf(let operand, let list): [operand] + list
        }
    }

    var stateNames: [String] {
        switch self {
        case .any(let parts), .all(let parts): parts.flatMap(\.stateNames)
        case .not(let part): part.stateNames
        case .isActive(let name): [name]
        case .isTrue, .compares, .isOneOf: []
        }
    }
}

enum GuardOperand: Hashable, Sendable {
    case state
    case lifecycle
    case path(ValuePath)
    case literal(JSON)
}

enum GuardComparison: String, Hashable, Sendable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="

    /// The result of the comparison; `nil` if the two values have no order.
    func holds(_ left: JSON, _ right: JSON) -> Bool? {
        switch self {
        case .equal: return left == right
        case .notEqual: return left != right
        case .less, .lessOrEqual, .greater, .greaterOrEqual: break
        }
        let isLess: Bool
        switch (left, right) {
        case (.string(let left), .string(let right)):
            // Strings are ordered by their bytes, as everywhere.
            isLess = left.utf8.lexicographicallyPrecedes(right.utf8)
        default:
            guard let left = left.double, let right = right.double else { return nil }
            isLess = left < right
        }
        switch self {
        case .less: return isLess
        case .lessOrEqual: return isLess || left == right
        case .greater: return !isLess && left != right
        case .greaterOrEqual, .equal, .notEqual: return !isLess
        }
    }
}
