import ArgumentParser
import Foundation
import Model
import Simulation

/// Where the scenarios that ship are, and how one is read.
enum ScenarioFolder {
    /// `TELLTALE_SCENARIOS`, else the folder beside this program's source.
    static var url: URL {
        if let path = ProcessInfo.processInfo.environment["TELLTALE_SCENARIOS"] { return URL(filePath: path) }
        return URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scenarios")
    }

    static func all() throws -> [Scenario] {
        try FileManager.default.contentsOfDirectory(atPath: url.path).filter { $0.hasSuffix(".json") }.sorted()
            .map { try read(url.appending(path: $0)) }
    }

    /// - Parameter name: Of one that ships, or the path of a file.
    static func scenario(named name: String) throws -> Scenario {
        let shipped = url.appending(path: name + ".json")
        let file = FileManager.default.fileExists(atPath: shipped.path) ? shipped : URL(filePath: name)
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw Scenario.Fault(
                description: "there is no scenario \(name); telltale-sim list names those that ship, a path takes yours"
            )
        }
        return try read(file)
    }

    private static func read(_ file: URL) throws -> Scenario {
        let name = file.deletingPathExtension().lastPathComponent
        let json: JSON
        do {
            json = try JSONParser().parse([UInt8](Data(contentsOf: file)).span)
        } catch {
            throw Scenario.Fault(description: "\(file.path): \(error)")
        }
        return try Scenario(json, name: name)
    }
}

/// `telltale-sim list`
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "The scenarios that ship.")

    @Flag(help: "Print JSON: an array of {name, title}.")
    var json = false

    func run() throws {
        let scenarios = try ScenarioFolder.all()
        if json {
            let entries = scenarios.map { ["name": $0.name, "title": $0.title] }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            print(String(decoding: try encoder.encode(entries), as: UTF8.self))
        } else {
            let width = scenarios.map(\.name.count).max() ?? 0
            for scenario in scenarios {
                print(scenario.name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + scenario.title)
            }
        }
    }
}

/// `telltale-sim run NAME`
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Play a scenario, in process on virtual time, and check what comes of it.",
        discussion: """
            Exit 1 when a promise was not kept or an expectation of the scenario was not met.

              telltale-sim run lunch-rush
              telltale-sim run ./mine.json --seed 7 --trace
            """)

    @Argument(help: ArgumentHelp("A scenario that ships, or the path of a file.", valueName: "SCENARIO"))
    var scenario: String
    @Option(help: ArgumentHelp("Another seed than the scenario's.", valueName: "N"))
    var seed: UInt64?
    @Flag(help: "Print what every client sends and reads.")
    var trace = false
    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        var scenario: Scenario
        do {
            scenario = try ScenarioFolder.scenario(named: self.scenario)
        } catch {
            complain("telltale-sim: \(error)")
            throw ExitCode(2)
        }
        if let seed { scenario.climate.seed = seed }
        let result = Swarm.run(
            scenario.climate,
            trace: trace
                ? { time, client, text in
                    for line in text.split(separator: "\n") { print(time, client, line) }
                } : nil)
        var faults = scenario.unmet(by: result)
        if let violation = result.violation { faults.insert("\(violation)", at: 0) }
        print(json ? SwarmReport.json([result]) : "\(scenario.title)\n\(SwarmReport.text([result]))")
        for fault in faults { complain("\(scenario.name): \(fault)") }
        if !faults.isEmpty { throw ExitCode(1) }
    }
}
