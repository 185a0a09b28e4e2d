import ArgumentParser
import Console
import Foundation
import Glibc
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// One connection of `telltale connect`, from standard input to standard output.
final class ConnectSession {
    private let endpoint: Endpoint
    private let tls: ClientTLS?
    private let hello: Hello?
    private let loop: EventLoop
    /// `nil` into or out of a pipe.
    private let prompt: Prompt?

    private var attempt: ConnectAttempt?
    private var connection: Connection?
    private var input: StandardInput?
    private var timer: TimerHandle?
    private var signals: [SignalHandle] = []

    /// Bytes for the daemon that it has not taken yet.
    private var outgoing: [UInt8] = []
    /// The beginning of a line whose end has not come.
    private var incoming: [UInt8] = []
    private var isGreeted = false
    /// Whether the piped input ended in a line end.
    private var endsInLine = true
    /// Whether the daemon is expected to close, because the input has ended or contained BYE.
    private var isLeaving = false
    private var hasFailed = false
    private var outcome: ExitCode?
    /// Requests without a reply, in the order of their replies.
    private var pending: [Origin] = []

    /// The origin of a request. Answers to this program's own requests are not shown.
    private enum Origin {
        case user, hello, kinds, size, keys
    }

    private static let connectMilliseconds: Int64 = 10_000
    /// The longest line accepted from the daemon.
    private static let lineByteCount = 1 << 20
    /// With more keys than this, they are not requested, because the answer contains all of their rows.
    private static let keyLimit = 10_000

    init(to endpoint: Endpoint, tls: ClientTLS?, hello: Hello?) throws(UVError) {
        (self.endpoint, self.tls, self.hello) = (endpoint, tls, hello)
        loop = try EventLoop()
        prompt = Output.canDraw && isatty(STDIN_FILENO) == 1 ? Prompt() : nil
    }

    func run() throws {
        let context: TLSContext?
        do {
            context = try tls.map { try TLSContext(authorities: $0.authorities) }
        } catch {
            throw DaemonOptions.exit(after: .unreachable("cannot connect to \(endpoint) with TLS: \(error)"))
        }
        do {
            attempt = try ConnectAttempt(to: endpoint, on: loop, tls: context) { [unowned self] in connected($0) }
        } catch {
            throw DaemonOptions.exit(after: .unreachable("cannot connect to \(endpoint): \(error)"))
        }
        timer = try TimerHandle(on: loop) { [unowned self] _ in
            fail(.unreachable(isGreeted ? "" : "no greeting of a daemon came from \(endpoint)"))
        }
        timer?.schedule(afterMilliseconds: Self.connectMilliseconds)
        for signal in [SignalHandle.Signal.interrupt, .terminate, .hangUp] {
            signals.append(try SignalHandle(signal, on: loop) { [unowned self] in finish(.success) })
        }
        if let prompt { signals.append(try SignalHandle(.windowChanged, on: loop) { prompt.redraw() }) }
        loop.run()
        prompt?.end()
        if let outcome, outcome != .success { throw outcome }
        if hasFailed, prompt == nil { throw ExitCode.failure }
    }

