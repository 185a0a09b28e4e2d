internal import CTelltaleSimdJSON

/// The reason why bytes are not a JSON value that Telltale accepts.
public enum JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not JSON by RFC 8259, deeper than ``JSON/depthLimit``, or a number beyond a double. The text is simdjson's
    /// message.
    case malformed(String)
    /// Two members of one object have the same name. The path leads to the object.
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

/// Parses JSON text with simdjson and enforces I-JSON (RFC 7493): no duplicate names, no inexact integers.
///
/// Keeps its buffers from one parse to the next. Not thread-safe: use one parser per thread.
@safe public final class JSONParser {
    // simdjson owns this memory. It is freed in `deinit` alone, and no pointer into it leaves `parse`.
    private let parser: OpaquePointer
    /// The output buffer; `nil` during a parse. No other code accesses it, so the dynamic exclusivity check on each
    /// event is switched off.
    @exclusivity(unchecked) private var spare: BinaryWriter?

    /// Far larger than any line or file. Below it, a text holds fewer values than the tape's 24-bit counters can count.
    private static let byteCountLimit = 1 << 24

    public init() {
        guard let parser = unsafe csimdjson_create() else { fatalError("no memory for a JSON parser") }
        unsafe self.parser = parser
    }

    deinit {
        unsafe csimdjson_free(parser)
    }

    /// - Throws: ``JSONError``. Text of 16 MiB or more is ``JSONError/malformed(_:)``, too.
    public func parse(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        guard bytes.count < Self.byteCountLimit else { throw .malformed("16 MiB or more") }
        var document = unsafe csimdjson_document()
        let status = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe csimdjson_parse(parser, buffer.baseAddress, buffer.count, JSON.depthLimit, &document)
        }
        guard status == 0 else { throw .malformed(unsafe String(cString: csimdjson_message(status))) }
        // The tape is valid until the next parse, which is longer than this reader lives.
        let reader = unsafe TapeReader(tape: document.tape, strings: document.strings)
        var writer = unsafe spare.take() ?? BinaryWriter()
        let fault = unsafe reader.fault(writing: &writer)
        let form = writer.take()
        unsafe spare = consume writer
        if let fault { throw unsafe reader.error(fault) }
        // The object is the whole buffer, so its end need not be searched.
        if form[0] == JSONTag.object { return .object(JSONObject(form: form, 0..<form.count)) }
        var offset = 0
        return JSON(form: form, at: &offset)
    }

    public static func parse(_ text: String) throws(JSONError) -> JSON {
        var text = text
        text.makeContiguousUTF8()
        return try JSONParser().parse(text.utf8.span)
    }
}

/// The place on the tape of a construct that JSON allows and I-JSON forbids.
private enum TapeFault: Error {
    case integerTooLarge(Int)
    /// The place of the object on the tape.
    case duplicateName(Int)
}

/// Walks simdjson's tape: one word a value, its type in the top byte, its payload below (CSimdJSON.h names its description).
///
/// Safe because simdjson wrote the tape after validating the text: every index on it is within bounds.
@unsafe private struct TapeReader {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>

    init(tape: UnsafePointer<UInt64>, strings: UnsafePointer<UInt8>) {
        unsafe self.tape = tape
        unsafe self.strings = strings
    }

    /// Writes the encoding of the whole document.
    ///
    /// - Returns: The fault, if there is one. The bytes written are then unusable.
    func fault(writing form: inout BinaryWriter) -> TapeFault? {
        do throws(TapeFault) {
            var index = 1  // Word 0 is the root.
            unsafe try passValue(at: &index, to: &form)
            return nil
        } catch {
            return error
        }
    }

