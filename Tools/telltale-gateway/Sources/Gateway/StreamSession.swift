internal import TelltaleModel
internal import TelltaleWire

/// One stream's conversation with the daemon, without a socket: lines in; lines for the daemon and bytes for the reader out.
public struct StreamSession: ~Copyable {
    enum Phase: Hashable {
        case greeting
        case replies(Int)
        case following
        case over
    }

    /// The outcome of the stream; `nil` before.
    public enum Outcome: Sendable {
        /// The daemon accepted every subscription: the answer may begin.
        case opened
        /// The daemon refuses, before the answer began.
        case refused(Problem)
        /// The daemon has ended it, and the reader was notified.
        case ended
        /// Another daemon of the cluster serves, at this address if it is known: the stream continues there.
        case elsewhere(to: String?)
    }

    public let request: StreamRequest
    private let token: String?
    private let isContinued: Bool
    private var phase = Phase.greeting
    private var decoder = LineDecoder(lineLengthLimit: 1 << 20)
    private let parser = JSONParser()
    private var epoch = "-"
    private var now: Int64 = 0
    private var views: [String] = []
    public private(set) var encoder: StreamEncoder
    /// The principal of the token; `nil` before the daemon said it, and without tokens.
    public private(set) var status: PrincipalStatus?
    /// For the daemon.
    private var output: [UInt8] = []
    /// For the reader.
    private var events: [UInt8] = []
    private var outcomes: [Outcome] = []
    private var random: any RandomNumberGenerator

    /// Milliseconds of silence after which the daemon sends a `MARK`.
    public static let heartbeat = 15_000
    /// Rows of the first subscriptions wait for the reply to the last one. Beyond this size the answer begins earlier.
    private static let waitingByteLimit = 1 << 20

    /// - Parameters:
    ///   - continuing: The encoder of a connection that was lost: this one resumes it, unnoticed by the reader.
    ///   - unsent: The bytes not yet sent to its reader.
    public init(
        _ request: StreamRequest, token: String?, format: StreamEncoder.Format, continuing: StreamEncoder? = nil,
        unsent: [UInt8] = [],
        random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) {
        self.request = request
        self.token = token
        isContinued = continuing != nil
        encoder = continuing ?? StreamEncoder(format, cursors: request.cursors)
        events = unsent
        self.random = random
    }

    public mutating func takeOutput() -> [UInt8] {
        defer { output.removeAll(keepingCapacity: true) }
        return output
    }

    /// The bytes to send to the reader; none before ``Outcome/opened``.
    public mutating func takeEvents() -> [UInt8] {
        if case .replies = phase, !hasOpened { return [] }
        if phase == .greeting { return [] }
        defer { events.removeAll(keepingCapacity: true) }
        return events
    }

    /// The bytes not taken yet. After a lost connection, the next one sends them first.
    public var unsent: [UInt8] { events }

    public mutating func takeOutcomes() -> [Outcome] {
        defer { outcomes = [] }
        return outcomes
    }

    public mutating func takeCounts() -> [(index: Int, count: Int)] { encoder.takeCounts() }

    /// Whether the daemon accepted the stream. If the connection is lost later, that is a new loss and not a failed
    /// attempt.
    public private(set) var hasOpened = false

    /// Sends a heartbeat to a daemon that has received nothing for a while.
    public mutating func ping() {
        if phase != .greeting, phase != .over { output.append("PING\n") }
    }

    /// Takes what the daemon sent, in pieces of any size.
    public mutating func receive(_ bytes: Span<UInt8>) {
        guard phase != .over else { return }
        var decoder = LineDecoder(lineLengthLimit: 1 << 20)
        swap(&decoder, &self.decoder)
        do throws(WireError) {
            _ = try decoder.decodeSome(bytes) { line in
                receive(line: line)
                return phase != .over
            }
        } catch {
            refuse(
                Problem("version_unsupported", "what the daemon sends are no lines of the protocol: \(error.message)"))
        }
        self.decoder = decoder
    }

    private mutating func receive(line: Span<UInt8>) {
        switch phase {
        case .over: return
        case .greeting: greeted(line)
        case .replies(let number):
            if !reply(number, line), !push(line) { other(line) }
            if !hasOpened, events.count > Self.waitingByteLimit { open() }
        case .following:
            if !push(line) { other(line) }
        }
    }

    private mutating func push(_ line: Span<UInt8>) -> Bool {
        guard encoder.encode(line, into: &events) else { return false }
        // The daemon has received nothing for as long.
        if line[0] == UInt8(ascii: "M"), line.count > 1, line[1] == UInt8(ascii: "A") { ping() }
        return true
    }

    // MARK: The way in

