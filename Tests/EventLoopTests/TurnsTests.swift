import Synchronization
import TestSupport
import Testing

struct TurnsTests {
    private final class Counts: Sendable {
        let state = Mutex((running: 0, most: 0, done: 0))

        func begin() {
            state.withLock {
                $0.running += 1
                $0.most = max($0.most, $0.running)
            }
        }

        func end() {
            state.withLock {
                $0.running -= 1
                $0.done += 1
            }
        }
    }

    @Test func `so many run at a time, and each has its turn, also behind one that fails`() async {
        struct Failure: Error {}
        let turns = TestTurns(2)
        let counts = Counts()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try? await turns.run {
                        counts.begin()
                        // Two are to meet. Where they never do, this ends all the same.
                        for _ in 0..<1_000 where counts.state.withLock({ $0.most < 2 }) { await Task.yield() }
                        counts.end()
                        if number % 3 == 0 { throw Failure() }
                    }
                }
            }
        }
        let (running, most, done) = counts.state.withLock { $0 }
        #expect(running == 0 && most == 2 && done == 40)
    }
}
