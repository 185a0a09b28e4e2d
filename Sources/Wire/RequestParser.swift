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
        guard let verbEnd = line.verbEnd() else { return Request(command: .refused(.noVerb(line))) }
        // A line without a known verb is read like PING, for the sake of its id.
        let verb = line.packed(0..<verbEnd, uppercase: true).flatMap(VerbDescription.find)
        let words = Words(line, behind: verbEnd, of: verb ?? .plain)
        let id = words[.id].map { line.text($0) }
        guard verb != nil else {
            return Request(id: id, command: .refused(.unknownVerb(line.quoted(0..<verbEnd))))
        }
        let ignored = words.ignored
        let command: Command
        do throws(WireError) {
            command = try self.command(consume words, line)
        } catch {
            return Request(id: id, command: .refused(error))
        }
        return Request(id: id, command: consume command, ignored: ignored)
    }

    private func command(_ words: consuming Words, _ line: Span<UInt8>) throws(WireError) -> Command {
        if let fault = words.fault { throw fault }
        var tail: JSONObject?
        if let start = words.tail { tail = try json.object(in: line, from: start) }
        return try Arguments(words: words, tail: tail).command(line)
    }
}
