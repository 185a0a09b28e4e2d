internal import TelltaleModel

/// A line between a node of a cluster and its leader, after the leader has accepted `NODE`.
///
///     GUEST NUMBER {"client":…}   to the leader: what the client of connection NUMBER said of itself
///     ALL PROCESS                 to the leader: every client of this process that serves a kind has been named
///     FWD NUMBER LINE             to the leader: a request of that client, as it came
///     GONE NUMBER                 to the leader: the connection has ended
///     RE NUMBER SEQ LINE          to the node: the reply to its oldest unanswered request, at the commit SEQ
///     AGAIN NUMBER                to the node: its unanswered requests were not decided
///     GONE NUMBER                 to the node: the fate of its unanswered requests is not known
///
/// NUMBER is ``SessionID/number`` of the node's connection, and PROCESS the part of it that all connections of the process share.
struct LinkLine {
    enum Verb: String {
        case guest = "GUEST"
        case all = "ALL"
        case forward = "FWD"
        case gone = "GONE"
        case reply = "RE"
        case again = "AGAIN"
    }

    let verb: Verb
    /// Of a connection; with ``Verb/all``, of a process.
    let number: Int64
    /// Of a reply; otherwise 0.
    let sequence: Int64
    /// What follows: the request, the reply or the JSON.
    let rest: Range<Int>

    /// A request may be as long as any node allows, and what a client says of itself grows when it is written as JSON.
    static let lengthLimit = 4 << 20
    private static let wordLimit = 32

    /// Reads a line; `nil` for any other, such as the greeting and `MARK`.
    init?(_ line: Span<UInt8>) {
        var offset = 0
        guard let verb = Verb(rawValue: Self.word(of: line, at: &offset)),
            let number = Int64(Self.word(of: line, at: &offset))
        else { return nil }
        (self.verb, self.number) = (verb, number)
        if verb == .reply {
            guard let sequence = Int64(Self.word(of: line, at: &offset)) else { return nil }
            self.sequence = sequence
        } else {
            sequence = 0
        }
        rest = offset..<line.count
    }

    /// Reads the word at `offset`, and advances `offset` past the blank after it.
    private static func word(of line: Span<UInt8>, at offset: inout Int) -> String {
        var word: [UInt8] = []
        while offset < line.count, line[offset] != UInt8(ascii: " "), word.count < wordLimit {
            word.append(line[offset])
            offset += 1
        }
        offset = min(offset + 1, line.count)
        return String(decoding: word, as: UTF8.self)
    }

    /// Writes a line.
    static func write(_ verb: Verb, _ number: Int64, _ sequence: Int64? = nil, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: verb.rawValue.utf8)
        for value in [number, sequence].compactMap(\.self) {
            bytes.append(UInt8(ascii: " "))
            bytes.append(contentsOf: String(value).utf8)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes a line that ends with a request or a reply.
    static func write(
        _ verb: Verb, _ number: Int64, _ sequence: Int64? = nil, rest: Span<UInt8>, to bytes: inout [UInt8]
    ) {
        write(verb, number, sequence, to: &bytes)
        bytes[bytes.count - 1] = UInt8(ascii: " ")
        bytes.append(copying: rest)
        bytes.append(UInt8(ascii: "\n"))
    }
}

extension Span<UInt8> {
    func bytes(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(copying: extracting(range))
        return bytes
    }
}
