internal import TelltaleModel

/// A condition of Kinds/README.md: paths, literals, comparisons, `and or not`, `in [..]`, `in(STATE)`.
///
/// Total: it always gives true or false. A comparison that cannot be made (a path that leads nowhere, an ordering of
/// things that have none) is neither, as in SQL: `not` of it is neither too, `or` and `and` ignore it where the other
/// side decides alone. A guard that is neither is false, and is counted.
///
///     guard      = conjunction *( "or" conjunction )
///     conjunction = negation *( "and" negation )
///     negation   = "not" negation / "(" guard ")" / "in(" STATE ")" / comparison
///     comparison = operand / operand ( "==" / "!=" / "<" / "<=" / ">" / ">=" ) operand
///                / operand "in" "[" operand *( "," operand ) "]"
///     operand    = "state" / path / number / string / "true" / "false" / "null"
///
/// `state` is the key and the path of the innermost active state; where several are, in parallel regions, each of
/// them. A path alone must be a boolean. Strings are in single or double quotes, with JSON's escapes.
public struct Guard: Hashable, Sendable {
    /// As it was written.
    public let text: String
    let expression: GuardExpression

    /// Parses `text`.
    ///
    /// - Throws: ``GuardSyntaxError``, which says what was expected, and where.
    public init(_ text: String) throws(GuardSyntaxError) {
        self.text = text
        var parser = GuardParser(text)
        expression = try parser.parse()
    }

    /// Everything that it reads, in the order of the text.
    public var paths: [ValuePath] {
        expression.operands.compactMap { if case .path(let path) = $0 { path } else { nil } }
    }

    /// The states that it names with `in(STATE)`, in the order of the text.
    public var stateNames: [String] { expression.stateNames }
}

public struct GuardSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Bytes from the start of the text.
    public var offset: Int
    public var expected: String

    public init(offset: Int, expected: String) {
        self.offset = offset
        self.expected = expected
    }

    public var description: String { "at byte \(offset): expected \(expected)" }
}

/// What a guard says, before the states that it names are known.
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

    /// `nil` where the two cannot be ordered.
    func holds(_ left: JSON, _ right: JSON) -> Bool? {
        switch self {
        case .equal: return left == right
        case .notEqual: return left != right
        case .less, .lessOrEqual, .greater, .greaterOrEqual: break
        }
        let isLess: Bool
        switch (left, right) {
        case (.string(let left), .string(let right)):
            // By bytes, as everywhere.
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
