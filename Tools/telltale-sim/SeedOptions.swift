import ArgumentParser
import Foundation
import Simulation

/// The seeds of a simulation, as the command line names them.
struct SeedOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How many seeds.", valueName: "N"))
    var seeds = 100
    @Option(help: ArgumentHelp("The first seed.", valueName: "SEED"))
    var from: UInt64 = 1
    @Option(help: ArgumentHelp("One seed: the same as --from SEED --seeds 1.", valueName: "SEED"))
    var seed: UInt64?
    @Option(help: ArgumentHelp("Seeds at a time. (default: one a core)", valueName: "N"))
    var jobs: Int?
    @Flag(help: "Run every seed twice, in two processes: both must give the same bytes.")
    var twice = false
    @Flag(help: .hidden)
    var hashes = false
    @Flag(help: "Plant each bug, and look for it in the seeds.")
    var bugs = false
    @Option(help: ArgumentHelp("With --bugs: seeds to begin with, in lines COMMAND BUG SEED.", valueName: "FILE"))
    var known: String?
    @Option(help: ArgumentHelp("One planted bug in every seed; --bugs lists them.", valueName: "NAME"))
    var bug: String?
    @Flag(help: "Print what is sent and read, of the first seed.")
    var trace = false
    @Flag(help: "Print JSON. It holds nothing that depends on real time.")
    var json = false

    var first: UInt64 { seed ?? from }
    /// With `--bugs`, `--seed` is where the search begins.
    var count: Int { seed != nil && !bugs ? 1 : seeds }
    var workers: Int { jobs ?? ProcessInfo.processInfo.activeProcessorCount }

    func validate() throws {
        guard known == nil || bugs else { throw ValidationError("--known belongs to --bugs") }
        guard seeds > 0, jobs ?? 1 > 0 else { throw ValidationError("--seeds and --jobs take a number from 1") }
    }

    /// The bug that `--bug` names; `nil` without it.
    func planted<Bug: PlantedBug>(_ type: Bug.Type) throws -> Bug? {
        guard let bug else { return nil }
        if let planted = Bug(named: bug) { return planted }
        throw ValidationError("--bug takes one of \(Bug.allCases.map(\.name).joined(separator: ", "))")
    }
}
