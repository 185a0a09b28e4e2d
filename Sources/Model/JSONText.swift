/// Appends JSON text to bytes: compact, UTF-8, members in the order in which they are written.
///
/// Escapes only what RFC 8259 §7 demands, so text in any language stays readable on the wire.
public struct JSONWriter: Sendable {
    public var bytes: [UInt8] = []
    /// A comma is due before the next value or name.
    private var needsComma = false

    public init() {}

    public mutating func beginObject() { open(UInt8(ascii: "{")) }
    public mutating func endObject() { close(UInt8(ascii: "}")) }
    public mutating func beginArray() { open(UInt8(ascii: "[")) }
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    public mutating func name(_ name: String) {
        separate()
        Self.append(quoted: name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func value(_ value: String) {
        separate()
        Self.append(quoted: value, to: &bytes)
    }

    public mutating func value(_ value: Int64) {
        separate()
        Self.append(value, to: &bytes)
    }

    public mutating func value(_ value: Int) { self.value(Int64(value)) }

    public mutating func value(_ value: Bool) {
        separate()
        bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
    }

    public mutating func value(_ value: Double) { self.value(JSON(value)) }

    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    public mutating func value(_ value: JSON) {
        separate()
        value.append(to: &bytes)
    }

    /// Appends text that is already one JSON value.
    public mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
    }

    public mutating func member(_ name: String, _ value: String) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Int64) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Int) { member(name, Int64(value)) }

    public mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Double) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: JSON) {
        self.name(name)
        self.value(value)
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    static func append(_ value: Int64, to bytes: inout [UInt8]) {
        var digits: [20 of UInt8] = InlineArray(repeating: 0)
        var start = digits.count
        var rest = value.magnitude
        repeat {
            start -= 1
            digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        bytes.append(addingCapacity: digits.count + 1) { output in
            if value < 0 { output.append(UInt8(ascii: "-")) }
            for index in start..<digits.count { output.append(digits[index]) }
        }
    }

    static func append(quoted text: String, to bytes: inout [UInt8]) {
        let source = text.utf8.span
        var copied = 0
        // Most texts need no escape, and are done here.
        bytes.append(addingCapacity: source.count + 2) { output in
            output.append(UInt8(ascii: "\""))
            while copied < source.count, !needsEscape(source[copied]) {
                output.append(source[copied])
                copied += 1
            }
            if copied == source.count { output.append(UInt8(ascii: "\"")) }
        }
        guard copied < source.count else { return }
        for index in copied..<source.count { append(escaping: source[index], to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// DEL may stand in JSON, but no control byte may stand in a line of the protocol.
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private static func append(escaping byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case 0..<0x20, 0x7F:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(hexDigit(byte >> 4))
            bytes.append(hexDigit(byte & 0xF))
        default: bytes.append(byte)
        }
    }

    /// How many bytes ``append(quoted:to:)`` would append.
    static func byteCount(quoted text: String) -> Int { escapedByteCount(of: text) + 2 }

    private static func escapedByteCount(of text: String) -> Int {
        let bytes = text.utf8.span
        var count = bytes.count
        for index in bytes.indices where needsEscape(bytes[index]) {
            switch bytes[index] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x0A, 0x0D, 0x09: count += 1
            default: count += 5
            }
        }
        return count
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension JSON: CustomStringConvertible {
    /// Compact text; members in the order of their names.
    public func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let bool): bytes.append(contentsOf: bool ? "true".utf8 : "false".utf8)
        case .integer(let integer): JSONWriter.append(integer, to: &bytes)
        // Swift prints the shortest text that reads back as the same number, and its forms are JSON's.
        case .number(let number): bytes.append(contentsOf: number.description.utf8)
        case .string(let string): JSONWriter.append(quoted: string, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in object.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONWriter.append(quoted: member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    public var text: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    public var description: String { String(decoding: text, as: UTF8.self) }

    /// How long ``text`` is, without making it.
    public var textByteCount: Int {
        switch self {
        case .null: return 4
        case .bool(let bool): return bool ? 4 : 5
        case .integer(let integer):
            var count = integer < 0 ? 2 : 1
            var rest = integer.magnitude / 10
            while rest > 0 {
                count += 1
                rest /= 10
            }
            return count
        case .number(let number): return number.description.utf8.count
        case .string(let string): return JSONWriter.byteCount(quoted: string)
        case .array(let elements):
            // Brackets, and a comma between two.
            return elements.reduce(Swift.max(elements.count + 1, 2)) { $0 + $1.textByteCount }
        case .object(let object):
            return object.reduce(Swift.max(object.count + 1, 2)) {
                $0 + JSONWriter.byteCount(quoted: $1.name) + 1 + $1.value.textByteCount
            }
        }
    }
}
