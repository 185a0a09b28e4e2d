import Server
import Testing

struct BatchLimiterTests {
    private func share(microsecondsPerRequest cost: Double, wait: Duration) -> BatchLimiter {
        var share = BatchLimiter()
        share.decided(1_000, in: .microseconds(1_000 * cost))
        share.committed(after: wait)
        return share
    }

    @Test(
        "two thirds where deciding all takes longer than twice the disk",
        arguments: [
            (1_000, 1_400, 667), (1_000, 2_000, .max), (1_001, 2_000, 668), (300, 600, .max), (300, 599, 200),
            (0, 0, .max), (1_000_000, 2_000, 666_667), (1_000, 0, 667),
        ])
    func limit(waiting: Int, wait: Int, limit: Int) {
        // 4 us for each.
        #expect(share(microsecondsPerRequest: 4, wait: .microseconds(wait)).limit(waiting: waiting) == limit)
    }

    @Test("everything, where all of it is decided within a millisecond", arguments: [(250, Int.max), (251, 168)])
    func short(waiting: Int, limit: Int) {
        #expect(share(microsecondsPerRequest: 4, wait: .microseconds(150)).limit(waiting: waiting) == limit)
    }

    @Test("everything, where there are a few, however long they take", arguments: [(63, Int.max), (64, 43)])
    func few(waiting: Int, limit: Int) {
        #expect(share(microsecondsPerRequest: 400, wait: .microseconds(1)).limit(waiting: waiting) == limit)
    }

    @Test func `everything, until it is known how long that takes`() {
        var share = BatchLimiter()
        #expect(share.limit(waiting: 5_000) == .max)
        share.decided(5_000, in: .milliseconds(20))
        #expect(share.limit(waiting: 5_000) == .max)
        share.committed(after: .milliseconds(1))
        #expect(share.limit(waiting: 5_000) == 3_334)
    }

    @Test func `a batch of a few reports nothing of the time that one takes`() {
        var share = share(microsecondsPerRequest: 4, wait: .milliseconds(1))
        share.decided(1, in: .microseconds(1))
        #expect(share.limit(waiting: 1_000) == 667)
        share.decided(63, in: .microseconds(1))
        #expect(share.limit(waiting: 1_000) == 667)
        share.decided(64, in: .microseconds(64))
        #expect(share.limit(waiting: 1_000) == .max)
    }

    @Test("in flight, it settles at two fifths in the batch", arguments: [0, 1, 200, 400, 700, 999, 1_000])
    func settles(inFirstBatch first: Int) {
        let share = share(microsecondsPerRequest: 4, wait: .microseconds(500))
        var batch = first
        var waiting = 1_000 - first
        for _ in 1...40 {
            // While one is committed, what the one before brought is read.
            let released = batch
            batch = min(waiting, share.limit(waiting: waiting))
            waiting += released - batch
        }
        #expect((395...405).contains(batch))
        #expect((595...605).contains(waiting))
    }
}
