import ArgumentParser
import Foundation
import Simulation
import ToolSupport

/// `telltale-sim list`
struct WorldListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "The scenarios that ship.")

    @Flag(help: "Print JSON: an array of {name, title}.")
    var json = false

    func run() throws {
        let scenarios = try ScenarioFolder.all()
        if json {
            let entries = scenarios.map { ["name": $0.name, "title": $0.title] }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            Output.line(String(decoding: try encoder.encode(entries), as: UTF8.self))
        } else {
            let width = scenarios.map(\.name.count).max() ?? 0
            for scenario in scenarios {
                Output.text(scenario.name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + scenario.title)
            }
        }
    }
}
