import Testing

@testable import Machines

struct AccountMarksTests {
    private func marks(_ accounts: (name: String, isDismissed: Bool, seenRev: Int64?)...) -> AccountMarks {
        AccountMarks(accounts.map { .init(account: $0.name, isDismissed: $0.isDismissed, seenRev: $0.seenRev) })
    }

    @Test func `marks are sorted by account, each once`() throws {
        var marks = AccountMarks()
        for account in ["mia", "anna", "tom", "anna", "mia"] {
            let position = try marks.position(of: account, limit: 10)
            #expect(marks[position].account == account)
        }
        #expect(marks.elements.map(\.account) == ["anna", "mia", "tom"])
        #expect(marks["tom"]?.account == "tom" && marks["zoe"] == nil && AccountMarks()["anna"] == nil)
    }

    @Test func `at the limit, the account that has not looked for longest makes room`() throws {
        var marks = marks(("a", true, 1), ("c", false, 9), ("e", false, 5))
        let position = try marks.position(of: "d", limit: 3)
        #expect(marks.elements.map(\.account) == ["a", "c", "d"] && position == 2)
    }

    @Test func `the position counts the mark that made room before it`() throws {
        var marks = marks(("a", false, nil), ("c", true, 9))
        let position = try marks.position(of: "z", limit: 2)
        #expect(marks.elements.map(\.account) == ["c", "z"] && position == 1)
    }

    @Test func `dismissals are never dropped, and a known account needs no room`() throws {
        var marks = marks(("a", true, nil), ("c", true, 9))
        let before = marks
        #expect(throws: ActivityRejection.markLimit(2)) { try marks.position(of: "b", limit: 2) }
        #expect(marks == before)
        let position = try marks.position(of: "c", limit: 2)
        #expect(position == 1 && marks == before)
    }
}
