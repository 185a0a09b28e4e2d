import TelltaleModel
import TelltaleWire

/// One line as a client reads it: its head, and its tail as it came, because most tails are only compared.
struct ClientLine {
    private let head: ServerLine
    /// The JSON object at its end, or nothing.
    let text: [UInt8]

    init(_ line: Span<UInt8>, parser: JSONParser) throws(WireError) {
        var end = 0
        while end < line.count, line[end] != UInt8(ascii: "{") { end += 1 }
        // A comment may hold anything.
        if line[0] == UInt8(ascii: "#") { end = line.count }
        head = try ServerLine(line.extracting(0..<end), parser: parser)
        var text: [UInt8] = []
        text.reserveCapacity(line.count - end)
        for index in end..<line.count { text.append(line[index]) }
        self.text = text
    }

    var verb: String { head.verb }
    subscript(name: String) -> String? { head[name] }
    func integer(_ name: String) -> Int64? { head.integer(name) }

    /// The tail, understood.
    var tail: JSONObject? { text.isEmpty ? nil : (try? JSONParser().parse(text.span))?.object }
    /// All of it, understood.
    var whole: ServerLine {
        ServerLine(verb: head.verb, words: head.words, attributes: head.attributes, tail: tail)
    }
}

/// The lines of one connection, as a client reads them.
struct ClientLines {
    private var decoder = LineDecoder(lineLengthLimit: 1 << 20, deliversComments: true)
    private let parser = JSONParser()
    private var count = 0

    /// Every so many lines are parsed whole even by clients that keep tails as bytes, so that invalid JSON is found.
    private static let sampling = 16

    mutating func read(_ bytes: [UInt8]) -> (lines: [ServerLine], fault: String?) {
        var lines: [ServerLine] = []
        let fault = forEach(in: bytes) { line, parser throws(WireError) in
            lines.append(try ServerLine(line, parser: parser))
        }
        return (lines, fault)
    }

    /// The same, with tails as they came.
    mutating func readHeads(_ bytes: [UInt8]) -> (lines: [ClientLine], fault: String?) {
        var lines: [ClientLine] = []
        var count = count
        let fault = forEach(in: bytes) { line, parser throws(WireError) in
            count += 1
            if count % Self.sampling == 0 { _ = try ServerLine(line, parser: parser) }
            lines.append(try ClientLine(line, parser: parser))
        }
        self.count = count
        return (lines, fault)
    }

    /// - Returns: The fault of the first line that cannot be parsed.
    private mutating func forEach(
        in bytes: [UInt8], _ body: (Span<UInt8>, JSONParser) throws(WireError) -> Void
    ) -> String? {
        let parser = parser
        var fault: String?
        do throws(WireError) {
            try decoder.decode(bytes.span) { line in
                do throws(WireError) { try body(line, parser) } catch { fault = fault ?? error.message }
            }
        } catch {
            fault = fault ?? error.message
        }
        return fault
    }

    mutating func begin() { decoder = LineDecoder(lineLengthLimit: 1 << 20, deliversComments: true) }
}