    private func finish(_ outcome: ExitCode) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        loop.stop()
    }

    private func fail(_ failure: ClientFailure) {
        guard outcome == nil else { return }
        prompt?.end()
        finish(DaemonOptions.exit(after: failure))
    }

    // MARK: The connection

    private func connected(_ result: Result<Connection, UVError>) {
        attempt = nil
        switch result {
        case .failure(let error): fail(.unreachable(error.description))
        case .success(let connection):
            self.connection = connection
            connection.start(
                ConnectionHandlers(
                    onData: { [unowned self] _, bytes in received(bytes) },
                    onEnd: { connection in connection.close() },
                    onWritable: { [unowned self] _ in flush() },
                    onClosed: { [unowned self] _, reason in closed(reason) }))
        }
    }

    private func closed(_ reason: Connection.CloseReason) {
        connection = nil
        if isLeaving { return finish(.success) }
        switch reason {
        case .closed where hasFailed:
            prompt?.end()
            finish(.failure)
        case .closed:
            fail(isGreeted ? .lost("the daemon closed it") : .unreachable("\(endpoint) closed the connection"))
        case .failed(let error): fail(isGreeted ? .lost(error.description) : .unreachable(error.description))
        }
    }

    private func send(_ bytes: some Sequence<UInt8>) {
        outgoing += bytes
        flush()
    }

    private func flush() {
        if let connection, connection.isWritable, !outgoing.isEmpty {
            let bytes = outgoing
            outgoing = []
            _ = connection.write(bytes)
        }
        guard outgoing.isEmpty, connection?.isWritable == true else { return }
        if isLeaving { connection?.shutdownWrite() } else if prompt == nil { input?.readOn() }
    }

    private func ask(_ command: Command, _ origin: Origin) {
        var writer = LineWriter()
        writer.request(command)
        pending.append(origin)
        send(writer.bytes)
    }

    // MARK: What the daemon says

    private func received(_ bytes: Span<UInt8>) {
        for index in bytes.indices { incoming.append(bytes[index]) }
        var (start, text) = (0, "")
        while let end = incoming[start...].firstIndex(of: UInt8(ascii: "\n")) {
            text += shown(Array(incoming[start..<end]))
            start = end + 1
        }
        incoming.removeFirst(start)
        if let prompt { prompt.write(text) } else if !text.isEmpty { Output.write(text) }
        guard incoming.count <= Self.lineByteCount else {
            return fail(.lost("a line of \(endpoint) has no end; is it a telltale daemon?"))
        }
    }

    /// The line as printed, with its line end; empty if it is not printed.
    private func shown(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        let line = try? ServerLine(bytes.span, parser: JSONParser())
        if !isGreeted { greeted(line) }
        guard let line else { return printed(text) }
        if let key = line["key"] { prompt?.completion.keys.insert(key) }
        switch line.verb {
        case "OK", "ERR", "PONG": return isHidden(reply: line) ? "" : printed(text, verb: line.verb)
        case "KIND", "WIDGET", "HIST", "#": return isHidden(item: line) ? "" : printed(text)
        case "SNAP" where line.integer("sub") == 0: return isHidden(item: line) ? "" : printed(text)
        case "MARK" where prompt != nil: return ""
        case _: return printed(text, verb: line.verb)
        }
    }

    private func printed(_ text: String, verb: String = "") -> String {
        // A terminal obeys control characters even without a prompt.
        guard Output.isTerminal else { return text + "\n" }
        let harmless = Output.shown(text)
        let code = verb == "ERR" ? "31" : verb == "OK" || verb == "PONG" ? "32" : "36"
        guard prompt != nil, Output.hasColor, !verb.isEmpty else { return harmless + "\n" }
        return "\u{1B}[\(code)m\(verb)\u{1B}[0m\(harmless.dropFirst(verb.count))\n"
    }

    private func isHidden(item line: ServerLine) -> Bool {
        switch pending.first {
        case .kinds: if let name = line["name"] { prompt?.completion.kinds.append(name) }
        case .keys, .size, .hello: break
        case .user, nil: return false
        }
        return true
    }

    private func isHidden(reply line: ServerLine) -> Bool {
        guard !pending.isEmpty else {
            if line.verb == "ERR" { hasFailed = true }
            return false
        }
        let origin = pending.removeFirst()
        switch origin {
        case .user:
            if line.verb == "ERR" { hasFailed = true }
            return false
        case .hello:
            if line.verb == "ERR" { hasFailed = true }
            // On a terminal this answer is shown, because it names the principal.
            return prompt == nil && line.verb != "ERR"
        case .size:
            let entities = line.tail?["entities"]?.integer ?? .max
            prompt?.mayAskForKeys = entities <= Int64(Self.keyLimit)
        case .keys: prompt?.keysCame()
        case .kinds: break
        }
        return true
    }

    private func greeted(_ line: ServerLine?) {
        guard let line, line.verb == "TELLTALE" else {
            return fail(.unreachable(line?.message ?? "\(endpoint) is no telltale daemon"))
        }
        isGreeted = true
        timer?.cancel()
        if var hello {
            // A daemon that requires no token gets none.
            if line["auth"] == "none" { hello.token = nil }
            ask(.hello(hello), .hello)
        }
        if let prompt {
            ask(.kinds, .kinds)
            ask(.stats, .size)
            prompt.begin()
        }
        do throws(UVError) {
            input = try StandardInput(on: loop) { [unowned self] in typed($0) }
        } catch {
            fail(.lost(error.description))
        }
    }

    // MARK: What is typed

    private func typed(_ bytes: [UInt8]) {
        guard let prompt else { return piped(bytes) }
        guard !bytes.isEmpty else { return leave() }
        for outcome in prompt.handleBytes(bytes) {
            switch outcome {
            case .entered(let line): enter(line)
            case .keysWanted(let kind):
                if let pattern = TelltaleModel.Pattern("\(kind)/*") { ask(.list(pattern, view: .full), .keys) }
            case .ended: return leave()
            }
        }
        input?.readOn()
    }

    private func enter(_ line: String) {
        let words = line.split(separator: " ")
        guard let verb = words.first, !verb.hasPrefix("#") else { return }
        for word in words where Key(String(word)) != nil { prompt?.completion.keys.insert(String(word)) }
        // The answer to BYE is the end of the connection.
        if verb.uppercased() == Verb.bye.rawValue { isLeaving = true } else { pending.append(.user) }
        send(Array((line + "\n").utf8))
    }

    private func leave() {
        isLeaving = true
        ask(.bye, .user)
    }

    private func piped(_ bytes: [UInt8]) {
        if let last = bytes.last {
            endsInLine = last == UInt8(ascii: "\n")
            return send(bytes)
        }
        isLeaving = true
        if !endsInLine { outgoing.append(UInt8(ascii: "\n")) }
        flush()
    }
}
