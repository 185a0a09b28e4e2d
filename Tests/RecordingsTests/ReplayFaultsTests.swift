import Foundation
import Recordings
import TelltaleModel
import TelltaleWire
import Testing

struct ReplayFaultsTests {
    private static func plan(cases: Int) throws -> ReplayPlan {
        let rows = (0..<cases).flatMap { id in ["one", "two", "three"].map { "c\(id),\($0),2018-01-01T00:00:00," } }
        let text = (["case_id,event,timestamp,other"] + rows).joined(separator: "\n")
        return try ReplayPlan(Trace(csv: Array(text.utf8)), kind: "k")
    }

    @Test("Mixed, the posts are the same, and each case's own order too", arguments: [0, 1, 7, UInt64.max])
    func mix(seed: UInt64) throws {
        let plan = try Self.plan(cases: 200)
        let mixed = ReplayFaults(seed: seed).mix(plan)
        func ids(_ plan: ReplayPlan) -> [String] { plan.posts.compactMap(\.command.eid) }
        #expect(ids(mixed) != ids(plan))
        #expect(ids(mixed).sorted() == ids(plan).sorted())
        #expect(mixed.posts.allSatisfy { $0.due == .zero })
        #expect(mixed.cases.map(\.key) == plan.cases.map(\.key))
        var newest: [Key: Int64] = [:]
        for command in mixed.posts.map(\.command) {
            #expect(command.version == newest[command.key, default: 0] + 1)
            newest[command.key] = command.version
        }
        // In the file a case's rows stand together; mixed, nearly none does.
        let together = zip(mixed.posts, mixed.posts.dropFirst()).count { $0.command.key == $1.command.key }
        #expect(together < 20)
        #expect(ids(ReplayFaults(seed: seed).mix(plan)) == ids(mixed), "a seed says it all")
        #expect(ids(ReplayFaults(seed: seed ^ 1).mix(plan)) != ids(mixed))
    }

    @Test func `cases spread over the connections, and about one post of five is made twice`() {
        let roughness = ReplayFaults(seed: 3)
        var counts = [0, 0, 0, 0]
        for index in 0..<1000 { counts[roughness.connection(ofCase: index)] += 1 }
        #expect(counts.allSatisfy { (150...350).contains($0) }, "\(counts)")
        let repeated = (0..<1000).compactMap { roughness.repetition(ofPost: $0) }
        #expect((120...280).contains(repeated.count))
        #expect(Set(repeated) == [0, 1, 2, 3])
    }

    @Test func `cuts come one after another, and before the end`() {
        let roughness = ReplayFaults(seed: 0)
        let cuts = (0..<roughness.cutCount).map { roughness.cut($0, ofPosts: 900) }
        #expect(cuts.map(\.afterAnswers) == [100, 200, 300, 400, 500, 600, 700, 800])
        #expect(Set(cuts.map(\.connection)) == [0, 1, 2, 3])
    }

    @Test(
        "What the data says became of a case",
        arguments: [
            ("delivered", "delivered", "delivered"), ("purchased", "shipped", "handed_to_carrier"),
            ("purchased", "invoiced", "approved"), ("purchased", "processing", "approved"),
            ("purchased", "canceled", "canceled"), ("purchased", "unavailable", "unavailable"),
            ("arrived_dest_local", nil, "arrived"), ("diverted_or_unknown", nil, "diverted"),
            ("canceled", nil, "canceled"), ("departed", nil, "departed"),
        ] as [(String, String?, String)])
    func expected(event: String, status: String?, state: String) throws {
        let other = status.map { "\"{\"\"final_status\"\":\"\"\($0)\"\"}\"" } ?? ""
        let trace = try Trace(csv: Array("case_id,event,timestamp,other\na,first,,\(other)\na,\(event),,\(other)".utf8))
        #expect(trace.cases.map(\.expectedState) == [state])
    }

    @Test func `a check names every place that says otherwise`() throws {
        let (a, b) = (try #require(Key("k/a")), try #require(Key("k/b")))
        var check = OutcomeCheck()
        check.compare(a, expected: "delivered", found: [("the daemon", "delivered"), ("carplay", "delivered")])
        #expect(check.isClean)
        check.compare(b, expected: "delivered", found: [("the daemon", "approved"), ("carplay", nil)])
        #expect(!check.isClean)
        #expect(check.agreementCount == 1)
        #expect(
            check.disagreements.map(\.description) == [
                "k/b: the data says delivered, the daemon says approved",
                "k/b: the data says delivered, carplay says nothing",
            ])
        #expect(check.countsText == "2 delivered")
        let plan = try Self.plan(cases: 0)
        var summary = ReplaySummary(plan: plan, tally: ReplayTally(), elapsed: .zero)
        #expect(summary.isClean)
        summary.check = check
        #expect(!summary.isClean)
        #expect(summary.json["disagreements"]?.array?.count == 2)
    }
}
