import Foundation
import TelltaleWire
import Testing

/// `Protocols/Line/line-protocol.abnf` against everything that is shown as the protocol.
struct GrammarTests {
    private static let grammar = Result {
        try Grammar(
            String(contentsOf: repository.appending(path: "Protocols/Line/line-protocol.abnf"), encoding: .utf8))
    }

    @Test("The grammar accepts the lines of clients, except deliberately broken ones", arguments: Transcript.all)
    func requests(transcript: Transcript) throws {
        let grammar = try Self.grammar.get()
        for step in transcript.steps {
            guard case .send(let text, let isWellFormed) = step.action else { continue }
            let line = Self.sample(text)
            // The matcher remembers every place of a long text; the grammar has no rule about length there.
            if line.utf8.count > 2000 { continue }
            let verb = line.prefix { $0 != " " }.uppercased()
            let rule = Verb(rawValue: verb) == nil ? "client-line" : "known-request"
            #expect(grammar.matches(rule, line) == isWellFormed, "\(transcript.name):\(step.number): \(line)")
        }
    }

    @Test("A line of the server is by the grammar", arguments: Transcript.all)
    func replies(transcript: Transcript) throws {
        let grammar = try Self.grammar.get()
        for step in transcript.steps {
            guard case .expect(let text) = step.action, !text.hasSuffix("<any>") else { continue }
            let line = Self.sample(text)
            #expect(grammar.matches("server-line", line), "\(transcript.name):\(step.number): \(line)")
        }
    }

    @Test("The examples of HELP are by the grammar", arguments: VerbDescription.all.map(\.example))
    func examples(line: String) throws {
        #expect(try Self.grammar.get().matches("known-request", line))
    }

    @Test(
        "What the parser refuses for its form is not by the grammar",
        arguments: [
            "EVT", "EVT a type=x", "EVT a/b c/d", "EVT a/b  type=x", "SUB", "SUB a", "UNSUB 1", "GET a/*",
            "PING x", "SERVE a/b", "P", "EVT a/b type=", "EVT a/b type=x {", "EVT a/b {} x=1",
            "EVT a/b A=1", "PING {\"a\":01}", "PING {\"a\":\"\t\"}", "TRAIT",
        ])
    func malformed(line: String) throws {
        #expect(!(try Self.grammar.get().matches("known-request", line)))
        guard case .refused = RequestParser().parse(Array(line.utf8).span).command else {
            return #expect(Bool(false), "the parser takes it")
        }
    }

    /// A line with every placeholder filled in.
    private static func sample(_ text: String) -> String {
        LinePattern.readable(text.replacing(#","...":true"#, with: ""))
            .replacing(#"{"...":true}"#, with: "{}").replacing(#","...":true}"#, with: "}")
            .replacing(/<(?:now|ms)[+-][0-9]+>/, with: "1763719200")
            .replacing(/"<[a-z0-9:]+>"/, with: "1")
            .replacing(/cur=<[a-z0-9:]+>:<[a-z0-9:]+>:<[a-z:]+>/, with: "cur=6f3a91c2d0e4b577:1:b0e4")
            .replacing(/cur=<[a-z0-9:]+>/, with: "cur=6f3a91c2d0e4b577:1:b0e4")
            .replacing(/from=<[a-z0-9]+>(?=[: ]|$)/, with: "from=6f3a91c2d0e4b577")
            .replacing(/epoch=<[a-z0-9:]+>/, with: "epoch=6f3a91c2d0e4b577")
            .replacing("wait=<word>", with: "wait=1-2")
            .replacing(/<[a-z0-9:]+>/, with: "1")
    }
}
