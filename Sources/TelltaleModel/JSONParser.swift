/// The reason why bytes are not a JSON value that Telltale accepts.
public enum JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not JSON by RFC 8259, deeper than ``JSON/depthLimit``, or a number beyond a double. The text says where and why.
    case malformed(String)
    /// Two members of one object have the same name. The path leads to the object.
    case duplicateName(path: String)
    /// More members than the caller takes, in all objects of the text together. Reported before any other I-JSON fault.
    case tooManyNames(limit: Int)
    /// A whole number outside ±(2^53 − 1).
    case integerTooLarge(path: String)

    public var description: String {
        switch self {
        case .malformed(let reason): reason
        case .duplicateName(let path): "a name stands twice in \(path.isEmpty ? "the object" : path)"
        case .tooManyNames(let limit): "its objects have more than \(limit) names"
        case .integerTooLarge(let path): "\(path.isEmpty ? "a number" : path) is outside ±(2^53-1)"
        }
    }
}

/// Parses JSON text and enforces I-JSON (RFC 7493): no duplicate names, no inexact integers.
///
/// Without a ``JSONTapeWriter`` it depends only on Swift. With one it is faster, but accepts the same texts with the
/// same values and errors; the daemon uses one for the tails of requests.
///
/// Keeps its buffers from one parse to the next. Not thread-safe: use one parser per thread.
@safe public final class JSONParser {
    private let tapes: (any JSONTapeWriter)?
    /// The output buffer; `nil` during a parse. No other code accesses it, so the dynamic exclusivity check on each
    /// event is switched off.
    @exclusivity(unchecked) private var spare: BinaryWriter?

    /// Far larger than any line or file. Below it, a text holds fewer values than a tape's 24-bit counters can count.
    private static let byteCountLimit = 1 << 24

    public init() {
        tapes = nil
    }

    /// - Parameter tapes: The library that reads the texts.
    package init(tapes: any JSONTapeWriter) {
        self.tapes = tapes
    }

    /// The shortest text of a member, with its comma: `"":1,`.
    private static let leastBytesOfMember = 5

    /// - Parameter nameLimit: The most names of all objects together. A text with more is refused before it is sorted.
    /// - Throws: ``JSONError``. Text of 16 MiB or more is ``JSONError/malformed(_:)``, too.
    public func parse(_ bytes: Span<UInt8>, nameLimit: Int = .max) throws(JSONError) -> JSON {
        guard bytes.count < Self.byteCountLimit else { throw .malformed("16 MiB or more") }
        var writer = unsafe spare.take() ?? BinaryWriter()
        var isWritten = false
        // Few texts are long enough to have so many, and the names of the others need not be counted.
        let mayHaveMore = bytes.count / Self.leastBytesOfMember >= nameLimit
        if let tapes, let tape = unsafe tapes.tape(of: bytes) {
            // The tape is valid until the next parse, which is longer than this reader lives.
            let reader = unsafe TapeReader(tape: tape.words, strings: tape.strings)
            if mayHaveMore, unsafe reader.hasMoreNames(than: nameLimit) {
                unsafe spare = consume writer
                throw .tooManyNames(limit: nameLimit)
            }
            isWritten = unsafe reader.write(to: &writer)
            if !isWritten { writer.removeAll(from: 0) }
        }
        // A text that the library refuses is parsed again, to find the place of the fault.
        if !isWritten {
            var reader = JSONReader(writingInto: writer, nameLimit: nameLimit)
            let result = reader.result(of: bytes)
            writer = reader.takeForm()
            if case .failure(let error) = result {
                _ = writer.take()
                unsafe spare = consume writer
                throw error
            }
        }
        let form = writer.take()
        unsafe spare = consume writer
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
