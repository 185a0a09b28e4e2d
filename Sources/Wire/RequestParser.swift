import Model

/// Reads request lines, one at a time, without a memory of earlier ones.
///
/// Keeps the buffers of its JSON parser. Not thread-safe; one a thread.
public final class RequestParser {
    private let json = JSONParser()

    public init() {}

    /// Understands one line, as ``LineDecoder`` delivers it.
    ///
    /// Never fails: a faulty request is ``Command/refused(_:)``, with its `id=` wherever that can be read.
    public func parse(_ line: Span<UInt8>) -> Request {
        let (id, command, ignored) = parts(of: line)
        return Request(id: id, command: command, ignored: ignored)
    }

    /// The same, in parts: who takes a ``Request`` apart copies what it holds.
    public func parts(of line: Span<UInt8>) -> (id: String?, command: Command, ignored: [String]) {
        guard let verbEnd = line.verbEnd() else { return (nil, .refused(.noVerb(line)), []) }
        // A line without a known verb is read like PING, for the sake of its id.
        let verb = line.packed(0..<verbEnd, uppercase: true).flatMap(VerbDescription.find)
        let words = Words(line, behind: verbEnd, of: verb ?? .plain)
        let id = words[.id].map { line.text($0) }
        guard verb != nil else { return (id, .refused(.unknownVerb(line.quoted(0..<verbEnd))), []) }
        let ignored = words.ignored
        do throws(WireError) {
            return (id, try command(consume words, line), ignored)
        } catch {
            return (id, .refused(error), [])
        }
    }

    private func command(_ words: consuming Words, _ line: Span<UInt8>) throws(WireError) -> Command {
        if let fault = words.fault { throw fault }
        var tail: JSONObject?
        if let start = words.tail { tail = try json.object(in: line, from: start) }
        return try Arguments(words: words, tail: tail).command(line)
    }
}
