import Journal
import Testing

@testable import Server

struct SnapshotPolicyTests {
    @Test(
        "a snapshot is due behind more records than the limit, and more than twice as many as there are keys",
        arguments: [(1_100, 10, false), (1_101, 10, true), (2_000, 500, false), (2_001, 500, true), (900, 0, false)])
    func due(durable: Int64, keys: Int, isDue: Bool) {
        let policy = SnapshotPolicy(recordsBetween: 100, sequence: 1_000)
        #expect(policy.isDue(durable: durable, entityCount: keys) == isDue)
    }

    @Test func `one that failed is tried again soon, and not at once`() {
        var policy = SnapshotPolicy(recordsBetween: 200_000, sequence: 1_000)
        _ = policy.begin(at: 201_001, through: 0, chains: [])
        policy.finished(isWritten: false)
        #expect(policy.sequence == 1_000)
        #expect(!policy.isDue(durable: 211_000, entityCount: 10) && policy.isDue(durable: 211_001, entityCount: 10))
        _ = policy.begin(at: 211_001, through: 0, chains: [])
        policy.finished(isWritten: true)
        #expect(!policy.isDue(durable: 411_001, entityCount: 10) && policy.isDue(durable: 411_002, entityCount: 10))
    }

    @Test func `what was to be pruned with a snapshot that was given up is pruned with the next`() {
        var policy = SnapshotPolicy(recordsBetween: 100, sequence: 0)
        #expect(policy.begin(at: 500, through: 40, chains: [7]) == Pruning(through: 40, chains: [7]))
        #expect(policy.isWriting && !policy.isDue(durable: 10_000, entityCount: 0))
        policy.finished(isWritten: false)
        #expect(policy.begin(at: 900, through: 30, chains: [9]) == Pruning(through: 40, chains: [7, 9]))
        policy.finished(isWritten: true)
        #expect(policy.sequence == 900)
        #expect(policy.begin(at: 950, through: 0, chains: []) == Pruning())
    }
}
