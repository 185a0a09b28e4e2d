internal import TelltaleModel

/// A byte-wise recursive-descent parser for the text of a ``Guard``.
struct GuardParser {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    private let knowsLifecycle: Bool

    /// The deepest nesting of parentheses and `not`, so that no text can exhaust the stack.
    private static let depthLimit = 64

    init(_ text: String, knowsLifecycle: Bool = false) {
        bytes = Array(text.utf8)
        self.knowsLifecycle = knowsLifecycle
    }

    mutating func parse() throws(GuardSyntaxError) -> GuardExpression {
        let expression = try disjunction()
        skipSpace()
        guard position == bytes.count else { throw failure("the end, `and` or `or`") }
        return expression
    }

    private mutating func disjunction() throws(GuardSyntaxError) -> GuardExpression {
        var parts = [try conjunction()]
        while takeWord("or") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func conjunction() throws(GuardSyntaxError) -> GuardExpression {
        var parts = [try negation()]
        while takeWord("and") { parts.append(try negation()) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func negation() throws(GuardSyntaxError) -> GuardExpression {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else { throw failure("at most \(Self.depthLimit) levels of nesting") }
        if takeWord("not") { return .not(try negation()) }
        if acceptText("(") {
            let inner = try disjunction()
            guard acceptText(")") else { throw failure("`)`") }
            return inner
        }
        if takeWord("in") {
            guard acceptText("(") else { throw failure("`(` and the name of a state") }
            let name = stateName()
            guard !name.isEmpty else { throw failure("the name of a state") }
            guard acceptText(")") else { throw failure("`)`") }
            return .isActive(name)
        }
        return try comparison()
    }

    private mutating func comparison() throws(GuardSyntaxError) -> GuardExpression {
        skipSpace()
        let start = position
        let left = try operand()
        if takeWord("in") {
            guard acceptText("[") else { throw failure("`[` and the values to look among") }
            var list = [try operand()]
            while acceptText(",") { list.append(try operand()) }
            guard acceptText("]") else { throw failure("`,` or `]`") }
            guard !list.contains(.state) else { throw failure("`state` on the left of `in`", at: start) }
            return .isOneOf(left, list)
        }
        if let comparison = takeComparison() {
            let right = try operand()
            if left == .state || right == .state {
                guard left != right else { throw failure("something else than `state` on one side", at: start) }
                guard comparison == .equal || comparison == .notEqual else {
                    throw failure("`==`, `!=` or `in`: states have no order", at: start)
                }
            }
            return .compares(left, comparison, right)
        }
        switch left {
        case .path, .literal(.bool): return .isTrue(left)
        case .state, .lifecycle, .literal: throw failure("a comparison")
        }
    }

    private mutating func operand() throws(GuardSyntaxError) -> GuardOperand {
        skipSpace()
        guard position < bytes.count else { throw failure("a path or a value") }
        switch bytes[position] {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .literal(.string(try string()))
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): return .literal(try number())
        default: break
        }
        let start = position
        let word = word()
        switch word {
        case "": throw failure("a path or a value")
        case "true": return .literal(.bool(true))
        case "false": return .literal(.bool(false))
        case "null": return .literal(.null)
        case "state": return .state
        case "lifecycle" where knowsLifecycle: return .lifecycle
        default:
            guard let path = ValuePath(word) else {
                throw failure("`content.`, `attributes.` or `event.` and a name, `state`, or a value", at: start)
            }
            return .path(path)
        }
    }

    private mutating func takeComparison() -> GuardComparison? {
        // Longer operators first, because some begin with a shorter one.
        for comparison in [GuardComparison.equal, .notEqual, .lessOrEqual, .greaterOrEqual, .less, .greater]
        where acceptText(comparison.rawValue) {
            return comparison
        }
        return nil
    }

    // MARK: Words and values

    private func failure(_ expected: String, at offset: Int? = nil) -> GuardSyntaxError {
        GuardSyntaxError(offset: offset ?? position, expected: expected)
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    private mutating func acceptText(_ text: String) -> Bool {
        skipSpace()
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    /// Consumes `word` unless a longer word continues it: `or`, but not `order`.
    private mutating func takeWord(_ word: String) -> Bool {
        skipSpace()
        guard bytes[position...].starts(with: word.utf8) else { return false }
        let end = position + word.utf8.count
        guard end == bytes.count || !Self.isWordByte(bytes[end]) else { return false }
        position = end
        return true
    }

    private mutating func word() -> String {
        let start = position
        while position < bytes.count, Self.isWordByte(bytes[position]) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func stateName() -> String {
        skipSpace()
        return word()
    }

    private static func isWordByte(_ byte: UInt8) -> Bool { byte.isLetterOrDigit || "_-.".utf8.contains(byte) }

    /// Parses a number by JSON's grammar: no leading zeros, no `+`, no bare decimal point.
    private mutating func number() throws(GuardSyntaxError) -> JSON {
        let start = position
        while position < bytes.count,
            Self.isWordByte(bytes[position]) || bytes[position] == UInt8(ascii: "+")
        {
            position += 1
        }
        let text = bytes[start..<position]
        var rest = text
        func takeDigits() -> Int {
            let count = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            rest = rest.dropFirst(count)
            return count
        }
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = takeDigits()
        var isNumber = whole == 1 || (whole > 1 && !startsWithZero)
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            if takeDigits() == 0 { isNumber = false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            if takeDigits() == 0 { isNumber = false }
        }
        guard isNumber, rest.isEmpty, let double = Double(String(decoding: text, as: UTF8.self)), double.isFinite else {
            throw failure("a number as JSON writes it", at: start)
        }
        return JSON(double)
    }

    private mutating func string() throws(GuardSyntaxError) -> String {
        let start = position
        let quote = bytes[position]
        position += 1
        var content: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == quote { return String(decoding: content, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                content.append(byte)
                continue
            }
            guard position < bytes.count else { break }
            let escape = bytes[position]
            position += 1
            switch escape {
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(escape)
            case UInt8(ascii: "b"): content.append(0x08)
            case UInt8(ascii: "f"): content.append(0x0C)
            case UInt8(ascii: "n"): content.append(0x0A)
            case UInt8(ascii: "r"): content.append(0x0D)
            case UInt8(ascii: "t"): content.append(0x09)
            case UInt8(ascii: "u"): content.append(contentsOf: try unicodeEscape())
            default: throw failure("an escape of JSON", at: position - 1)
            }
        }
        throw failure("the end of the string", at: start)
    }

    /// Parses the digits after `\u`: one code unit, or a surrogate pair.
    private mutating func unicodeEscape() throws(GuardSyntaxError) -> [UInt8] {
        let start = position
        let first = try codeUnit()
        var units = [first]
        if UTF16.isLeadSurrogate(first), bytes[position...].starts(with: "\\u".utf8) {
            position += 2
            units.append(try codeUnit())
        }
        guard let text = String(validating: units, as: UTF16.self) else {
            throw failure("a character, not half of one", at: start)
        }
        return Array(text.utf8)
    }

    private mutating func codeUnit() throws(GuardSyntaxError) -> UInt16 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Self.isWordByte($0) }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw failure("four hexadecimal digits") }
        position += 4
        return unit
    }
}
