import Server
import TelltaleModel
import Testing

/// Wall time, reported by a clock that jumps.
struct HybridClockTests {
    private static let start: Int64 = 1_763_719_200_000
    private static let year: Int64 = 365 * 86_400_000

    /// Seconds since the last reading, how far the clock is off by then, and how far what is reported is.
    private static let rows: [(name: String, steps: [(seconds: Int64, clock: Int64, reported: Int64)])] = [
        ("a clock that is right", [(1, 0, 0), (0, 0, 0), (60, 0, 0), (86_400, 0, 0)]),
        ("set ahead by little is taken at once", [(1, 30_000, 30_000), (1, 30_000, 30_000)]),
        ("one wrong reading is none", [(1, year, 0), (1, 0, 0), (1, year, 0), (1, 0, 0)]),
        (
            "a day ahead is taken after a minute",
            [(1, 86_400_000, 0), (59, 86_400_000, 0), (1, 86_400_000, 86_400_000)]
        ),
        ("that minute is one", [(1, year, 0), (40, year, 0), (1, 0, 0), (1, year, 0), (40, year, 0)]),
        ("put back by little, it waits", [(10, 0, 0), (0, -800, 0), (1, -800, -800), (5, -800, -800)]),
        ("put back by much, it goes on", [(10, -year, 0), (10, -year, 0), (1, 0, 0)]),
        ("taken, and put back, it goes on", [(1, year, 0), (60, year, year), (10, 0, year), (3_600, 0, year)]),
    ]

    @Test(arguments: rows.map(\.name))
    func row(name: String) throws {
        let row = try #require(Self.rows.first { $0.name == name })
        var steady = HybridClock(Timestamp(milliseconds: Self.start), monotonic: MonotonicTime(milliseconds: 500))
        var (elapsed, last): (Int64, Int64) = (0, .min)
        for (number, step) in row.steps.enumerated() {
            elapsed += step.seconds * 1_000
            let reported = steady.reading(
                wall: Timestamp(milliseconds: Self.start + elapsed + step.clock),
                monotonic: MonotonicTime(milliseconds: 500 + elapsed)
            ).milliseconds
            #expect(reported - Self.start - elapsed == step.reported, "step \(number)")
            #expect(steady.leap == Milliseconds(step.reported), "step \(number)")
            #expect(reported >= last)
            last = reported
        }
    }

    /// A start: how far the clock is ahead of the newest record, and what is reported then, half a minute and a minute later.
    private static let starts: [(name: String, ahead: Int64, reported: [Int64])] = [
        ("a start after a night is believed", 43_200_000, [43_200_000, 43_200_000, 43_200_000]),
        ("a start half a century ahead waits to be believed", 50 * year, [0, 0, 50 * year]),
        ("a start behind the newest record goes on from there", -year, [0, 0, 0]),
    ]

    @Test(arguments: starts.map(\.name))
    func start(name: String) throws {
        let start = try #require(Self.starts.first { $0.name == name })
        let last = Timestamp(milliseconds: Self.start)
        var clock = HybridClock(
            wall: last + Milliseconds(start.ahead), lastRecord: last, monotonic: MonotonicTime(milliseconds: 500))
        for (elapsed, reported) in zip([0, 30_000, 60_000] as [Int64], start.reported) {
            let reading = clock.reading(
                wall: last + Milliseconds(start.ahead + elapsed), monotonic: MonotonicTime(milliseconds: 500 + elapsed))
            #expect(reading.milliseconds - Self.start - elapsed == reported)
        }
    }

    @Test func `a wrong clock at a start that is set right within a minute leaves no trace`() {
        let last = Timestamp(milliseconds: Self.start)
        var clock = HybridClock(
            wall: last + Milliseconds(50 * Self.year), lastRecord: last, monotonic: MonotonicTime(milliseconds: 0))
        _ = clock.reading(wall: last + Milliseconds(50 * Self.year), monotonic: MonotonicTime(milliseconds: 0))
        #expect(
            clock.reading(wall: last + Milliseconds(10_000), monotonic: MonotonicTime(milliseconds: 10_000)) == last
                + Milliseconds(10_000))
        let later = last + Milliseconds(600_000)
        #expect(clock.reading(wall: later, monotonic: MonotonicTime(milliseconds: 600_000)) == later)
    }

    @Test func `a history without records believes its first start`() {
        let now = Timestamp(milliseconds: Self.start)
        var clock = HybridClock(wall: now, lastRecord: .distantPast, monotonic: MonotonicTime(milliseconds: 0))
        #expect(clock.reading(wall: now, monotonic: MonotonicTime(milliseconds: 0)) == now)
    }

    @Test func `readings within a millisecond lose none of it`() {
        let start = Timestamp(milliseconds: Self.start)
        var clock = HybridClock(start, monotonic: MonotonicTime(nanoseconds: 0))
        let behind = start + Milliseconds(-Self.year)
        for microseconds in stride(from: 0, through: 2_000_000, by: 700) as StrideThrough<Int64> {
            _ = clock.reading(wall: behind, monotonic: MonotonicTime(nanoseconds: microseconds * 1_000))
        }
        let reported = clock.reading(wall: behind, monotonic: MonotonicTime(milliseconds: 2_000))
        #expect(reported == start + Milliseconds(2_000) && clock.leap == .zero)
    }

    @Test func `numbers at their ends are no trap`() {
        var steady = HybridClock(.distantPast, monotonic: .distantPast)
        _ = steady.reading(wall: .distantFuture, monotonic: .distantFuture)
        _ = steady.reading(wall: .distantPast, monotonic: .distantPast)
        #expect(steady.reading(wall: .distantFuture, monotonic: .distantFuture) > .distantPast)
    }

    @Test(arguments: [(0.5, 1_800_000), (60, 216_000_000), (1_000_000, 3_600_000_000_000)] as [(Double, Int64)])
    func `a fast clock goes by what has passed, whatever the date is said to be`(speed: Double, passed: Int64) {
        let start = Timestamp(milliseconds: Self.start)
        let fast = ScaledClock(start, monotonic: MonotonicTime(milliseconds: 500), speed: speed)
        #expect(fast.reading(monotonic: MonotonicTime(milliseconds: 500)) == start)
        #expect(fast.reading(monotonic: MonotonicTime(milliseconds: 500 + 3_600_000)) == start + Milliseconds(passed))
        #expect(fast.reading(monotonic: MonotonicTime(milliseconds: 0)) == start)
        #expect(fast.reading(monotonic: .distantFuture) > start)
    }
}
