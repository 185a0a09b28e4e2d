/// Receives the parts of a value in a fixed order, either to encode them or to hash them.
///
/// Each type lists its parts once, so its hash covers exactly the parts that its encoding holds.
public protocol ValueWriter: ~Copyable {
    mutating func write(_ value: UInt64)
    mutating func write(_ value: UInt8)
    mutating func write(_ value: Double)
    mutating func write(_ value: String)
    mutating func write(_ value: JSON)
}

// Inlinable, so that each writer and type is specialised at the call site instead of looking up metadata at run time.
extension ValueWriter where Self: ~Copyable {
    /// Zigzag encoding: a number of small magnitude becomes a small unsigned number, whatever its sign.
    @inlinable
    public mutating func write(_ value: Int64) {
        write(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    @inlinable
    public mutating func write(_ value: Int) { write(Int64(value)) }
    @inlinable
    public mutating func write(_ value: Bool) { write(UInt8(value ? 1 : 0)) }
    @inlinable
    public mutating func write(_ value: Timestamp) { write(value.milliseconds) }

    /// Writes a zero byte for `nil`; otherwise writes a one byte and then calls `body`.
    @inlinable
    public mutating func write<Value>(_ value: Value?, _ body: (inout Self, Value) -> Void) {
        write(value != nil)
        if let value { body(&self, value) }
    }

    @inlinable
    public mutating func write<Element>(_ elements: [Element], _ body: (inout Self, Element) -> Void) {
        write(UInt64(elements.count))
        for element in elements { body(&self, element) }
    }
}

extension StableHash: ValueWriter {
    @inlinable
    public mutating func write(_ value: UInt64) { combine(value) }
    @inlinable
    public mutating func write(_ value: UInt8) { combine(UInt64(value)) }
    @inlinable
    public mutating func write(_ value: Double) { combine(value.bitPattern) }
    public mutating func write(_ value: String) { combine(value) }
    public mutating func write(_ value: JSON) { combine(json: value) }
}

/// Encodes values for the journal: fixed-width integers little-endian, unsigned numbers as LEB128, everything else with
/// its length first.
public struct BinaryWriter: ~Copyable, ValueWriter, Sendable {
    private var buffer = ByteBuffer()

    public init() {}

    /// A copy of the bytes written so far.
    public var bytes: [UInt8] { buffer.array }
    /// The number of ``bytes``.
    public var count: Int { buffer.count }

    /// Returns ``bytes`` and empties the writer.
    public mutating func take() -> [UInt8] { buffer.take() }

    public mutating func write(_ value: UInt64) {
        // Nearly every length and count fits one byte.
        if value < 0x80 { return buffer.append(UInt8(truncatingIfNeeded: value)) }
        buffer.append(leb128: value)
    }

    public mutating func write(_ value: UInt8) { buffer.append(value) }

    public mutating func write(_ value: Double) {
        var bits = value.bitPattern
        for _ in 0..<8 {
            buffer.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
        }
    }

    public mutating func write(_ value: String) {
        buffer.append(counted: value.utf8.span)
    }

    /// Writes two words as one text, separated by a space.
    public mutating func write(words first: String, _ second: String) {
        let (first, second) = (first.utf8.span, second.utf8.span)
        write(UInt64(first.count + 1 + second.count))
        buffer.append(copying: first)
        buffer.append(UInt8(ascii: " "))
        buffer.append(copying: second)
    }

    /// A copy of the bytes from offset `position` on.
    func bytes(from position: Int) -> [UInt8] { buffer.bytes(from: position) }

    /// Discards the bytes from offset `position` on.
    mutating func removeAll(from position: Int) { buffer.removeAll(from: position) }

    /// Replaces the byte at offset `position`.
    mutating func replaceByte(at position: Int, with byte: UInt8) { buffer[position] = byte }

    /// Appends bytes that another writer encoded, without a length.
    mutating func write(copying encoded: Span<UInt8>) { buffer.append(copying: encoded) }

    /// Writes UTF-8 bytes with their length first.
    mutating func write(counted text: Span<UInt8>) { buffer.append(counted: text) }

    public mutating func write(_ value: [UInt8]) {
        write(UInt64(value.count))
        buffer.append(value)
    }

    public mutating func write(_ value: JSON) {
        switch value {
        case .null: write(JSONTag.null)
        case .bool(let bool): write(bool ? JSONTag.true : JSONTag.false)
        case .integer(let integer):
            write(JSONTag.integer)
            write(integer)
        case .number(let number):
            write(JSONTag.number)
            write(number)
        case .string(let string):
            write(JSONTag.string)
            write(string)
        case .array(let elements):
            write(JSONTag.array)
            write(UInt64(elements.count))
            for element in elements { write(element) }
        case .object(let object): object.append(form: &buffer)
        }
    }
}

/// The bytes do not decode to the requested type.
public struct BinaryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Offset of the fault, in bytes from the start.
    public var offset: Int
    public var reason: String

    public var description: String { "at byte \(offset): \(reason)" }
}

/// Decodes bytes that ``BinaryWriter`` wrote. Any other bytes throw ``BinaryError``; no input traps.
public struct BinaryReader: Sendable {
    private let bytes: [UInt8]
    public private(set) var offset = 0

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    public var isAtEnd: Bool { offset == bytes.count }

