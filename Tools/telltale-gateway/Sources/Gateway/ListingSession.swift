public import TelltaleModel
public import TelltaleWire

/// A long answer (`LIST`, `HISTORY`, `KINDS`, `GALLERY`): lines from the daemon in; lines for the daemon and the body
/// of the HTTP answer out. It has no socket and stores no lines.
public struct ListingSession: ~Copyable {
    /// How the session ended; `nil` before.
    public enum Outcome: Sendable {
        /// The daemon has sent everything, and the body is complete.
        case whole
        /// The daemon refuses, or aborts the answer in the middle.
        case refused(Problem)
        /// Another daemon of the cluster answers, at this address if it is known.
        case elsewhere(to: String?)
    }

    private enum Phase: Hashable {
        case greeting
        /// The number of replies before the answer.
        case introduction(Int)
        case items
        case over
    }

    public let request: ListingRequest
    private let token: String?
    private var phase = Phase.greeting
    private var decoder = LineDecoder(lineLengthLimit: 1 << 20)
    private let parser = JSONParser()
    private var output: [UInt8] = []
    private var body: [UInt8] = []
    /// The number of the answer's lines in the body.
    private var count = 0
    public private(set) var outcome: Outcome?
    /// The principal of the token; `nil` before the daemon said it, and without tokens.
    public private(set) var status: PrincipalStatus?

    public init(_ request: ListingRequest, token: String?) {
        self.request = request
        self.token = token
        request.begin(&body)
    }

    /// The bytes for the daemon.
    public mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// How many bytes ``takeBody()`` would return.
    public var bodyByteCount: Int { body.count }

    /// The next bytes of the body.
    public mutating func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }

    /// Takes bytes from the daemon, in pieces of any size. Bytes after the outcome are ignored.
    public mutating func receive(_ bytes: Span<UInt8>) {
        guard outcome == nil else { return }
        var decoder = LineDecoder(lineLengthLimit: 1 << 20)
        swap(&decoder, &self.decoder)
        do throws(WireError) {
            _ = try decoder.decodeSome(bytes) { line in
                receive(line: line)
                return outcome == nil
            }
        } catch {
            refuse(
                Problem("version_unsupported", "what the daemon sends are no lines of the protocol: \(error.message)"))
        }
        self.decoder = decoder
    }

    private mutating func receive(line: Span<UInt8>) {
        switch phase {
        case .greeting: greeted(line)
        case .introduction(let count): introduced(line, count)
        case .items: item(line)
        case .over: return
        }
    }

    private mutating func greeted(_ bytes: Span<UInt8>) {
        guard let line = try? ServerLine(bytes, parser: parser) else {
            return refuse(Problem("version_unsupported", "the daemon's first line cannot be read"))
        }
        if let redirection = line.redirection { return end(.elsewhere(to: redirection.address)) }
        if line.verb == "ERR" { return refuse(Problem(line)) }
        guard line.verb == "TELLTALE", line.words.first == String(LineWriter.protocolVersion) else {
            return refuse(Problem("version_unsupported", "there is no daemon of protocol version 1 at that address"))
        }
        let situation = request.situation
        var hello = Hello()
        hello.client = gatewayClientName
        hello.surface = situation.surface
        hello.account = situation.account
        hello.capabilities = situation.capabilities
        if line["auth"] ?? "none" != "none" { hello.token = token }
        var writer = LineWriter()
        writer.request(.hello(hello))
        if !situation.traits.isEmpty { writer.request(.traits(situation.traits)) }
        writer.request(request.command)
        output += writer.bytes
        phase = .introduction(situation.traits.isEmpty ? 1 : 2)
    }

    private mutating func introduced(_ bytes: Span<UInt8>, _ count: Int) {
        guard let line = reply(bytes) else { return }
        guard line.verb == "OK" else { return refused(line) }
        if status == nil { status = PrincipalStatus(line) }
        phase = count > 1 ? .introduction(count - 1) : .items
    }

    private mutating func item(_ bytes: Span<UInt8>) {
        if PushLine.begins(bytes, with: request.verb) {
            request.item(bytes, parser, isFirst: count == 0, &body)
            count += 1
        } else if let line = reply(bytes) {
            guard line.verb == "OK" else { return refused(line) }
            request.end(count, &body)
            end(.whole)
        }
    }

    /// `OK`, `ERR` and `BYE`; `nil` for a line that is none of them.
    private func reply(_ bytes: Span<UInt8>) -> ServerLine? {
        guard ["OK", "ERR", "BYE"].contains(where: { PushLine.begins(bytes, with: $0) }) else { return nil }
        return try? ServerLine(bytes, parser: parser)
    }

    private mutating func refused(_ line: ServerLine) {
        if let redirection = line.redirection { return end(.elsewhere(to: redirection.address)) }
        refuse(Problem(line))
    }

    private mutating func refuse(_ problem: Problem) { end(.refused(problem)) }

    private mutating func end(_ outcome: Outcome) {
        phase = .over
        self.outcome = outcome
    }
}

/// A request to the daemon with an answer of many lines, and the shape of the resulting body.
public struct ListingRequest: Sendable {
    /// Writes one line of the daemon as JSON.
    public typealias Write = @Sendable (Span<UInt8>, JSONParser, inout [UInt8]) -> Void

    public enum Format: Sendable {
        /// `{"NAME":[…],"count":n}`.
        case object(String)
        /// `{"key":KEY,"NAME":[…],"count":n}`.
        case objectOfKey(Key, String)
        /// One line each.
        case lines
    }

    public var command: Command
    public var situation: Situation
    /// The verb of the daemon's lines before its reply.
    let verb: StaticString
    private let format: Format
    private let write: Write

    public init(
        _ command: Command, verb: StaticString, _ format: Format, _ situation: Situation, write: @escaping Write
    ) {
        self.command = command
        self.verb = verb
        self.format = format
        self.situation = situation
        self.write = write
    }

    fileprivate func begin(_ body: inout [UInt8]) {
        switch format {
        case .object(let name): body += "{\"\(name)\":[".utf8
        case .objectOfKey(let key, let name): body += "{\"key\":\"\(key.text)\",\"\(name)\":[".utf8
        case .lines: break
        }
    }

    fileprivate func item(_ line: Span<UInt8>, _ parser: JSONParser, isFirst: Bool, _ body: inout [UInt8]) {
        if case .lines = format {
            write(line, parser, &body)
            body.append(0x0A)
        } else {
            if !isFirst { body.append(UInt8(ascii: ",")) }
            write(line, parser, &body)
        }
    }

    fileprivate func end(_ count: Int, _ body: inout [UInt8]) {
        if case .lines = format { return }
        body += "],\"count\":\(count)}".utf8
    }

    /// `{"key":…,"rev":…,"row":…}` of a `SNAP`: the row byte for byte as the daemon sent it.
    public static let row: Write = { line, _, body in
        let push = PushLine(line)
        body.append("{\"key\":")
        body.append(quoted: line, push.key)
        if !push.rev.isEmpty {
            body.append(",\"rev\":")
            body.append(line, push.rev)
        }
        body.append(",\"row\":")
        if let tail = push.tail { body.append(line, tail..<line.count) } else { body.append("{}") }
        body.append(UInt8(ascii: "}"))
    }
}
