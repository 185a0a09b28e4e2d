import Testing

@testable import Hub

/// The commits of one key that wait in one row.
struct PendingCommitsTests {
    @Test("The oldest is remembered, and the others are counted", arguments: [0, 1, 1 << 32, (1 << 47) - 1] as [Int64])
    func counts(first: Int64) throws {
        var commits = try #require(PendingCommits(first: first))
        #expect(commits.first == first && commits.foldedCount == 0)
        for count in Int64(1)...65_535 {
            let isCounted = commits.fold()
            #expect(isCounted)
            try #require(commits.first == first && commits.foldedCount == count)
        }
        let isCounted = commits.fold()
        #expect(!isCounted && commits.first == first && commits.foldedCount == 65_535)
    }

    @Test("A commit that leaves no room for a count is none of these", arguments: [-1, 1 << 47, .max] as [Int64])
    func refuses(first: Int64) {
        #expect(PendingCommits(first: first) == nil)
    }

    @Test func `commits beyond the room of this counter are counted by the backlog`() throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let (shop, screens) = (harness.connect(), [harness.connect(), harness.connect()])
        harness.send("EVT errand/1 type=start", from: shop)
        for screen in screens {
            harness.send("SUB errand/1 view=full", from: screen)
            harness.hub.becameBlocked(screen.id, at: harness.now)
        }
        let updates = 65_540
        for _ in 0..<updates / 20 {
            for number in 0..<20 {
                harness.post(#"EVT errand/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            }
            harness.turn()
        }
        for screen in screens { harness.hub.becameWritable(screen.id) }
        harness.turn()
        for screen in screens {
            let lines = harness.lines(of: screen)
            #expect(lines.map { $0.contains(" skip=\(updates - 1) why=slow ") } == [true], "\(lines)")
        }
    }
}