    public func failure(_ reason: String) -> BinaryError { BinaryError(offset: offset, reason: reason) }

    public mutating func readByte() throws(BinaryError) -> UInt8 {
        guard offset < bytes.count else { throw failure("ends early") }
        defer { offset += 1 }
        return bytes[offset]
    }

    public mutating func readUInt64() throws(BinaryError) -> UInt64 {
        // Each text begins with a number, and most of these are one byte.
        guard offset < bytes.count else { throw failure("ends early") }
        let first = bytes[offset]
        offset += 1
        return first < 0x80 ? UInt64(first) : try readRest(of: UInt64(first & 0x7F))
    }

    /// The rest of a number whose first seven bits were read.
    private mutating func readRest(of first: UInt64) throws(BinaryError) -> UInt64 {
        var value = first
        for shift in stride(from: UInt64(7), to: 64, by: 7) {
            let byte = try readByte()
            let part = UInt64(byte & 0x7F)
            guard shift < 63 || part <= 1 else { throw failure("number over 64 bits") }
            // A value has exactly one encoding, so that equal values have equal bytes.
            guard byte != 0 else { throw failure("number longer than it must be") }
            value |= part << shift
            if byte < 0x80 { return value }
        }
        throw failure("number over 64 bits")
    }

    public mutating func readInt64() throws(BinaryError) -> Int64 {
        let raw = try readUInt64()
        return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
    }

    public mutating func readInt() throws(BinaryError) -> Int { Int(try readInt64()) }

    public mutating func readBool() throws(BinaryError) -> Bool {
        switch try readByte() {
        case 0: return false
        case 1: return true
        default: throw failure("not a boolean")
        }
    }

    public mutating func readTimestamp() throws(BinaryError) -> Timestamp {
        Timestamp(milliseconds: try readInt64())
    }

    public mutating func readDouble() throws(BinaryError) -> Double {
        var bits: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bits |= UInt64(try readByte()) << shift }
        return Double(bitPattern: bits)
    }

    public mutating func readBytes() throws(BinaryError) -> [UInt8] {
        let count = try readCount()
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    public mutating func readString() throws(BinaryError) -> String {
        let range = try passText()
        return bytes.span.string(in: range)
    }

    public mutating func readJSON() throws(BinaryError) -> JSON {
        let start = offset
        try passJSON(depth: 0)
        // Copies only the object's bytes, so that the value does not retain the whole buffer.
        let form = Array(bytes[start..<offset])
        var position = 0
        return JSON(form: form, at: &position)
    }

    /// Validates the encoding of one value and moves past it.
    private mutating func passJSON(depth: Int) throws(BinaryError) {
        guard depth <= JSON.depthLimit else { throw failure("nested deeper than \(JSON.depthLimit)") }
        switch try readByte() {
        case JSONTag.null, JSONTag.false, JSONTag.true: break
        case JSONTag.integer: _ = try readInt64()
        case JSONTag.number:
            let number = try readDouble()
            guard number.isFinite, case .number = JSON(number) else { throw failure("not a number of JSON's") }
        case JSONTag.string: _ = try passText()
        case JSONTag.array: for _ in 0..<(try readCount()) { try passJSON(depth: depth + 1) }
        case JSONTag.object:
            var last: Range<Int>?
            for _ in 0..<(try readCount()) {
                let name = try passText()
                if let last, !bytes.span.extracting(last).precedes(bytes.span.extracting(name)) {
                    throw failure("names out of order")
                }
                last = name
                try passJSON(depth: depth + 1)
            }
        default: throw failure("not a JSON value")
        }
    }

    /// The range of the next text. `String(validating:as:)` would look up generic metadata on each call.
    private mutating func passText() throws(BinaryError) -> Range<Int> {
        let count = try readCount()
        let range = offset..<offset + count
        guard (try? UTF8Span(validating: bytes.span.extracting(range))) != nil else { throw failure("not UTF-8") }
        offset += count
        return range
    }

    @inlinable
    public mutating func readOptional<Value>(
        _ body: (inout BinaryReader) throws(BinaryError) -> Value
    ) throws(BinaryError) -> Value? {
        try readBool() ? try body(&self) : nil
    }

    @inlinable
    public mutating func readArray<Element>(
        _ body: (inout BinaryReader) throws(BinaryError) -> Element
    ) throws(BinaryError) -> [Element] {
        var elements: [Element] = []
        for _ in 0..<(try readCount()) { elements.append(try body(&self)) }
        return elements
    }

    /// Reads a count of elements that take at least one byte each. A corrupt count larger than the remaining bytes
    /// throws, so it cannot reserve unbounded memory.
    public mutating func readCount() throws(BinaryError) -> Int {
        let count = try readUInt64()
        guard count <= UInt64(bytes.count - offset) else { throw failure("count \(count) is past the end") }
        return Int(count)
    }
}
