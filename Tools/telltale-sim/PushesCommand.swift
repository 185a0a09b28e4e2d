import ArgumentParser
import Foundation
import Simulation
import ToolSupport

/// `telltale-sim pushes`: worlds in which telltale-push sends the states of activities to devices, one a seed.
struct PushesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushes", abstract: "Simulate a sender of pushes beside a daemon, many times over.",
        discussion: """
            A seed decides which faults happen and when: daemon and telltale-push are killed between any two of their steps, \
            connections break, disks fill up, clocks jump; the push service loses answers, throttles and fails; devices \
            replace their tokens. In the end each card is as the daemon has its activity, none was shown an older state \
            after a newer one, and no alert and no start came twice. Exit 1 when one was not so.

              telltale-sim pushes --seeds 1000
              telltale-sim pushes --seed 77 --trace    what every connection says
              telltale-sim pushes --bugs --seeds 300   the seed that finds each planted bug
            """)

    @Option(help: ArgumentHelp("How many seeds.", valueName: "N"))
    var seeds = 100
    @Option(help: ArgumentHelp("The first seed.", valueName: "SEED"))
    var from: UInt64 = 1
    @Option(help: ArgumentHelp("One seed: the same as --from SEED --seeds 1.", valueName: "SEED"))
    var seed: UInt64?
    @Option(help: ArgumentHelp("Worlds at a time. (default: one a core)", valueName: "N"))
    var jobs: Int?
    @Flag(help: "Run every seed twice: both must give the same bytes.")
    var twice = false
    @Flag(help: "Plant each bug, and look for it in the seeds until one finds it.")
    var bugs = false
    @Option(help: ArgumentHelp("One planted bug in every world; --bugs lists them.", valueName: "NAME"))
    var bug: String?
    @Flag(help: "Print what every connection says, of the first seed.")
    var trace = false

    private var first: UInt64 { seed ?? from }
    private var cores: Int { jobs ?? ProcessInfo.processInfo.activeProcessorCount }
    private var planted: PushBug? { bug.flatMap(PushBug.init(rawValue:)) }

    mutating func validate() throws {
        if seed != nil, !bugs { seeds = 1 }
        guard seeds > 0, jobs ?? 1 > 0 else { throw ValidationError("--seeds and --jobs take a number from 1") }
        if bug != nil, planted == nil {
            throw ValidationError("--bug takes one of \(PushBug.allCases.map(\.rawValue).joined(separator: ", "))")
        }
    }

    func run() throws {
        if trace { return traceFirst() }
        if bugs { return try hunt() }
        let results = concurrently(seeds, workers: cores) { [self] index, _ in
            var result = PushSwarm.run(seed: first &+ UInt64(index), bug: planted)
            if twice, PushSwarm.run(seed: result.seed, bug: planted).hash != result.hash {
                result.violation = result.violation ?? Violation(promise: "P10", what: "two runs differ", time: 0)
            }
            return result
        }
        for result in results {
            guard let violation = result.violation else { continue }
            Output.line("seed \(result.seed): \(violation)")
            Output.line("  again: telltale-sim pushes --seed \(result.seed)" + (bug.map { " --bug \($0)" } ?? ""))
        }
        let failed = results.count { $0.violation != nil }
        func sum(_ member: (PushSwarmResult) -> Int) -> Int { results.reduce(0) { $0 + member($1) } }
        Output.line(
            """
            \(results.count) worlds, \(failed) failed: \(sum(\.inputs)) inputs, \(sum(\.arrivals)) pushes to \
            \(sum(\.cards)) cards, \(sum(\.kills)) kills of telltale-push, \(sum(\.recoveries)) of daemons, \
            \(results.reduce(0) { $0 + $1.span } / 60_000) virtual minutes
            """)
        if failed > 0 { throw ExitCode(1) }
    }

    private func traceFirst() {
        let result = PushSwarm.run(seed: first, bug: planted) { time, client, text in
            for line in text.split(separator: "\n") { Output.line("\(time) \(client) \(line)") }
        }
        Output.line(result.violation.map { "\($0)" } ?? "every device is as it should be")
    }

    private func hunt() throws {
        let bugs = planted.map { [$0] } ?? PushBug.allCases
        let found = concurrently(bugs.count, workers: cores) { [self] place, _ in
            for number in 0..<UInt64(seeds) {
                let result = PushSwarm.run(seed: first &+ number, bug: bugs[place])
                // A seed that fails by itself finds no bug.
                guard result.violation != nil, PushSwarm.run(seed: result.seed).violation == nil else { continue }
                return PushSwarmResult?.some(result)
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