    private mutating func greeted(_ bytes: Span<UInt8>) {
        guard let line = try? ServerLine(bytes, parser: parser) else {
            return refuse(Problem("version_unsupported", "the daemon's first line cannot be read"))
        }
        if let redirection = line.redirection { return go(redirection) }
        if line.verb == "ERR" { return refuse(Problem(line)) }
        guard line.verb == "TELLTALE", line.words.first == String(LineWriter.protocolVersion) else {
            return refuse(Problem("version_unsupported", "there is no daemon of protocol version 1 at that address"))
        }
        epoch = line["epoch"] ?? "-"
        now = line.integer("now") ?? 0
        var writer = LineWriter()
        var hello = Hello()
        hello.client = gatewayClientName
        hello.surface = request.situation.surface
        hello.capabilities = request.situation.capabilities
        hello.account = request.situation.account
        hello.heartbeat = Self.heartbeat
        let newest = encoder.begin(epoch)
        // Nodes of a cluster may lag behind each other.
        if line["node"] != nil { hello.after = newest }
        if line["auth"] ?? "none" != "none" { hello.token = token }
        writer.request(.hello(hello))
        if !request.situation.traits.isEmpty { writer.request(.traits(request.situation.traits)) }
        for index in request.selections.indices {
            let cursor = encoder.cursors[index]
            writer.request(
                .subscribe(request.command(index, from: nil)),
                resumingFrom: cursor.isEmpty ? nil : String(decoding: cursor, as: UTF8.self))
        }
        output += writer.bytes
        phase = .replies(0)
    }

    /// How many replies come before those of the subscriptions.
    private var introductionCount: Int { request.situation.traits.isEmpty ? 1 : 2 }

    private mutating func reply(_ number: Int, _ bytes: Span<UInt8>) -> Bool {
        guard bytes[0] == UInt8(ascii: "O") || bytes[0] == UInt8(ascii: "E"),
            let line = try? ServerLine(bytes, parser: parser), line.verb == "OK" || line.verb == "ERR"
        else { return false }
        guard line.verb == "OK" else {
            if let redirection = line.redirection { go(redirection) } else { refuse(Problem(line)) }
            return true
        }
        if number == 0 { status = PrincipalStatus(line) }
        if number >= introductionCount {
            views.append(line["view"] ?? "full")
            // Sent before the first row of that subscription.
            if request.isMalformed, !isContinued {
                encoder.reset(subscription: views.count, why: "malformed", into: &events)
            }
            // The earlier snapshot was incomplete, and may contain rows that this one lacks.
            let isResumed = isContinued || request.cursors.contains { $0 != nil }
            if isResumed, encoder.cursors[views.count - 1].isEmpty {
                encoder.reset(subscription: views.count, why: "cut", into: &events)
            }
        }
        if number + 1 < introductionCount + request.selections.count {
            phase = .replies(number + 1)
        } else {
            open()
            phase = .following
        }
        return true
    }

    private mutating func open() {
        guard !hasOpened else { return }
        hasOpened = true
        guard !isContinued else { return }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("epoch", epoch)
        writer.member("now", now)
        writer.objects("subs", of: request.selections.enumerated()) { subscription, writer in
            let (index, selection) = subscription
            writer.member("sub", index + 1)
            writer.member("pattern", selection.pattern.description)
            writer.member(
                "view", index < views.count ? views[index] : selection.view?.description ?? "full")
            if let placement = selection.placement { writer.member("placement", placement) }
        }
        writer.endObject()
        var first: [UInt8] = []
        encoder.open(Array(writer.bytes.dropFirst().dropLast()), into: &first)
        events = first + events
        outcomes.append(.opened)
    }

    // MARK: The end

    private mutating func other(_ bytes: Span<UInt8>) {
        guard bytes[0] == UInt8(ascii: "B") || bytes[0] == UInt8(ascii: "E"),
            let line = try? ServerLine(bytes, parser: parser), line.verb == "BYE" || line.verb == "ERR"
        else { return }
        if let redirection = line.redirection { return go(redirection) }
        // Before the subscriptions are answered the end of the connection is a failed attempt.
        guard phase == .following else { return }
        end(code: line["code"] ?? "shutting_down", wait: Self.wait(line["wait"], &random))
    }

    private mutating func go(_ redirection: Redirection) {
        phase = .over
        outcomes.append(.elsewhere(to: redirection.address))
    }

    private mutating func refuse(_ problem: Problem) {
        if hasOpened || isContinued {
            end(code: problem.code, wait: 5_000)
        } else {
            phase = .over
            outcomes.append(.refused(problem))
        }
    }

    /// Notifies the reader of the end, and of when to reconnect.
    public mutating func end(code: String, wait: Int) {
        guard phase != .over else { return }
        encoder.bye(code: code, wait: wait, into: &events)
        phase = .over
        outcomes.append(.ended)
    }

    /// A point of `LOW-HIGH`, in milliseconds, at most an hour.
    static func wait(_ text: String?, _ random: inout any RandomNumberGenerator) -> Int {
        let bounds = (text ?? "").split(separator: "-").compactMap { Int($0) }
        guard bounds.count == 2, bounds[0] >= 0, bounds[0] <= bounds[1] else { return 2_000 }
        let (low, high) = (min(bounds[0], 3_600_000), min(bounds[1], 3_600_000))
        return low + Int(random.next() % UInt64(high - low + 1))
    }
}

/// The `client=` of every connection of the gateway, always, so that an idempotency key holds across its restarts.
public let gatewayClientName = "gateway"
