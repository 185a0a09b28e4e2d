/// A JSON value, as I-JSON (RFC 7493) allows it.
///
/// Strings are equal when their bytes are: Swift's own `==` on `String` is canonical equivalence, by which two
/// different byte strings would be one key. A number that is whole and within ±(2^53 − 1) is an `integer`, however it
/// was written, so `3` and `3.0` are equal.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)

    /// The deepest nesting accepted: 32 (line-protocol.md §2).
    public static let depthLimit = 32
    /// The largest whole number that every JSON implementation keeps exact: 2^53 − 1 (RFC 7493 §2.2).
    public static let integerLimit: Int64 = (1 << 53) - 1

    /// A finite number in its canonical case.
    ///
    /// - Precondition: `double` is finite.
    public init(_ double: Double) {
        // Not `abs`, which the least integer has none of.
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

    /// The value of an `integer` or a `number`.
    public var double: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// The member of an object, or `nil`.
    public subscript(name: String) -> JSON? { object?[name] }

    /// JSON Merge Patch (RFC 7396): what `self` becomes when `patch` is applied to it.
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
    // Not by `nil`: in `condition ? json : nil`, where an optional is wanted, that would become a `JSON.null` in it.

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
