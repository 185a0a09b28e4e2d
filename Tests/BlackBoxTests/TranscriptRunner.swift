import Foundation
import TestSupport
import Testing

/// Holds one conversation with a daemon of its own. Blocking.
final class TranscriptRunner {
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    private let transcript: Transcript
    private let daemon: DaemonProcess
    private var peers: [String: Peer] = [:]
    /// What placeholders have remembered.
    private var names: [String: String] = [:]

    init(_ transcript: Transcript) throws {
        self.transcript = transcript
        daemon = try DaemonProcess(transcript.options)
    }

    func run() throws {
        for step in transcript.steps {
            do {
                try perform(step)
            } catch {
                let log = daemon.standardError.split(separator: "\n").suffix(5).joined(separator: "\n")
                throw Difference(description: "\(transcript.name):\(step.number): \(error)\n\(log)")
            }
        }
    }

    private func perform(_ step: Transcript.Step) throws {
        let peer = try peer(of: step)
        switch step.action {
        case .send(let text, _): try peer.send(fill(text))
        case .sendBytes(let bytes): try peer.socket.send(bytes)
        case .halfClose: peer.socket.shutdownWrite()
        case .close: peers[step.connection] = nil
        case .terminate: daemon.send(SIGTERM)
        case .expectEnd:
            switch nextLine(of: peer, expecting: "") {
            case .end, .reset: break
            case let other: throw Difference(description: "expected the end, got \(other)")
            }
        case .expect(let text):
            let received = nextLine(of: peer, expecting: text)
            guard case .line(let line) = received else {
                throw Difference(description: "expected \(text), got \(received)")
            }
            guard LinePattern(text: text).matches(line, &names) else {
                throw Difference(description: "expected \(text)\n     got \(line)")
            }
        }
    }

    /// Heartbeats come when they come: they are expected by name or passed over.
    private func nextLine(of peer: Peer, expecting text: String) -> Peer.Incoming {
        while true {
            let received = peer.next()
            if case .line(let line) = received, line.hasPrefix("MARK "), !text.hasPrefix("MARK ") { continue }
            return received
        }
    }

    /// The connection of a step, opened at its first one. A conversation that does not begin with the greeting has it
    /// read beforehand.
    private func peer(of step: Transcript.Step) throws -> Peer {
        if let peer = peers[step.connection] { return peer }
        if case .terminate = step.action, let any = peers.values.first { return any }
        let peer = try Peer(port: daemon.port)
        peers[step.connection] = peer
        if case .expect = step.action { return peer }
        guard case .line(let greeting) = peer.next() else { throw Difference(description: "no greeting") }
        for word in greeting.split(separator: " ") where word.hasPrefix("now=") {
            names["now"] = String(word.dropFirst(4))
        }
        return peer
    }

    /// What was remembered, and `<now+N>`: the server's clock at the last greeting and N seconds, as Unix seconds;
    /// `<ms+N>`, the same in milliseconds.
    private func fill(_ text: String) -> String {
        let now = names["now"].flatMap { Int64($0) } ?? 0
        return LinePattern.filled(text, names)
            .replacing(/<now([+-][0-9]+)>/) { "\(now / 1000 + (Int64($0.output.1) ?? 0))" }
            .replacing(/<ms([+-][0-9]+)>/) { "\(now + (Int64($0.output.1) ?? 0) * 1000)" }
    }
}

struct TranscriptTests {
    @Test("Protocols/Line/transcripts", arguments: Transcript.all)
    func transcript(_ transcript: Transcript) async throws {
        try await onOwnThread { try TranscriptRunner(transcript).run() }
    }

    @Test func `the transcripts are there`() {
        #expect(Transcript.all.count >= 15)
    }
}
