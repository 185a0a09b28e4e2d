internal import CSimdJSON

/// Why bytes are not a JSON value that Telltale takes.
public enum JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not JSON by RFC 8259, deeper than ``JSON/depthLimit``, or a number beyond a double; simdjson's own sentence.
    case malformed(String)
    /// Two members of one object have the same name; the path leads to the object.
    case duplicateName(path: String)
    /// A whole number outside ±(2^53 − 1).
    case integerTooLarge(path: String)

    public var description: String {
        switch self {
        case .malformed(let reason): reason
        case .duplicateName(let path): "a name stands twice in \(path.isEmpty ? "the object" : path)"
        case .integerTooLarge(let path): "\(path.isEmpty ? "a number" : path) is outside ±(2^53-1)"
        }
    }
}

/// Reads JSON text with simdjson, and holds it to I-JSON (RFC 7493): no duplicate names, no inexact integers.
///
/// Keeps its buffers from one parse to the next. Not thread-safe; one a thread.
@safe public final class JSONParser {
    // simdjson owns this memory; it is freed in `deinit` alone, and no pointer into it leaves `parse`.
    private let parser: OpaquePointer

    public init() {
        guard let parser = unsafe csimdjson_create() else { fatalError("no memory for a JSON parser") }
        unsafe self.parser = parser
    }

    deinit {
        unsafe csimdjson_free(parser)
    }

    public func parse(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        var document = unsafe csimdjson_document()
        let status = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe csimdjson_parse(parser, buffer.baseAddress, buffer.count, JSON.depthLimit, &document)
        }
        guard status == 0 else { throw .malformed(unsafe String(cString: csimdjson_message(status))) }
        // The tape is valid until the next parse: as long as this reader.
        var reader = unsafe TapeReader(tape: document.tape, strings: document.strings)
        return try unsafe reader.value(path: .root)
    }

    public static func parse(_ text: String) throws(JSONError) -> JSON {
        var text = text
        text.makeContiguousUTF8()
        return try JSONParser().parse(text.utf8.span)
    }
}

/// Where the reader is, as a chain that costs nothing until an error asks for its text.
private indirect enum Path {
    case root
    case element(Int, of: Path)
    case member(String, of: Path)

    var text: String {
        switch self {
        case .root: ""
        case .element(let index, let parent): "\(parent.text)[\(index)]"
        case .member(let name, .root): name
        case .member(let name, let parent): "\(parent.text).\(name)"
        }
    }
}

/// An object of fewer members has each put in its place; of more, all are sorted at the end.
private let insertionLimit = 16

/// Walks simdjson's tape: a word a value, its type in the top byte, its payload below (simdjson's doc/tape.md).
///
/// Safe because simdjson wrote the tape itself, after validating the text: every index that it holds is in bounds.
@unsafe private struct TapeReader {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    var index = 1  // Word 0 is the root.

    init(tape: UnsafePointer<UInt64>, strings: UnsafePointer<UInt8>) {
        unsafe self.tape = tape
        unsafe self.strings = strings
    }

    mutating func value(path: @autoclosure () -> Path) throws(JSONError) -> JSON {
        let word = unsafe tape[index]
        unsafe index += 1
        switch UInt8(truncatingIfNeeded: word >> 56) {
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        case UInt8(ascii: "\""): return .string(unsafe string(at: word))
        case UInt8(ascii: "l"):
            let integer = unsafe Int64(bitPattern: tape[index])
            unsafe index += 1
            guard integer.magnitude <= UInt64(JSON.integerLimit) else { throw .integerTooLarge(path: path().text) }
            return .integer(integer)
        case UInt8(ascii: "u"): throw .integerTooLarge(path: path().text)
        case UInt8(ascii: "d"):
            let number = unsafe Double(bitPattern: tape[index])
            unsafe index += 1
            return JSON(number)
        case UInt8(ascii: "["):
            var elements: [JSON] = []
            unsafe elements.reserveCapacity(Self.count(in: word))
            while unsafe UInt8(truncatingIfNeeded: tape[index] >> 56) != UInt8(ascii: "]") {
                let position = elements.count
                elements.append(try unsafe value(path: .element(position, of: path())))
            }
            unsafe index += 1
            return .array(elements)
        case UInt8(ascii: "{"):
            return .object(try unsafe object(count: Self.count(in: word), path: path()))
        default: throw .malformed("unknown type on simdjson's tape")
        }
    }

    /// How many elements or members there are; 2^24 − 1 stands for that many or more.
    private static func count(in word: UInt64) -> Int { Int((word >> 32) & 0xFF_FFFF) }

    private mutating func object(count: Int, path: @autoclosure () -> Path) throws(JSONError) -> JSONObject {
        var object = JSONObject(capacity: count)
        var unordered: [JSONObject.Member]?
        while unsafe UInt8(truncatingIfNeeded: tape[index] >> 56) != UInt8(ascii: "}") {
            let name = unsafe string(at: tape[index])
            unsafe index += 1
            let value = try unsafe value(path: .member(name, of: path()))
            if unordered != nil {
                unordered?.append(.init(name: name, value: value))
            } else if object.count < insertionLimit {
                guard object.insert(name, value) else { throw .duplicateName(path: path().text) }
            } else if !object.append(name, value) {
                unordered = Array(object) + [.init(name: name, value: value)]
            }
        }
        unsafe index += 1
        guard let unordered else { return object }
        guard let sorted = JSONObject(unordered: unordered) else { throw .duplicateName(path: path().text) }
        return sorted
    }

    private func string(at word: UInt64) -> String {
        let start = unsafe strings + Int(word & 0x00FF_FFFF_FFFF_FFFF)
        let count = unsafe Int(UnsafeRawPointer(start).loadUnaligned(as: UInt32.self))
        // simdjson has looked at every byte: it takes nothing but UTF-8.
        return unsafe String(validated: Span(_unsafeElements: UnsafeBufferPointer(start: start + 4, count: count)))
    }
}
