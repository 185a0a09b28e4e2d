import FanOut
import TelltaleModel
import Testing

struct EntityIndexTests {
    @Test func `an index reads and changes the element at its position`() {
        var table = ["a", "b", "c"]
        #expect(table[EntityIndex(2)] == "c")
        table[EntityIndex(1)] += "!"
        #expect(table == ["a", "b!", "c"])
    }

    @Test func `indices are ordered as their positions`() {
        #expect([EntityIndex(2), EntityIndex(0), EntityIndex(1)].sorted().map(\.rawValue) == [0, 1, 2])
    }

    @Test(
        "An announcement knows its commit and its sort",
        arguments: [
            (Announcement.milestone(rev: 7, state: "ready", at: .distantPast), true),
            (Announcement.alert(rev: 7, json: []), false),
        ])
    func announcement(_ announcement: Announcement, isMilestone: Bool) {
        #expect(announcement.rev == 7)
        #expect(announcement.isMilestone == isMilestone)
    }
}
