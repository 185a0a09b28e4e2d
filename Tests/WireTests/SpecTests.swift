import Foundation
import TelltaleWire
import Testing

/// The tables in `Protocols/Line/line-protocol.md` equal the server's.
///
/// `TELLTALE_UPDATE=1 swift test --filter SpecTests` writes them.
@Suite(.serialized)
struct SpecTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Protocols/Line/line-protocol.md")

    @Test func `the page lists every error code as it is`() throws {
        try compare("errors", with: Self.errorTable)
    }

    @Test func `the page lists every verb as it is`() throws {
        try compare("verbs", with: Self.verbTable)
    }

    private static let errorTable =
        "| Code | `retry` | |\n|---|---|---|\n"
        + ErrorCode.allCases.map { code in
            "| `\(code.rawValue)` | \(code.retry.rawValue)\(code.isFatal ? ", fatal" : "") | \(code.summary) |\n"
        }.joined()

    private static let verbTable = VerbDescription.all.map { verb in
        "**`\(verb.usage)`** \(verb.summary).\n\n"
            + verb.attributes.map { "- `\($0.text)=\($0.placeholder)` \($0.summary)\n" }.joined()
            + (verb.attributes.isEmpty ? "" : "\n")
    }.joined()

    private func compare(_ name: String, with table: String) throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        let begin = try #require(page.range(of: "<!-- \(name):"))
        let lineEnd = try #require(page[begin.upperBound...].firstIndex(of: "\n"))
        let end = try #require(page.range(of: "<!-- /\(name) -->"))
        let start = page.index(after: lineEnd)
        if ProcessInfo.processInfo.environment["TELLTALE_UPDATE"] != nil {
            try (page[..<start] + table + page[end.lowerBound...]).write(
                to: Self.page, atomically: true, encoding: .utf8)
        } else {
            // Not the texts themselves: a failure would print both in full.
            let isSame = String(page[start..<end.lowerBound]) == table
            #expect(isSame, "TELLTALE_UPDATE=1 swift test --filter SpecTests writes it")
        }
    }
}
