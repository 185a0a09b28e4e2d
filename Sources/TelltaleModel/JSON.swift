/// A JSON value as I-JSON (RFC 7493) restricts it.
///
/// Strings are equal when their bytes are: Swift's own `==` on `String` is canonical equivalence, which treats
/// different byte strings as the same key. A whole number within ±(2^53 − 1) is an `integer`, however it was written,
/// so `3` and `3.0` are equal.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)

    /// The deepest nesting that is accepted: 32 levels (Protocols/Line/line-protocol.md §2).
    public static let depthLimit = 32
    /// The largest whole number that every JSON implementation keeps exact: 2^53 − 1 (RFC 7493 §2.2).
    public static let integerLimit: Int64 = (1 << 53) - 1

    /// Makes an `integer` if `double` is a whole number within ``integerLimit``, otherwise a `number`.
    ///
    /// - Precondition: `double` is finite.
    public init(_ double: Double) {
        // `magnitude`, not `abs`, because `abs` traps for the least integer.
        if let integer = Int64(exactly: double), integer.magnitude <= Self.integerLimit.magnitude {
            self = .integer(integer)
        } else {
            precondition(double.isFinite, "JSON has no infinity and no NaN")
            self = .number(double)
        }
    }

    public var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    public var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    public var integer: Int64? {
        if case .integer(let integer) = self { integer } else { nil }
    }

    public var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    public var array: [JSON]? {
        if case .array(let array) = self { array } else { nil }
    }

    /// The value of an `integer` or a `number`; `nil` for any other case.
    public var double: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// The member `name` of an object; `nil` if there is none or the value is no object.
    public subscript(name: String) -> JSON? { object?[name] }

    /// JSON Merge Patch (RFC 7396): the result of applying `patch` to `self`.
    public func merging(_ patch: JSON) -> JSON {
        guard case .object(let changes) = patch else { return patch }
        if case .object(let object) = self { return .object(object.merging(changes)) }
        return .object(JSONObject().merging(changes))
    }
}

extension JSON: Hashable {
    public static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.integer, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let bool): hasher.combine(bool)
        case .integer(let integer): hasher.combine(integer)
        case .number(let number): hasher.combine(number)
        case .string(let string): for byte in string.utf8 { hasher.combine(byte) }
        case .array(let array): hasher.combine(array)
        case .object(let object): hasher.combine(object)
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByFloatLiteral
{
    // Not `ExpressibleByNilLiteral`: in `condition ? json : nil` where an optional is expected, `nil` would become a
    // `JSON.null` inside the optional.

    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self.init(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) {
        var object = JSONObject()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
}
