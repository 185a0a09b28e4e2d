import Testing

@testable import Simulation

struct OutagesTests {
    @Test func `a disk that is full through a recovery excuses what its clock comes to again`() {
        var outages = Outages()
        outages.begin(.down, at: 1_000)
        outages.begin(.fullDisk, at: 2_000)
        // The wall clock was set back meanwhile.
        outages.recovered(at: 500)
        #expect(outages.excused(700, reach: 10) > 1_000_000)
        outages.end(.fullDisk, at: 3_000)
        #expect(outages.excused(700, reach: 10) == 3_000)
        #expect(outages.excused(400, reach: 10) == 400)
    }

    @Test func `a daemon that is back is excused for nothing behind that`() {
        var outages = Outages()
        outages.begin(.down, at: 1_000)
        outages.recovered(at: 2_000)
        #expect(outages.excused(1_500, reach: 10) == 2_000 && outages.excused(2_001, reach: 10) == 2_001)
    }
}