    /// Appends the encoding of the value at `index` and advances `index` past it.
    func passValue(at index: inout Int, to form: inout BinaryWriter) throws(TapeFault) {
        let word = unsafe tape[index]
        let start = index
        index += 1
        switch unsafe type(at: start) {
        case UInt8(ascii: "n"): form.write(JSONTag.null)
        case UInt8(ascii: "t"): form.write(JSONTag.true)
        case UInt8(ascii: "f"): form.write(JSONTag.false)
        case UInt8(ascii: "\""):
            form.write(JSONTag.string)
            unsafe form.write(counted: string(at: word).span)
        case UInt8(ascii: "l"):
            let integer = unsafe Int64(bitPattern: tape[index])
            index += 1
            guard integer.magnitude <= UInt64(JSON.integerLimit) else { throw .integerTooLarge(start) }
            form.write(JSON.integer(integer))
        case UInt8(ascii: "u"): throw .integerTooLarge(start)
        case UInt8(ascii: "d"):
            form.write(JSON(unsafe Double(bitPattern: tape[index])))
            index += 1
        case UInt8(ascii: "["):
            form.write(JSONTag.array)
            form.write(UInt64(unsafe count(at: start)))
            while unsafe type(at: index) != UInt8(ascii: "]") { unsafe try passValue(at: &index, to: &form) }
            index += 1
        default: unsafe try passObject(at: start, &index, to: &form)
        }
    }

    private func passObject(at start: Int, _ index: inout Int, to form: inout BinaryWriter) throws(TapeFault) {
        let count = unsafe count(at: start)
        form.write(JSONTag.object)
        form.write(UInt64(count))
        let members = form.count
        var isInOrder = true
        var last: UInt64?
        while unsafe type(at: index) != UInt8(ascii: "}") {
            let word = unsafe tape[index]
            index += 1
            let name = unsafe string(at: word)
            if let last, isInOrder { isInOrder = unsafe string(at: last).span.precedes(name.span) }
            last = word
            unsafe form.write(counted: name.span)
            unsafe try passValue(at: &index, to: &form)
        }
        index += 1
        guard isInOrder || form.sortMembers(count, from: members) else { throw .duplicateName(start) }
    }

    private func type(at index: Int) -> UInt8 { unsafe UInt8(truncatingIfNeeded: tape[index] >> 56) }

    /// The number of elements or members. The tape counts up to 2^24 − 1, which ``JSONParser`` never reaches.
    private func count(at start: Int) -> Int { unsafe Int(tape[start] >> 32 & 0xFF_FFFF) }

    /// The index after the value at `index`.
    private func end(of index: Int) -> Int {
        switch unsafe type(at: index) {
        case UInt8(ascii: "["), UInt8(ascii: "{"): unsafe Int(tape[index] & 0xFFFF_FFFF)
        case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): index + 2
        default: index + 1
        }
    }

    private func string(at word: UInt64) -> UnsafeBufferPointer<UInt8> {
        let start = unsafe strings + Int(word & 0x00FF_FFFF_FFFF_FFFF)
        let count = unsafe Int(UnsafeRawPointer(start).loadUnaligned(as: UInt32.self))
        return unsafe UnsafeBufferPointer(start: start + 4, count: count)
    }

    // MARK: Errors

    func error(_ fault: TapeFault) -> JSONError {
        switch fault {
        case .integerTooLarge(let index): .integerTooLarge(path: unsafe path(to: index))
        case .duplicateName(let index): .duplicateName(path: unsafe path(to: index))
        }
    }

    /// The path of the value at `target`, for an error message.
    private func path(to target: Int) -> String {
        var path = ""
        var container = 1
        while container < target {
            let isObject = unsafe type(at: container) == UInt8(ascii: "{")
            var position = 0
            var index = container + 1
            while true {
                var name = "[\(position)]"
                if isObject {
                    name = path.isEmpty ? "" : "."
                    name += unsafe String(validated: string(at: tape[index]).span)
                    index += 1
                }
                let next = unsafe end(of: index)
                if target < next {
                    path += name
                    break
                }
                position += 1
                index = next
            }
            container = index
        }
        return path
    }
}
