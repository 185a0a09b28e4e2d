import Simulation
import TestSupport
import Testing

/// Three daemons over one replicated log, with faults. `telltale-sim cluster` runs more of them.
struct ClusterTests {
    @Test(arguments: Lane.some(1...8 as ClosedRange<UInt64>, atEveryChange: 3))
    func `a cluster keeps every promise`(seed: UInt64) {
        let result = ClusterSwarm().run(seed)
        #expect(result.violation == nil)
        #expect(result["takeovers"] > 0)
    }

    @Test func `the same seed gives the same bytes`() {
        #expect(ClusterSwarm().run(5) == ClusterSwarm().run(5))
    }

    @Test(.nightly) func `a planted bug is found`() {
        let isFound = (1...5 as ClosedRange<UInt64>).contains {
            ClusterSwarm().run($0, bug: .standbyFiresTimers).violation != nil
        }
        #expect(isFound)
    }
}
