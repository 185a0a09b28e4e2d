import ArgumentParser
import Simulation
import ToolSupport

/// A bug that is planted to see whether a simulation finds it.
protocol PlantedBug: RawRepresentable<String>, CaseIterable, Sendable {
    var summary: String { get }
}

/// The result of one seed.
protocol SeedResult: Sendable {
    var seed: UInt64 { get }
    var violation: Violation? { get set }
    /// Of every byte: the same for the same seed.
    var hash: UInt64 { get }
}

/// A simulation in which everything hangs on the seed.
protocol SeededSimulation: SendableMetatype {
    associatedtype Bug: PlantedBug
    associatedtype Result: SeedResult

    static func run(
        seed: UInt64, bug: Bug?, trace: ((_ time: Int64, _ party: Int, _ text: String) -> Void)?
    ) -> Result
}

extension ClusterBug: PlantedBug {}
extension ClusterResult: SeedResult {}
extension SwarmResult: SeedResult {}
extension ClusterSwarm: SeededSimulation {}
extension PushBug: PlantedBug {}
extension PushSwarmResult: SeedResult {}
extension PushSwarm: SeededSimulation {}

/// The runs of a simulation that a command line asks for.
struct SeedRuns<Worlds: SeededSimulation> {
    let options: SeedOptions
    /// The subcommand of telltale-sim.
    let command: String

    /// Runs the seeds, looks for the planted bugs, or tells one seed, and prints what came of it.
    ///
    /// - Parameter summary: The last line, from all results and how many failed.
    func run(_ summary: ([Worlds.Result], Int) -> String) throws {
        let planted = try options.planted(Worlds.Bug.self)
        if options.trace { return try trace(planted) }
        if options.bugs { return try hunt(planted.map { [$0] } ?? Array(Worlds.Bug.allCases)) }
        let first = options.first
        let progress = SeedProgress(total: options.count, of: "seeds", command: command)
        var results = concurrently(options.count, workers: options.workers) { index, _ in
            let result = Worlds.run(seed: first &+ UInt64(index), bug: planted, trace: nil)
            progress.count(failed: result.violation != nil)
            if options.hashes { SecondRun.tell(result) }
            return result
        }
        progress.end()
        if options.hashes { return }
        let fault = options.twice ? try SecondRun.compare(&results) : nil
        for result in results {
            guard let violation = result.violation else { continue }
            Output.line("seed \(result.seed): \(violation)")
            let others = (options.bug.map { " --bug \($0)" } ?? "") + (options.twice ? " --twice" : "")
            Output.line("  again: telltale-sim \(command) --seed \(result.seed)" + others)
        }
        let failed = results.count { $0.violation != nil }
        Output.line(summary(results, failed))
        if let fault { complain(fault) }
        if failed > 0 || fault != nil { throw ExitCode(1) }
    }

    private func trace(_ planted: Worlds.Bug?) throws {
        let result = Worlds.run(seed: options.first, bug: planted) { time, party, text in
            for line in text.split(separator: "\n") { Output.line("\(time) \(party) \(line)") }
        }
        Output.line(result.violation.map { "\($0)" } ?? "every promise was kept")
        if result.violation != nil { throw ExitCode(1) }
    }

    /// Looks for each bug until a seed finds it.
    private func hunt(_ bugs: [Worlds.Bug]) throws {
        let (first, count) = (options.first, options.seeds)
        let known = try KnownSeeds(options.known, of: command)
        let progress = SeedProgress(total: bugs.count, of: "bugs", command: command)
        let found = concurrently(bugs.count, workers: options.workers) { place, _ in
            let seeds = known.order(for: bugs[place].rawValue, from: first, count: count)
            let result = seeds.lazy.compactMap { seed -> Worlds.Result? in
                let result = Worlds.run(seed: seed, bug: bugs[place], trace: nil)
                // A seed that fails by itself finds no bug.
                let isFound =
                    result.violation != nil
                    && Worlds.run(seed: result.seed, bug: nil, trace: nil).violation == nil
                return isFound ? result : nil
            }.first
            progress.count(failed: result == nil)
            return result
        }
        progress.end()
        for (bug, result) in zip(bugs, found) {
            let told = result.map { "seed \($0.seed): \($0.violation.map { "\($0)" } ?? "")".prefix(120) }
            Output.line(
                "\(result == nil ? "MISSED" : "found ") \(bug.rawValue): \(bug.summary)"
                    + (told.map { " — \($0)" } ?? "")
                    + (result.map { known.remark(on: bug.rawValue, foundBy: $0.seed) } ?? ""))
        }
        let foundCount = found.count { $0 != nil }
        Output.line("\(foundCount) of \(bugs.count) bugs found")
        if foundCount < bugs.count { throw ExitCode(1) }
    }
}
