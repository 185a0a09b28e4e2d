/// Appends JSON text to bytes: compact, UTF-8, members in the order in which they are written.
///
/// Escapes only the characters that RFC 8259 §7 requires, so that text in any language stays readable on the wire.
public struct JSONWriter: ~Copyable, Sendable {
    private var buffer = ByteBuffer()
    /// Whether a comma is due before the next value or name.
    private var needsComma = false

    public init() {}

    /// A copy of the text written so far.
    public var bytes: [UInt8] { buffer.array }
    /// Returns ``bytes`` and empties the writer.
    public mutating func take() -> [UInt8] {
        needsComma = false
        return buffer.take()
    }

    public mutating func beginObject() { open(UInt8(ascii: "{")) }
    public mutating func endObject() { close(UInt8(ascii: "}")) }
    public mutating func beginArray() { open(UInt8(ascii: "[")) }
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// - Parameter name: A literal that needs no escape.
    public mutating func name(_ name: StaticString) {
        separate()
        buffer.append(UInt8(ascii: "\""))
        buffer.append(name)
        buffer.append(UInt8(ascii: "\""))
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func name(of member: String) {
        separate()
        Self.append(quoted: member, to: &buffer)
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func value(_ value: String) {
        separate()
        Self.append(quoted: value, to: &buffer)
    }

    /// Writes a whole number. One beyond ``JSON/integerLimit`` is written as that limit, because I-JSON has no larger
    /// integers and a date that far away means "never".
    public mutating func value(_ value: Int64) {
        separate()
        buffer.append(decimal: min(max(value, 0 - JSON.integerLimit), JSON.integerLimit))
    }

    public mutating func value(_ value: Int) { self.value(Int64(value)) }

    public mutating func value(_ value: Bool) {
        separate()
        buffer.append(value ? "true" : "false")
    }

    public mutating func value(_ value: Double) { self.value(JSON(value)) }

    public mutating func null() {
        separate()
        buffer.append("null")
    }

    public mutating func value(_ value: JSON) {
        separate()
        value.append(to: &buffer)
    }

    /// Appends text that is already one JSON value.
    public mutating func raw(_ json: [UInt8]) {
        separate()
        buffer.append(json)
    }

    public mutating func member(_ name: StaticString, _ value: String) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: StaticString, _ value: Int64) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: StaticString, _ value: Int) { member(name, Int64(value)) }

    public mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: StaticString, _ value: Double) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: StaticString, _ value: JSON) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(named name: String, _ value: JSON) {
        self.name(of: name)
        self.value(value)
    }

    /// Writes an array, whose elements `write` writes.
    public mutating func array<Element>(
        _ name: StaticString, of elements: some Sequence<Element>, _ write: (Element, inout JSONWriter) -> Void
    ) {
        self.name(name)
        beginArray()
        for element in elements { write(element, &self) }
        endArray()
    }

    /// The text of one object, whose members `write` writes.
    public static func object(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        write(&writer)
        writer.endObject()
        return writer.take()
    }

    /// Writes an object, whose members `write` writes.
    public mutating func object(_ name: StaticString, _ write: (inout JSONWriter) -> Void) {
        self.name(name)
        beginObject()
        write(&self)
        endObject()
    }

    /// Writes an array of objects, whose members `write` writes.
    public mutating func objects<Element>(
        _ name: StaticString, of elements: some Sequence<Element>, _ write: (Element, inout JSONWriter) -> Void
    ) {
        array(name, of: elements) { element, writer in
            writer.beginObject()
            write(element, &writer)
            writer.endObject()
        }
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        buffer.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        buffer.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { buffer.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    static func append(quoted text: String, to buffer: inout ByteBuffer) {
        append(quoted: text.utf8.span, to: &buffer)
    }

    /// - Parameter source: UTF-8.
    static func append(quoted source: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        // Most texts need no escape and are copied in one piece.
        var plain = source.firstEscape(from: 0)
        buffer.append(copying: source.extracting(first: plain))
        while plain < source.count {
            append(escaping: source[plain], to: &buffer)
            let end = source.firstEscape(from: plain + 1)
            buffer.append(copying: source.extracting(plain + 1..<end))
            plain = end
        }
        buffer.append(UInt8(ascii: "\""))
    }

    /// DEL may stand in JSON, but no control byte may stand in a line of the protocol.
    static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private static func append(escaping byte: UInt8, to buffer: inout ByteBuffer) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            buffer.append(UInt8(ascii: "\\"))
            buffer.append(byte)
        case 0x0A: buffer.append("\\n")
        case 0x0D: buffer.append("\\r")
        case 0x09: buffer.append("\\t")
        case 0..<0x20, 0x7F:
            buffer.append("\\u")
            buffer.append(hexadecimal: UInt64(byte), digits: 4)
        default: buffer.append(byte)
        }
    }

    /// The number of bytes that ``append(quoted:to:)`` appends.
    static func byteCount(quoted text: String) -> Int { byteCount(quoted: text.utf8.span) }

    static func byteCount(quoted bytes: Span<UInt8>) -> Int {
        var count = bytes.count + 2
        var index = bytes.firstEscape(from: 0)
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x0A, 0x0D, 0x09: count += 1
            default: count += 5
            }
            index = bytes.firstEscape(from: index + 1)
        }
        return count
    }

    /// An upper bound of the bytes that ``append(quoted:to:)`` appends: an escaped byte takes six.
    static func byteCountBound(quoted text: String) -> Int { 6 * text.utf8.count + 2 }
}

