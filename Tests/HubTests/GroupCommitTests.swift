import Journal
import Kinds
import TelltaleModel
import Testing

@testable import Hub

struct GroupCommitTests {
    private func append(_ count: Int, to commit: inout GroupCommit, from sequence: Int64 = 1) {
        for number in 0..<count {
            var result = DecisionResult(verdict: .applied)
            commit.append(
                &result, at: sequence + Int64(number), time: .distantPast, wall: .distantPast, entity: "a/1",
                previous: 0
            ) { $0.write(JournalEntry.settings(.null)) }
        }
    }

    @Test func `a batch is decided in parts, committed, and then there is none`() {
        var commit = GroupCommit()
        holds(commit.isIdle && !commit.isDeciding)
        commit.begin(limit: 2, requestLimit: .max)
        holds(commit.isDeciding && commit.takesRequest(limit: 2))
        append(2, to: &commit)
        holds(!commit.takesRequest(limit: 2))
        holds(commit.endPart(isLast: false).map(\.sequence) == [1, 2])
        holds(commit.isDeciding && commit.takesRequest(limit: 2))
        append(1, to: &commit, from: 3)
        holds(commit.endPart(isLast: true).map(\.sequence) == [3])
        holds(!commit.isIdle && !commit.isDeciding)
        let batch = commit.committed(through: 3)
        holds(batch.recordCount == 3 && commit.isIdle && commit.durableSequence == 3 && commit.lastRecordCount == 3)
    }

    @Test func `a batch takes no more requests than it has room for`() {
        var commit = GroupCommit()
        commit.begin(limit: .max, requestLimit: 2)
        for _ in 0..<2 {
            holds(commit.takesRequest(limit: .max) && !commit.isFull)
            commit.countRequest()
        }
        holds(!commit.takesRequest(limit: .max) && commit.isFull && commit.room == 0)
    }

    @Test func `the hub's own records take no room from requests, and deadlines take half of it at most`() {
        var commit = GroupCommit()
        commit.begin(limit: .max, requestLimit: .max)
        append(10_000, to: &commit)
        commit.noteOwnRecords()
        holds(commit.takesRequest(limit: .max) && commit.hasRoomForDeadlines)
        append(4_096, to: &commit, from: 10_001)
        holds(!commit.hasRoomForDeadlines && !commit.isFull)
        append(4_096, to: &commit, from: 14_097)
        holds(commit.isFull)
    }

    @Test func `a batch ends when its records are large, and the hub's own take none of that room`() {
        var commit = GroupCommit()
        commit.begin(limit: .max, requestLimit: .max, byteLimit: 100_000)
        appendLarge(to: &commit, bytes: 200_000)
        commit.noteOwnRecords()
        holds(commit.takesRequest(limit: .max) && commit.hasRoomForDeadlines)
        appendLarge(to: &commit, bytes: 50_000, from: 2)
        holds(commit.takesRequest(limit: .max) && !commit.hasRoomForDeadlines)
        appendLarge(to: &commit, bytes: 50_000, from: 3)
        holds(commit.isFull && !commit.takesRequest(limit: .max))
    }

    private func appendLarge(to commit: inout GroupCommit, bytes: Int, from sequence: Int64 = 1) {
        var result = DecisionResult(verdict: .applied)
        commit.append(
            &result, at: sequence, time: .distantPast, wall: .distantPast, entity: "a/1", previous: 0
        ) { $0.write(JournalEntry.settings(.string(String(repeating: "x", count: bytes)))) }
    }

    @Test func `what the hub originates comes again when its batch is refused, unless something newer waits`() throws {
        let (first, second) = (try kind("first"), try kind("second"))
        var commit = GroupCommit()
        commit.propose([first])
        commit.propose(JournalEntry.restarted(try #require(Key("lamp/1"))))
        commit.begin(limit: .max, requestLimit: .max)
        holds(commit.takeKinds()?.count == 1 && commit.takeEntries().count == 1 && !commit.hasOwnWork)
        _ = commit.endPart(isLast: true)
        _ = commit.refused(at: MonotonicTime(milliseconds: 5))
        holds(commit.isIdle && commit.hasOwnWork && commit.durableSequence == 0)
        // It is tried again a second later.
        holds(commit.retryTime == MonotonicTime(milliseconds: 1_005))

        commit.begin(limit: .max, requestLimit: .max)
        holds(commit.takeKinds()?.map(\.name) == ["first"])
        _ = commit.endPart(isLast: true)
        commit.propose([second])
        _ = commit.refused(at: MonotonicTime(milliseconds: 5))
        commit.begin(limit: .max, requestLimit: .max)
        holds(commit.takeKinds()?.map(\.name) == ["second"] && commit.takeEntries().count == 1)
    }

    private func kind(_ name: String) throws -> Kind {
        try HubHarness.kind(#"{"kind":"\#(name)","type":"toggle","version":1,"app":"a","title":"T"}"#)
    }
}
