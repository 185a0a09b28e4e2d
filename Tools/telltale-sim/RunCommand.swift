import ArgumentParser
import EventLoop
import Foundation
import Model
import Simulation

/// `telltale-sim run NAME`
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Play a scenario, and check what comes of it.",
        discussion: """
            Exit 1 when a promise was not kept or an expectation of the scenario was not met.

              telltale-sim run lunch-rush
              telltale-sim run ./mine.json --seed 7 --trace
            """)

    @Argument(help: ArgumentHelp("A scenario that ships, or the path of a file.", valueName: "SCENARIO"))
    var scenario: String
    @Option(help: ArgumentHelp("Another seed than the scenario's.", valueName: "N"))
    var seed: UInt64?
    @Option(
        help: ArgumentHelp(
            "Where the kind files are, for a daemon in process; default: those that ship.", valueName: "DIR"))
    var kinds: String?
    @Flag(help: "Print what every client sends and reads.")
    var trace = false
    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        var scenario: Scenario
        do {
            scenario = try ScenarioFolder.scenario(named: self.scenario)
            scenario.setting.kinds = try ScenarioFolder.kindFiles(of: scenario, in: kinds)
        } catch {
            complain("telltale-sim: \(error)")
            throw ExitCode(2)
        }
        if let seed { scenario.climate.seed = seed }
        let outcome = ScenarioRun.inProcess(
            scenario,
            trace: trace
                ? { time, client, text in
                    for line in text.split(separator: "\n") { print(time, client, line) }
                } : nil)
        try conclude(scenario, outcome, isLive: false)
    }

    /// - Throws: The exit code, where something was not as it should be.
    func conclude(_ scenario: Scenario, _ outcome: ScenarioOutcome, isLive: Bool) throws {
        let report = RunReport(scenario, outcome, isLive: isLive)
        print(json ? report.json.description : report.text)
        for fault in report.faults { complain("\(scenario.name): \(fault)") }
        if !report.faults.isEmpty { throw ExitCode.failure }
    }
}
