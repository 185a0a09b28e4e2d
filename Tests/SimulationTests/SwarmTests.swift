import Simulation
import TestSupport
import Testing

/// Whole worlds, and the checkers of the promises over each (design: promises). The long runs are `telltale-sim swarm`.
struct SwarmTests {
    private static func climate(_ seed: UInt64, inputs: Int) -> Climate {
        var climate = Climate(seed: seed)
        climate.inputs = inputs
        return climate
    }

    @Test("Every promise is kept in a small world", arguments: Array(UInt64(1)...8))
    func smallWorld(seed: UInt64) {
        let result = Swarm.run(Self.climate(seed, inputs: 250))
        #expect(result.violation == nil, "telltale-sim swarm --inputs 250 --from \(seed) --seeds 1")
        #expect(result.inputs >= 250 && result.recoveries >= 1 && result.rows > 100)
    }

    @Test func `a seed gives the same history to the byte`() {
        let (first, second) = (Swarm.run(Self.climate(77, inputs: 200)), Swarm.run(Self.climate(77, inputs: 200)))
        #expect(first == second)
        #expect(first.hash != Swarm.run(Self.climate(78, inputs: 200)).hash)
    }

    @Test(
        "A bug of the daemon is found",
        arguments: [SeededBug.replyBeforeSync, .rowDropped, .resumeFromNewest, .eventIDForgotten])
    func seededBug(_ bug: SeededBug) {
        let found = (1...10).contains { Swarm.run(Self.climate($0, inputs: 250), bug: bug).violation != nil }
        #expect(found)
    }
}