extension JSON: CustomStringConvertible {
    /// Appends compact text, with members in the order of their names.
    public func append(to buffer: inout ByteBuffer) {
        switch self {
        case .null: buffer.append("null")
        case .bool(let bool): buffer.append(bool ? "true" : "false")
        case .integer(let integer): buffer.append(decimal: integer)
        case .number(let number): Self.append(number, to: &buffer)
        case .string(let string): JSONWriter.append(quoted: string, to: &buffer)
        case .array(let elements):
            buffer.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { buffer.append(UInt8(ascii: ",")) }
                element.append(to: &buffer)
            }
            buffer.append(UInt8(ascii: "]"))
        case .object(let object): object.append(text: &buffer)
        }
    }

    // Swift prints the shortest text that reads back as the same number, in a form that is valid JSON.
    static func append(_ number: Double, to buffer: inout ByteBuffer) { buffer.append(number.description) }

    public var text: [UInt8] {
        var buffer = ByteBuffer()
        append(to: &buffer)
        return buffer.array
    }

    public var description: String { String(decoding: text, as: UTF8.self) }

    /// Whether ``text`` is longer than `limit` bytes. A cheap upper bound answers for most values, without scanning
    /// every byte.
    public func isText(longerThan limit: Int) -> Bool {
        textByteCountBound > limit && textByteCount > limit
    }

    /// An upper bound of ``textByteCount`` that ignores the content of strings.
    private var textByteCountBound: Int {
        switch self {
        // A number has no more than 24 characters.
        case .null, .bool, .integer, .number: return 24
        case .string(let string): return JSONWriter.byteCountBound(quoted: string)
        case .array(let elements): return elements.reduce(2) { $0 + $1.textByteCountBound + 1 }
        case .object(let object): return object.textByteCountBound
        }
    }

    /// The length of ``text`` in bytes, without making it.
    public var textByteCount: Int {
        switch self {
        case .null: return 4
        case .bool(let bool): return bool ? 4 : 5
        case .integer(let integer): return Self.textByteCount(of: integer)
        case .number(let number): return Self.textByteCount(of: number)
        case .string(let string): return JSONWriter.byteCount(quoted: string)
        case .array(let elements):
            // Two brackets, and a comma between two elements.
            return elements.reduce(Swift.max(elements.count + 1, 2)) { $0 + $1.textByteCount }
        case .object(let object): return object.textByteCount
        }
    }

    static func textByteCount(of integer: Int64) -> Int {
        var count = integer < 0 ? 2 : 1
        var rest = integer.magnitude / 10
        while rest > 0 {
            count += 1
            rest /= 10
        }
        return count
    }

    static func textByteCount(of number: Double) -> Int { number.description.utf8.count }
}
