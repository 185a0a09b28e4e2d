import Foundation
import Kinds
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
}
