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

    /// The deepest nesting accepted: 32 (protocol.md §1).
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

/// The members of a JSON object, kept in the order of their names' bytes.
///
/// Nothing may depend on the order in which somebody wrote a file, and equal objects must write equal bytes, so there
/// is one order. Objects here are small: a lookup is a linear scan up to a few members, a binary search beyond.
public struct JSONObject: Hashable, Sendable, RandomAccessCollection {
    public struct Member: Hashable, Sendable {
        public let name: String
        public var value: JSON

        public static func == (left: Member, right: Member) -> Bool {
            left.name.hasSameBytes(as: right.name) && left.value == right.value
        }

        public func hash(into hasher: inout Hasher) {
            for byte in name.utf8 { hasher.combine(byte) }
            hasher.combine(value)
        }
    }

    private var members: [Member] = []

    public init() {}

    init(capacity: Int) { members.reserveCapacity(capacity) }

    public var startIndex: Int { 0 }
    public var endIndex: Int { members.count }
    public subscript(position: Int) -> Member { members[position] }

    /// The value under `name`; assigning `nil` removes it.
    public subscript(name: String) -> JSON? {
        get {
            // That a name is another one is seen quicker than which of the two comes first.
            if members.count <= 8 { return members.first { $0.name.hasSameBytes(as: name) }?.value }
            let position = self.position(of: name)
            guard isName(name, at: position) else { return nil }
            return members[position].value
        }
        set {
            let position = self.position(of: name)
            switch (isName(name, at: position), newValue) {
            case (true, let value?): members[position].value = value
            case (true, nil): members.remove(at: position)
            case (false, let value?): members.insert(Member(name: name, value: value), at: position)
            case (false, nil): break
            }
        }
    }

    /// Adds a member behind all others. Returns `false`, and adds nothing, unless its name comes after theirs.
    mutating func append(_ name: String, _ value: JSON) -> Bool {
        if let last = members.last, !last.name.precedesInBytes(name) { return false }
        members.append(Member(name: name, value: value))
        return true
    }

    /// Adds a member in its place. Returns `false`, and adds nothing, when its name is there.
    mutating func insert(_ name: String, _ value: JSON) -> Bool {
        if append(name, value) { return true }
        let position = self.position(of: name)
        guard !isName(name, at: position) else { return false }
        members.insert(Member(name: name, value: value), at: position)
        return true
    }

    /// An object of members in any order. `nil` when two have the same name.
    init?(unordered members: [Member]) {
        self.members = members.sorted { $0.name.precedesInBytes($1.name) }
        for index in self.members.indices.dropFirst()
        where self.members[index].name.hasSameBytes(as: self.members[index - 1].name) {
            return nil
        }
    }

    /// JSON Merge Patch (RFC 7396) of one object into another.
    func merging(_ changes: JSONObject) -> JSONObject {
        if changes.replacesAll(of: self) { return changes }
        // Both are in order, so one pass over both is enough.
        var result = JSONObject(capacity: members.count + changes.members.count)
        var position = 0
        for change in changes.members {
            while position < members.count, members[position].name.precedesInBytes(change.name) {
                result.members.append(members[position])
                position += 1
            }
            let isThere = isName(change.name, at: position)
            switch change.value {
            case .null: break
            case .object:
                // A patch for a member that is not there still loses its own nulls.
                let before = isThere ? members[position].value : .null
                result.members.append(Member(name: change.name, value: before.merging(change.value)))
            case .bool, .integer, .number, .string, .array: result.members.append(change)
            }
            if isThere { position += 1 }
        }
        result.members += members[position...]
        return result
    }

    /// Whether as a patch it leaves nothing of `object`, and itself as it is: who tells the whole state every time.
    private func replacesAll(of object: JSONObject) -> Bool {
        var position = 0
        for index in members.indices {
            switch members[index].value {
            case .null, .object: return false
            case .bool, .integer, .number, .string, .array: break
            }
            if object.isName(members[index].name, at: position) { position += 1 }
        }
        return position == object.members.count
    }

    private func isName(_ name: String, at position: Int) -> Bool {
        position < members.count && members[position].name.hasSameBytes(as: name)
    }

    /// Where `name` is, or where it would have to be inserted.
    private func position(of name: String) -> Int {
        var low = 0
        var high = members.count
        while low < high {
            let middle = (low + high) / 2
            if members[middle].name.precedesInBytes(name) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
