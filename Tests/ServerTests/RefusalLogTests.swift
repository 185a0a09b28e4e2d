import Server
import TelltaleModel
import Testing

/// The log line of refused connections (`limit_conns`).
struct RefusalLogTests {
    @Test func `a storm of refusals is a line a second, and each refusal is counted in one of them`() {
        var log = RefusalLog()
        let lines = (0..<3_500).map { log.refused(at: MonotonicTime(milliseconds: 10_000 + Int64($0))) }
        #expect(lines.enumerated().filter { $0.element != nil }.map(\.offset) == [0, 1_000, 2_000, 3_000])
        #expect(lines.compactMap(\.self) == [1, 1_000, 1_000, 1_000])
    }

    @Test func `a refusal after a quiet time is reported at once, with those that were not reported`() {
        var log = RefusalLog()
        #expect(log.refused(at: MonotonicTime(milliseconds: 0)) == 1)
        #expect(log.refused(at: MonotonicTime(milliseconds: 999)) == nil)
        #expect(log.refused(at: MonotonicTime(milliseconds: 60_000)) == 2)
        #expect(log.refused(at: MonotonicTime(milliseconds: 61_000)) == 1)
    }
}
