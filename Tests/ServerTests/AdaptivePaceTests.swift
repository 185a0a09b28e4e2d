import Server
import Testing

/// The adaptive pace, on a loop whose work takes a known time.
struct AdaptivePaceTests {
    /// A loop that reads, decides and writes: nothing else takes time. Times are in microseconds.
    private struct Loop {
        var pacer = FlushPacer(.adaptive(upTo: .milliseconds(1)))
        var now: Int64 = 1_000_000
        /// How many screens an event is written to, of how many there are.
        var followers: Int64 = 1
        var screens: Int64 = 1
        /// For how long each event was kept waiting although the loop had nothing to do.
        private(set) var held: [Int64] = []
        /// How many requests each flush answered.
        private(set) var batches: [Int] = []
        /// The need of each flush.
        private(set) var loads: [Double] = []
        private var isUsed = false

        private static let costOfRequest: Int64 = 5
        private static let costOfWrite: Int64 = 5

        init(followers: Int64 = 1, screens: Int64 = 1) {
            (self.followers, self.screens) = (followers, screens)
        }

        /// Runs until every event of `arrivals` is answered; times count from the loop's `now`.
        mutating func run(_ arrivals: [Int64]) {
            (held, batches, loads) = ([], [], [])
            let start = now
            var waiting: [Int64] = []
            var next = 0
            while next < arrivals.count || !waiting.isEmpty {
                if waiting.isEmpty { now = max(now, start + arrivals[next]) }
                let ready = now
                func read() {
                    while next < arrivals.count, start + arrivals[next] <= now {
                        waiting.append(start + arrivals[next])
                        next += 1
                    }
                }
                read()
                while !pacer.isDue(at: now * 1_000, waiting: waiting.count) {
                    let due = (pacer.nextFlush + 999) / 1_000
                    now = next < arrivals.count ? min(due, max(now, start + arrivals[next])) : due
                    read()
                }
                held += waiting.map { now - max(ready, $0) }
                flush(waiting.count)
                waiting = []
            }
        }

        private mutating func flush(_ count: Int) {
            let rows = Int64(count) * followers
            let writes = min(rows, screens)
            let decided = now + Int64(count) * Self.costOfRequest
            // The answer is a write too.
            let end = decided + (writes + 1) * Self.costOfWrite + rows / 10
            pacer.flushed(
                from: decided * 1_000, to: end * 1_000,
                FlushWork(
                    busy: (end - now) * 1_000, requestCount: count, writeCount: Int(writes) + 1,
                    rowCount: Int(rows) + count))
            now = end
            batches.append(count)
            loads.append(pacer.load)
        }

        var longest: Int64 { held.max() ?? 0 }
        var meanBatch: Double { Double(batches.reduce(0, +)) / Double(max(1, batches.count)) }
    }

    /// The arrivals of `rate` events a second for `milliseconds`, evenly.
    private static func steady(_ rate: Int64, for milliseconds: Int64 = 300) -> [Int64] {
        (0..<(rate * milliseconds / 1_000)).map { $0 * 1_000_000 / rate }
    }

    @Test("while there is time to spare nothing waits", arguments: [1, 100, 1_000, 20_000, 35_000] as [Int64])
    func calm(rate: Int64) {
        var loop = Loop()
        loop.run(Self.steady(rate, for: 1_000))
        #expect(loop.longest == 0, "a load of \(loop.pacer.load)")
    }

    @Test func `where the writes of a request take all of the time, they are shared for the whole bound`() {
        // 600 µs a request, 5,000 a second: three times what can be done.
        var loop = Loop(followers: 100, screens: 100)
        loop.run(Self.steady(5_000))
        #expect(loop.longest <= 1_000)
        loop.run(Self.steady(5_000))
        // From the end of one flush to the next: the bound.
        #expect(loop.held.filter { $0 > 800 }.count > loop.held.count / 10)
        #expect(loop.meanBatch > 7, "\(loop.meanBatch) requests a flush")
    }

