import Foundation
import Kinds
import TelltaleModel
import Testing

/// Kind files in the documents: people copy them first.
struct ReadmeTests {
    @Test func `the kind file in the guide loads without an error or a warning`() throws {
        let guide = "../../Protocols/Guide/kinds.md"
        let page = try String(contentsOf: Shipped.folder.appending(path: guide).standardizedFileURL, encoding: .utf8)
        let start = try #require(page.range(of: "```json\n")).upperBound
        let end = try #require(page.range(of: "```", range: start..<page.endIndex)).lowerBound
        let (kinds, diagnostics) = KindSet.load(files: [("coffee-order.json", Array(page[start..<end].utf8))])
        #expect(diagnostics == [])
        #expect(kinds?.kinds.map(\.name) == ["coffee-order"])
    }

    @Test func `every machine in the reference loads without an error or a warning`() throws {
        let page = try String(contentsOf: Shipped.folder.appending(path: "README.md"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```json\n").dropFirst().map {
            String($0.prefix(upTo: $0.range(of: "```")?.lowerBound ?? $0.endIndex))
        }
        #expect(blocks.count >= 6)
        for block in blocks {
            var source = goodKind
            if case .object(var members) = source {
                members["machine"] = try JSONParser.parse(block)
                source = .object(members)
            }
            #expect(Kind.read(source, file: "README.md").diagnostics == [])
        }
    }
}
