import Foundation
import Hub
import TelltaleModel
import TestSupport
import Testing

/// `STATS`, beyond the checks of `Protocols/Line/line-protocol.md`.
struct StatisticsTests {
    @Test func `the page lists every figure`() throws {
        let harness = try HubHarness()
        let line = try #require(harness.send("STATS", from: harness.connect()).first)
        #expect(line.hasPrefix("OK {"))
        let reported = Self.names(in: try JSONParser.parse(String(line.dropFirst(3))))

        let page = try String(
            contentsOf: repositoryRoot.appending(path: "Protocols/Line/line-protocol.md"), encoding: .utf8)
        let sections = page.components(separatedBy: "### The server's own figures")
        try #require(sections.count == 2)
        let table = sections[1].components(separatedBy: "\n## ")[0]
        let listed = table.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
            row.split(separator: "|")[0].split(separator: ",").map { $0.trimmingCharacters(in: ["`", " "]) }
        }
        #expect(reported.sorted() == listed.sorted())
    }

    @Test func `syncs are reported by the time that they took, each bound with all below it`() throws {
        let harness = try HubHarness()
        // The harness has synced its kinds, at once.
        let before = harness.hub.statistics.syncCount
        for microseconds in [0, 100, 101, 2_500_000, 2_500_001] {
            harness.hub.statistics.countSync(microseconds: microseconds)
        }
        let line = try #require(harness.send("STATS", from: harness.connect()).first)
        let sync = try JSONParser.parse(String(line.dropFirst(3)))["sync"]
        let buckets = try #require(sync?["buckets"]?.array?.map { $0.array?.map(\.integer) })
        #expect(sync?["count"]?.integer == Int64(before + 5))
        #expect(buckets.map { ($0?[1] ?? 0) - Int64(before) }.prefix(3) == [2, 3, 3])
        #expect(buckets.last == [2_500_000, Int64(before + 4)])
        #expect(buckets.map { $0?[0] ?? 0 } == buckets.map { $0?[0] ?? 0 }.sorted())
    }

    /// The paths of an object's values.
    private static func names(in value: JSON) -> [String] {
        (value.object ?? JSONObject()).flatMap { member in
            guard case .object = member.value else { return [member.name] }
            return names(in: member.value).map { "\(member.name).\($0)" }
        }
    }
}
