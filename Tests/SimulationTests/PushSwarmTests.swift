import Simulation
import TestSupport
import Testing

/// A sender of pushes beside a daemon, with faults. `telltale-sim pushes` runs more of them.
struct PushSwarmTests {
    @Test(arguments: Lane.some(1...6 as ClosedRange<UInt64>, atEveryChange: 3))
    func `every device ends as the daemon has it, and is sent nothing twice`(_ seed: UInt64) {
        let result = PushSwarm().run(seed)
        #expect(result.violation == nil)
        #expect(result["pushes"] > 0 && result["cards"] > 3)
    }

    @Test(.nightly) func `a planted bug is found`() {
        let isFound = (1...20 as ClosedRange<UInt64>).contains {
            PushSwarm().run($0, bug: .lanesForgotten).violation != nil
        }
        #expect(isFound)
    }

    @Test func `one seed is one history`() {
        #expect(PushSwarm().run(5) == PushSwarm().run(5))
    }
}
