public import TelltaleModel

/// Parses request lines, one at a time, without state between lines.
///
/// Keeps the buffers of its JSON parser. Not thread-safe: use one parser per thread.
public final class RequestParser {
    private let json: JSONParser

    /// - Parameter json: Parses the tails.
    public init(json: JSONParser = JSONParser()) {
        self.json = json
    }

    /// Parses one line, as ``LineDecoder`` delivers it.
    ///
    /// Never fails: an invalid request becomes ``Command/refused(_:)``, with its `id=` if that is readable.
    public func parse(_ line: Span<UInt8>) -> Request {
        let (id, command, ignored) = parts(of: line)
        return Request(id: id, command: command, ignored: ignored)
    }

    /// The same result as a tuple, whose parts the caller takes without copying a ``Request``.
    public func parts(of line: Span<UInt8>) -> (id: String?, command: Command, ignored: [String]) {
        guard let verbEnd = line.verbEnd() else { return (nil, .refused(.noVerb(line)), []) }
        // A line with an unknown verb is read like `PING`, to find its id.
        let verb = line.packed(0..<verbEnd, uppercase: true).flatMap(VerbDescription.find)
        var arguments = Arguments(line, behind: verbEnd, of: verb ?? .plain)
        let id = arguments.words[.id].map { line.text($0) }
        guard verb != nil else { return (id, .refused(.unknownVerb(line.quoted(0..<verbEnd))), []) }
        do throws(WireError) {
            if let fault = arguments.words.fault { throw fault }
            if let start = arguments.words.tail {
                arguments.tail = try json.object(in: line, from: start, nameLimit: WireLimits.tailNameCount)
            }
            return (id, try arguments.command(line), arguments.words.ignored)
        } catch {
            return (id, .refused(error), [])
        }
    }
}
