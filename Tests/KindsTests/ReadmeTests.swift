import Foundation
import Kinds
import TelltaleModel
import Testing

/// What the README shows is what people copy first.
struct ReadmeTests {
    @Test func `the kind file in the README loads without an error or a warning`() throws {
        let readme = try String(
            contentsOf: Shipped.folder.appending(path: "../../README.md").standardizedFileURL, encoding: .utf8)
        let start = try #require(readme.range(of: "```json\n")).upperBound
        let end = try #require(readme.range(of: "```", range: start..<readme.endIndex)).lowerBound
        let (kinds, diagnostics) = KindSet.load(files: [("coffee-order.json", Array(readme[start..<end].utf8))])
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
