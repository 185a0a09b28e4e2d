import Simulation
import TelltaleModel
import TestSupport
import Testing

/// Whole worlds, and the checkers of the promises over each (promises.md of the guide). The long runs are `telltale-sim swarm`.
struct SwarmTests {
    private static func climate(_ seed: UInt64, inputs: Int) -> FaultProfile {
        var climate = FaultProfile(seed: seed)
        climate.inputs = inputs
        return climate
    }

    @Test("Every promise is kept in a small world", arguments: Lane.some(UInt64(1)...8, atEveryChange: 3))
    func smallWorld(seed: UInt64) {
        let result = Swarm.run(Self.climate(seed, inputs: 250))
        #expect(result.violation == nil, "telltale-sim swarm --inputs 250 --seed \(seed)")
        #expect(result["inputs"] >= 250 && result["crashes"] >= 1 && result["rows"] > 100)
    }

    @Test("A seed is 2,000 inputs, 20 clients and a crash at least", arguments: [1, 77, 1_000_000] as [UInt64])
    func size(seed: UInt64) {
        let climate = FaultProfile(seed: seed)
        #expect(climate.inputs >= 2_000 && climate.crashes >= 1)
        #expect(climate.producers + climate.screens + climate.providers + climate.fingers >= 20)
    }

    @Test func `a seed gives the same history to the byte`() {
        let (first, second) = (Swarm.run(Self.climate(77, inputs: 200)), Swarm.run(Self.climate(77, inputs: 200)))
        #expect(first == second)
        #expect(first.hash != Swarm.run(Self.climate(78, inputs: 200)).hash)
    }

    @Test(
        "A bug of the daemon is found", .nightly,
        arguments: [
            SeededBug.replyBeforeSync, .rowDropped, .resumeFromNewest, .eventIDForgotten, .timersLate, .alertConflated,
            .timerNotCancelled, .restartForgotten, .usedUpRowDropped, .versionUnread,
            .foresightLost, .endedCounted,
        ])
    func seededBug(_ bug: SeededBug) {
        let found = (1...10).contains { Swarm.run(Self.climate($0, inputs: 250), bug: bug).violation != nil }
        #expect(found)
    }

    @Test(.nightly) func `a failure is made smaller, and its scenario file plays it again`() throws {
        // How small a failure can be made depends on its seed: the smaller of two is looked at.
        let shrunk = [1, 7].compactMap { Swarm.shrink(Self.climate($0, inputs: 80), bug: .rowDropped) }
        let (climate, violation) = try #require(shrunk.min { $0.0.screens < $1.0.screens })
        #expect(climate.screens < 12 && climate.crashes == 0 && climate.slices == 0 && climate.lies == 0)
        let text = climate.scenarioText(title: "A seed, made smaller")
        let scenario = try Scenario(try JSONParser.parse(text), name: "smaller")
        #expect(scenario.climate == climate)
        #expect(Swarm.run(scenario.climate, bug: .rowDropped).violation == violation)
    }
}
