import Testing

@testable import FanOut

struct AnnouncementLaneTests {
    @Test(
        "The oldest commit stands first, in whatever order announcements come back",
        arguments: [
            ([1, 2, 3], 1), ([2, 3, 1], 1), ([3, 2, 1], 1), ([5], 5),
        ] as [([Int64], Int64)])
    func oldest(commits: [Int64], oldest: Int64) {
        var lane = AnnouncementLane()
        for commit in commits { lane.insert(Int32(commit), rev: commit) }
        #expect(lane.count == commits.count)
        #expect(lane.oldest?.rev == oldest && lane.oldest?.raw == Int32(oldest))
    }

    @Test func `of announcements of one commit the first that came stands first`() {
        var lane = AnnouncementLane()
        for raw in [4, 2, 9] as [Int32] { lane.insert(raw, rev: 1) }
        #expect(lane.oldest?.raw == 4)
    }

    @Test func `a removal takes the one with this key and commit, and ignores others`() {
        var lane = AnnouncementLane()
        lane.insert(1, rev: 10)
        lane.insert(2, rev: 10)
        lane.remove(2, rev: 11)
        lane.remove(3, rev: 10)
        #expect(lane.count == 2)
        lane.remove(1, rev: 10)
        #expect(lane.count == 1 && lane.oldest?.raw == 2)
        lane.trim()
        #expect(lane.count == 1)
        lane.remove(2, rev: 10)
        lane.trim()
        #expect(lane.count == 0 && lane.oldest == nil)
    }
}
