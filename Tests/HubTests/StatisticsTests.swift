import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `STATS`, beyond the checks of `Protocols/Line/line-protocol.md`.
struct StatisticsTests {
    @Test func `the page lists every figure`() throws {
        let house = try HubHarness()
        let line = try #require(house.send("STATS", from: house.connect()).first)
        #expect(line.hasPrefix("OK {"))
        let told = Self.names(in: try JSONParser.parse(String(line.dropFirst(3))))

        let page = try String(
            contentsOf: repositoryRoot.appending(path: "Protocols/Line/line-protocol.md"), encoding: .utf8)
        let sections = page.components(separatedBy: "### The server's own figures")
        try #require(sections.count == 2)
        let table = sections[1].components(separatedBy: "\n## ")[0]
        let listed = table.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
            row.split(separator: "|")[0].split(separator: ",").map { $0.trimmingCharacters(in: ["`", " "]) }
        }
        #expect(told.sorted() == listed.sorted())
    }

    /// The paths of an object's values.
    private static func names(in value: JSON) -> [String] {
        (value.object ?? JSONObject()).flatMap { member in
            guard case .object = member.value else { return [member.name] }
            return names(in: member.value).map { "\(member.name).\($0)" }
        }
    }
}
