import Simulation
import TelltaleModel
import TestSupport
import Testing

/// Scenarios in which people arrange boards.
struct BoardScenarioTests {
    @Test("A family arranges its boards, by some seeds of the crash", arguments: [40, 1, 2, 3] as [UInt64])
    func family(seed: UInt64) throws {
        var scenario = try ShippedScenarios.scenario("a-family")
        scenario.climate.seed = seed
        let outcome = ScenarioRun.inProcess(scenario)
        #expect(outcome.violations == [])
        #expect(scenario.expectations.unmet(by: outcome) == [])
        #expect(outcome.crashes >= 1)
    }
}