    @Test func `what is lower again in between waits less, and a load is reported alike with a pause and without one`()
    {
        var loads: [Double] = []
        for pace in [Pace.adaptive(upTo: .zero), .adaptive(upTo: .milliseconds(1))] {
            var loop = Loop(followers: 10, screens: 10)
            loop.pacer = FlushPacer(pace)
            loop.run(Self.steady(12_000))
            loads.append(loop.pacer.load)
        }
        #expect(abs(loads[0] - loads[1]) < 0.15, "\(loads)")
        #expect(loads[0] > 0.6 && loads[0] < 1.1)
    }

    @Test("a steady load keeps its pause: it does not swing", arguments: [8_000, 12_000, 16_000, 40_000] as [Int64])
    func steadiness(rate: Int64) {
        var loop = Loop(followers: 10, screens: 10)
        loop.run(Self.steady(rate))
        loop.run(Self.steady(rate))
        let loads = loop.loads
        #expect((loads.max() ?? 0) - (loads.min() ?? 0) < 0.1, "\(loads.min() ?? 0) to \(loads.max() ?? 0)")
    }

    @Test func `as a load rises, the pause grows without a step, and it falls with it`() {
        var loop = Loop(followers: 10, screens: 10)
        var longest: [Int64] = []
        for rate in [2_000, 6_000, 10_000, 12_000, 14_000, 30_000, 6_000, 1_000] as [Int64] {
            loop.run(Self.steady(rate, for: 100))
            loop.run(Self.steady(rate, for: 100))
            longest.append(loop.longest)
        }
        #expect(longest.first == 0 && longest.last == 0, "\(longest)")
        #expect(Array(longest[0...5]) == longest[0...5].sorted(), "\(longest)")
        #expect(longest[5] > 800, "\(longest)")
    }

    @Test func `a burst in the calm waits for nothing but those before it`() {
        var loop = Loop(followers: 10, screens: 10)
        loop.run(Self.steady(100))
        loop.run((0..<200).map { $0 * 5 })
        #expect(loop.longest <= 100)
        // A millisecond later nothing of it is left.
        loop.now += 1_000
        loop.run(Self.steady(100))
        #expect(loop.longest == 0)
    }

    @Test func `one hot key among many: the screens that follow it set the pace, whatever the rest does`() {
        var loop = Loop(followers: 1, screens: 1_000)
        loop.run(Self.steady(10_000))
        #expect(loop.longest == 0)
        loop.followers = 200
        loop.run(Self.steady(10_000))
        #expect(loop.meanBatch > 8)
    }

    @Test func `a lone asker that waits for each answer is never held back, however much its requests cost`() {
        var loop = Loop(followers: 200, screens: 200)
        for _ in 0..<2_000 {
            loop.run([20])
            #expect(loop.longest == 0)
        }
        #expect(loop.pacer.load > 0.9)
    }

    @Test func `rows that no request made are no load to gather for`() {
        var pacer = FlushPacer(.adaptive(upTo: .milliseconds(1)))
        var now: Int64 = 1_000_000_000
        for _ in 0..<100 {
            // A screen is sent 10,000 rows at once, every 4 ms.
            pacer.flushed(
                from: now, to: now + 1_000_000,
                FlushWork(busy: 1_010_000, requestCount: 1, writeCount: 1, rowCount: 10_000))
            now += 4_000_000
        }
        #expect(pacer.load < 0.3)
        #expect(pacer.nextFlush <= now)
    }

    @Test func `a clock that stands still, or goes back, traps nothing`() {
        var pacer = FlushPacer(.adaptive(upTo: .milliseconds(1)))
        let work = FlushWork(busy: 0, requestCount: 5, writeCount: 0, rowCount: 5)
        for (start, end) in [(10, 10), (10, 10), (5, 7), (7, 5), (0, 1 << 60), (3, 4), (0, 0)] as [(Int64, Int64)] {
            pacer.flushed(from: start, to: end, work)
        }
        #expect(pacer.load.isFinite)
    }
}
