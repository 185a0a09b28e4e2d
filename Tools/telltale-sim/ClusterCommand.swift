import ArgumentParser
import Foundation
import Simulation
import ToolSupport

/// `telltale-sim cluster`: three daemons over one replicated log, in process, one cluster a seed.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster", abstract: "Simulate three daemons over a replicated log, many times over.",
        discussion: """
            A seed decides which faults happen and when: nodes that are killed, stopped, cut off or wiped, clocks apart, \
            beats that are not told, elections of the engine, acknowledgements that are lost, late or come twice, reads \
            that are old, a full disk, and bugs of the engine, which a cluster must tell. Exit 1 when a promise was not \
            kept.

              telltale-sim cluster --seeds 1000
              telltale-sim cluster --seed 77 --trace    what nodes, engine and clients do
              telltale-sim cluster --bugs --seeds 1000  the seed that finds each planted bug
            """)

    @Option(help: ArgumentHelp("How many seeds.", valueName: "N"))
    var seeds = 100
    @Option(help: ArgumentHelp("The first seed.", valueName: "SEED"))
    var from: UInt64 = 1
    @Option(help: ArgumentHelp("One seed: the same as --from SEED --seeds 1.", valueName: "SEED"))
    var seed: UInt64?
    @Option(help: ArgumentHelp("Clusters at a time. (default: one a core)", valueName: "N"))
    var jobs: Int?
    @Flag(help: "Run every seed twice: both must give the same bytes.")
    var twice = false
    @Flag(help: "Plant each bug, and look for it in the seeds until one finds it.")
    var bugs = false
    @Option(help: ArgumentHelp("One planted bug in every cluster; --bugs lists them.", valueName: "NAME"))
    var bug: String?
    @Flag(help: "Print what nodes, engine and clients do, of the first seed.")
    var trace = false

    private var first: UInt64 { seed ?? from }
    private var cores: Int { jobs ?? ProcessInfo.processInfo.activeProcessorCount }
    private var planted: ClusterBug? { bug.flatMap(ClusterBug.init(rawValue:)) }

    mutating func validate() throws {
        if seed != nil, !bugs { seeds = 1 }
        guard seeds > 0, jobs ?? 1 > 0 else { throw ValidationError("--seeds and --jobs take a number from 1") }
        if bug != nil, planted == nil {
            throw ValidationError("--bug takes one of \(ClusterBug.allCases.map(\.rawValue).joined(separator: ", "))")
        }
    }

    func run() throws {
        if trace { return traceFirst() }
        if bugs { return try hunt() }
        let results = concurrently(seeds, workers: cores) { [self] index, _ in
            var result = ClusterSwarm.run(seed: first &+ UInt64(index), bug: planted)
            if twice, ClusterSwarm.run(seed: result.seed, bug: planted).hash != result.hash {
                result.violation = result.violation ?? Violation(promise: "P10", what: "two runs differ", time: 0)
            }
            return result
        }
        for result in results {
            guard let violation = result.violation else { continue }
            Output.line("seed \(result.seed): \(violation)")
            Output.line("  again: telltale-sim cluster --seed \(result.seed)" + (bug.map { " --bug \($0)" } ?? ""))
        }
        let failed = results.count { $0.violation != nil }
        func sum(_ member: (ClusterResult) -> Int) -> Int { results.reduce(0) { $0 + member($1) } }
        Output.line(
            """
            \(results.count) clusters, \(failed) failed: \(sum(\.takeovers)) takeovers, \(sum(\.records)) records, \
            \(sum(\.rows)) rows, \(sum(\.resumes)) resumes, \(results.reduce(0) { $0 + $1.span } / 60_000) virtual minutes
            """)
        if failed > 0 { throw ExitCode(1) }
    }

    private func traceFirst() {
        let result = ClusterSwarm.run(seed: first, bug: planted) { time, party, text in
            for line in text.split(separator: "\n") { Output.line("\(time) \(party) \(line)") }
        }
        Output.line(result.violation.map { "\($0)" } ?? "every promise was kept")
    }

    private func hunt() throws {
        let bugs = planted.map { [$0] } ?? ClusterBug.allCases
        let found = concurrently(bugs.count, workers: cores) { [self] place, _ in
            for number in 0..<UInt64(seeds) {
                let result = ClusterSwarm.run(seed: first &+ number, bug: bugs[place])
                // A seed that fails by itself finds no bug.
                guard result.violation != nil, ClusterSwarm.run(seed: result.seed).violation == nil else { continue }
                return ClusterResult?.some(result)
            }
            return nil
        }
        for (bug, result) in zip(bugs, found) {
            let told = result.map { "seed \($0.seed): \($0.violation.map { "\($0)" } ?? "")".prefix(120) }
            Output.line(
                "\(result == nil ? "MISSED" : "found ") \(bug.rawValue): \(bug.summary)"
                    + (told.map { " — \($0)" } ?? ""))
        }
        let count = found.count { $0 != nil }
        Output.line("\(count) of \(bugs.count) bugs found")
        if count < bugs.count { throw ExitCode(1) }
    }
}
