import Testing

/// A device that comes back is sent nothing of what came and went for other accounts.
struct RelevantWidgetPrivacyTests {
    let tests: RelevantWidgetTests
    var harness: HubHarness { tests.harness }

    init() throws { tests = try RelevantWidgetTests() }

    /// The deletions that a resume brings, of what happens between two connections.
    private func deletions(
        as account: String?, pattern: String = "@wrist/*", while happens: () throws -> Void
    ) throws -> [String] {
        let first = try TestBoardDevice.watch(harness, as: account, pattern: pattern)
        let cursor = try #require(first.cursor)
        harness.disconnect(first.client)
        try happens()
        return try TestBoardDevice.watch(harness, as: account, "from=\(cursor)", pattern: pattern).deletions
            .compactMap { HubHarness.attribute("key", of: $0) }
    }

    @Test("Visits of other accounts that came, changed and went are not told to be gone")
    func others() throws {
        tests.begin("a", 0, 600)
        tests.begin("his", 0, 600, for: "bob")
        let deleted = try deletions(as: "alice") {
            tests.reply("EVT coffee-order/his type=update {}")
            tests.begin("hers", 0, 600, for: "bob,carol")
            tests.reply("EVT coffee-order/hers type=end")
            tests.reply("EVT coffee-order/a type=end")
        }
        #expect(deleted.contains("@wrist/" + RelevantWidgetTests.id("hint/a")))
        #expect(Set(deleted).isSubset(of: ["hint/a", "near/a"].map { "@wrist/" + RelevantWidgetTests.id($0) }))
    }

    @Test("On a board that is everybody's, visits of accounts are not told to be gone", arguments: ["alice", nil])
    func sharedBoard(account: String?) throws {
        harness.send("TILE @hall/t0 do=add widget=sales/s0 family=accessoryRectangular", from: harness.connect())
        tests.begin("ours", 0, 600, for: "")
        let deleted = try deletions(as: account, pattern: "@hall/*") {
            tests.begin("mine", 0, 600)
            tests.reply("EVT coffee-order/mine type=end")
            tests.reply("EVT coffee-order/ours type=end")
        }
        #expect(deleted.contains("@hall/" + RelevantWidgetTests.id("hint/ours")))
        #expect(Set(deleted).isSubset(of: ["hint/ours", "near/ours"].map { "@hall/" + RelevantWidgetTests.id($0) }))
    }

    @Test("A visit that is another account's since is told to be gone to those who had it, and to nobody else")
    func readdressed() throws {
        tests.begin("a", 0, 600)
        let deleted = try deletions(as: "alice") {
            tests.reply("EVT coffee-order/a type=end")
            tests.reply("DISMISS coffee-order/a")
            tests.begin("a", 0, 600, for: "bob")
        }
        #expect(deleted.contains("@wrist/" + RelevantWidgetTests.id("hint/a")))
        let later = try deletions(as: "alice") { tests.reply("EVT coffee-order/a type=end") }
        #expect(later == [])
    }

    @Test("Whoever may not see a board is not told which suggestions its stacks had")
    func suggestions() throws {
        let tests = try SuggestionTests()
        let stranger = try TestBoardDevice.car(tests.harness, "bob")
        let cursor = try tests.harness.cursor(of: "SUB @car/* view=carplay", from: tests.harness.connect(as: "bob"))
        tests.stack(2)
        tests.post("tip/main", [(0, 3)])
        tests.reply("TILE @car/left do=stack suggest=no")
        #expect(try TestBoardDevice.car(tests.harness, "bob", "from=\(cursor)").deletions == [])
        #expect(stranger.deletions == [])
    }
}
