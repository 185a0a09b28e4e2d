import Server
import Testing

struct FlushPacerTests {
    /// Begins as many flushes as it may between two moments, each of which takes `duration`, and returns when.
    private func flushes(
        _ pace: inout FlushPacer, from start: Int64, to end: Int64, taking duration: Int64
    ) -> [Int64] {
        var (now, starts) = (start, [Int64]())
        while now < end {
            now = max(now, pace.nextFlush)
            guard now < end else { break }
            starts.append(now)
            pace.flushed(from: now, to: now + duration)
            now += duration
        }
        return starts
    }

    @Test func `after a pause four flushes follow each other at once, then each waits for the end of the one before`() {
        var pace = FlushPacer(.fixed(.nanoseconds(100)))
        #expect(
            flushes(&pace, from: 10_000, to: 10_600, taking: 7)
                == [10_000, 10_007, 10_014, 10_021, 10_128, 10_235, 10_342, 10_449, 10_556])
    }

    @Test("while busy, a flush follows the end of the one before by the interval", arguments: [0, 1, 50, 100, 5_000])
    func steady(duration: Int64) {
        var pace = FlushPacer(.fixed(.nanoseconds(100)))
        let starts = flushes(&pace, from: 10_000, to: 200_000, taking: duration).dropFirst(4)
        for (one, next) in zip(starts, starts.dropFirst()) { #expect(next - one == duration + 100) }
        #expect(starts.count > 30)
    }

    @Test func `a pause of any length saves up four, and a shorter one as many as it has intervals`() {
        for (pause, count) in [(0, 1), (99, 1), (100, 2), (250, 3), (300, 4), (1_000_000_000, 4)] {
            var pace = FlushPacer(.fixed(.nanoseconds(100)))
            let last = flushes(&pace, from: 10_000, to: 11_000, taking: 0).last ?? 0
            let start = last + 100 + Int64(pause)
            #expect(pace.isDue(at: last + 100, waiting: 1) && !pace.isDue(at: last + 99, waiting: 1))
            #expect(flushes(&pace, from: start, to: start + 1, taking: 0).count == count, "\(pause)")
        }
    }

    @Test func `one that begins late does not put off those behind it`() {
        var pace = FlushPacer(.fixed(.nanoseconds(100)))
        _ = flushes(&pace, from: 10_000, to: 11_000, taking: 0)
        let due = pace.nextFlush
        pace.flushed(from: due + 40, to: due + 50)
        #expect(pace.nextFlush == due + 110)
    }

    @Test func `where much waits it is due, and what comes behind waits no longer for that`() {
        var pace = FlushPacer(.fixed(.nanoseconds(100)))
        _ = flushes(&pace, from: 10_000, to: 11_000, taking: 0)
        let start = pace.nextFlush - 100
        #expect(!pace.isDue(at: start, waiting: 31) && pace.isDue(at: start, waiting: 32))
        for step in Int64(0)..<50 { pace.flushed(from: start + step, to: start + step + 1) }
        #expect(pace.nextFlush == start + 150)
    }

    @Test func `without a pace it is always due`() {
        for interval in [Duration.zero, .milliseconds(-1)] {
            var pace = FlushPacer(.fixed(interval))
            #expect(flushes(&pace, from: 10_000, to: 10_100, taking: 10).count == 10)
        }
    }
}
