import ArgumentParser
import Foundation
import Simulation
import Synchronization
import TelltaleEventLoop
import ToolSupport

/// `telltale-sim swarm`: whole worlds in process, one a seed, and the checkers of the promises over each.
struct SwarmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "swarm", abstract: "Simulate a daemon, its disk, network and clients, many times over.",
        discussion: """
            A seed decides which faults happen and when: crashes, full disks, slow and stuck readers, broken \
            connections, sliced lines, clocks that jump, providers that lie. A failure prints its seed and the commit; \
            --seed SEED repeats it to the byte. Exit 1 when a promise was not kept.

              telltale-sim swarm --seeds 1000
              telltale-sim swarm --seed 77 --trace     what every client sends and reads
              telltale-sim swarm --seed 77 --shrink    the smallest scenario that fails
              telltale-sim swarm --bugs --seeds 30     in how many seeds each bug is found
            """)

    @OptionGroup var options: SeedOptions
    @Option(help: ArgumentHelp("Posts and taps of each world.", valueName: "N"))
    var inputs = 2_000
    @Flag(help: "With --bugs: look at no more seeds for a bug that is found, instead of counting those that find it.")
    var once = false
    @Flag(help: "Turn down what the first seed's failure does not need, and print the rest as a scenario file.")
    var shrink = false
    @Flag(help: "Print JSON. It holds nothing that depends on real time.")
    var json = false

    func validate() throws {
        guard inputs > 0 else { throw ValidationError("--inputs takes a number from 1") }
        _ = try options.planted(SeededBug.self)
    }

    func run() throws {
        if options.bugs { return try hunt() }
        if options.trace { return try traceFirst() }
        if shrink { return try shrinkFirst() }
        var results = runAll(bug: planted)
        if options.hashes { return }
        let fault = options.twice ? try SecondRun.compare(&results) : nil
        let failures = results.filter { $0.violation != nil }
        if json { Output.line(SwarmReport.json(results)) } else { Output.text(SwarmReport.text(results, again: again)) }
        if let fault { complain(fault) }
        if !failures.isEmpty || fault != nil { throw ExitCode(1) }
    }

    private var planted: SeededBug? { options.bug.flatMap(SeededBug.init(rawValue:)) }

    /// The arguments that repeat a seed.
    private func again(_ seed: UInt64) -> String {
        "telltale-sim swarm --seed \(seed)" + (inputs == 2_000 ? "" : " --inputs \(inputs)")
            + (options.bug.map { " --bug \($0)" } ?? "") + (options.twice ? " --twice" : "")
    }

    private func climate(_ seed: UInt64) -> FaultProfile {
        var climate = FaultProfile(seed: seed)
        climate.inputs = inputs
        return climate
    }

    private func traceFirst() throws {
        let result = Swarm.run(climate(options.first), bug: planted) { time, client, text in
            for line in text.split(separator: "\n") { Output.text("\(time) \(client) \(line)") }
        }
        Output.text(result.violation.map { "\($0)" } ?? "every promise was kept")
        if result.violation != nil { throw ExitCode(1) }
    }

    private func shrinkFirst() throws {
        let found = Swarm.shrink(climate(options.first), bug: planted) { climate, violation in
            complain("still with \(climate.inputs) inputs, \(climate.screens) screens: \(violation.promise)")
        }
        guard let (climate, violation) = found else { return Output.text("seed \(options.first) keeps every promise") }
        Output.write(climate.scenarioText(title: "Seed \(options.first), made smaller") + "\n")
        complain("\(violation)")
        throw ExitCode(1)
    }

    private func runAll(bug: SeededBug?) -> [SwarmResult] {
        let progress = SeedProgress(total: options.count, of: "seeds", command: "swarm", isQuiet: json)
        SeedsAtWork.watch()
        let results = concurrently(options.count, workers: options.workers) { [self] index, worker in
            let climate = climate(options.first &+ UInt64(index))
            SeedsAtWork.note(climate.seed, worker: worker)
            let result = Swarm.run(climate, bug: bug)
            progress.count(failed: result.violation != nil)
            if options.hashes { SecondRun.tell(result) }
            return result
        }
        progress.end()
        return results
    }

    // MARK: Seeded bugs

    /// Every bug in every seed: in how many it is found, and how.
    private func hunt() throws {
        let bugs = planted.map { [$0] } ?? SeededBug.allCases
        let known = try KnownSeeds(options.known, of: "swarm")
        let progress = SeedProgress(total: bugs.count, of: "bugs", command: "swarm", isQuiet: json)
        SeedsAtWork.watch()
        let outcomes = concurrently(bugs.count, workers: options.workers) { [self] place, worker in
            var outcomes: [SwarmReport.Outcome] = []
            for seed in known.order(for: bugs[place].rawValue, from: options.first, count: options.seeds)
            where !once || !outcomes.contains(where: { $0.violation != nil }) {
                SeedsAtWork.note(seed, worker: worker)
                outcomes.append((seed, Swarm.run(climate(seed), bug: bugs[place]).violation))
            }
            progress.count(failed: !outcomes.contains { $0.violation != nil })
            return outcomes
        }
        progress.end()
        if json {
            Output.line(SwarmReport.json(bugs, outcomes))
        } else {
            Output.text(SwarmReport.text(bugs, outcomes, known))
        }
        if outcomes.contains(where: { $0.allSatisfy { $0.violation == nil } }) { throw ExitCode(1) }
    }
}

/// The report of a swarm, for people and for programs.
enum SwarmReport {
    /// The result of one seed of a hunt.
    typealias Outcome = (seed: UInt64, violation: Violation?)

    /// - Parameter again: The command that repeats a seed.
    static func text(
        _ results: [SwarmResult], again: (UInt64) -> String = { "telltale-sim swarm --seed \($0)" }
    ) -> String {
        var lines: [String] = []
        let failures = results.filter { $0.violation != nil }
        if !failures.isEmpty { lines.append("commit \(Commit.current)") }
        for result in failures {
            guard let violation = result.violation else { continue }
            lines.append("seed \(result.seed): \(violation)")
            lines.append("  again:   \(again(result.seed))")
            lines.append("  smaller: \(again(result.seed)) --shrink")
        }
        let hours = Double(results.reduce(0) { $0 + $1.span }) / 3_600_000
        lines.append(
            """
            \(results.count) seeds, \(results.filter { $0.violation != nil }.count) failed: \
            \(String(format: "%.1f", hours)) virtual hours, \(sum(results, \.inputs)) inputs, \
            \(sum(results, \.recoveries)) crashes, \(sum(results, \.rows)) rows (\(sum(results, \.folded)) commits folded), \
            \(sum(results, \.resumes)) resumes, \(sum(results, \.resets)) resets, \(sum(results, \.bytes) >> 20) MiB
            """)
        lines.append("verdicts: " + table(results, \.verdicts))
        lines.append("refusals: " + table(results, \.errors))
        return lines.joined(separator: "\n")
    }

    private static func sum(_ results: [SwarmResult], _ member: (SwarmResult) -> Int) -> Int {
        results.reduce(0) { $0 + member($1) }
    }

    private static func table(_ results: [SwarmResult], _ member: (SwarmResult) -> [String: Int]) -> String {
        var all: [String: Int] = [:]
        for result in results { all.merge(member(result), uniquingKeysWith: +) }
        return all.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    static func json(_ results: [SwarmResult]) -> String {
        let seeds = results.map { result in
            var line =
                #"{"seed":\#(result.seed),"hash":"\#(String(result.hash, radix: 16))","inputs":\#(result.inputs)"#
            line += #","crashes":\#(result.recoveries),"rows":\#(result.rows),"resumes":\#(result.resumes)"#
            if let violation = result.violation {
                line +=
                    #","promise":"\#(violation.promise)","at":\#(violation.time),"what":\#(jsonQuoted(violation.what))"#
            }
            return line + "}"
        }
        let failed = results.filter { $0.violation != nil }.count
        return #"{"failed":\#(failed),"seeds":[\#(seeds.joined(separator: ","))]}"#
    }

    /// In how many seeds each bug was found, and how the first time.
    static func text(_ bugs: [SeededBug], _ outcomes: [[Outcome]], _ known: KnownSeeds) -> String {
        var lines: [String] = []
        for (bug, outcome) in zip(bugs, outcomes) {
            let count = outcome.count { $0.violation != nil }
            var line = count > 0 ? "found " : "MISSED"
            line += String(format: " %4d of %d  ", count, outcome.count) + bug.rawValue + ": " + bug.summary
            if let first = outcome.first(where: { $0.violation != nil }), let violation = first.violation {
                line += " — seed \(first.seed): " + "\(violation)".prefix(140)
                line += known.remark(on: bug.rawValue, foundBy: first.seed)
            }
            lines.append(line)
        }
        let found = outcomes.count { $0.contains { $0.violation != nil } }
        lines.append("\(found) of \(bugs.count) seeded bugs found")
        return lines.joined(separator: "\n")
    }

    static func json(_ bugs: [SeededBug], _ outcomes: [[Outcome]]) -> String {
        let members = zip(bugs, outcomes).map { bug, outcome in
            #"{"bug":"\#(bug.rawValue)","found":\#(outcome.count { $0.violation != nil }),"seeds":\#(outcome.count)}"#
        }
        return #"{"bugs":[\#(members.joined(separator: ","))]}"#
    }

    private static func jsonQuoted(_ text: String) -> String {
        (try? String(decoding: JSONEncoder().encode(text), as: UTF8.self)) ?? "\"\""
    }
}

/// The commit that this program was built from, where it still stands in the folder of its build.
enum Commit {
    static var current: String {
        let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
        guard let build = program.range(of: "/.build/") else { return "unknown" }
        let git = Process()
        git.executableURL = URL(filePath: "/usr/bin/env")
        let folder = String(program[..<build.lowerBound])
        git.arguments = ["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=12"]
        let output = Pipe()
        git.standardOutput = output
        git.standardError = FileHandle.nullDevice
        guard (try? git.run()) != nil else { return "unknown" }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        git.waitUntilExit()
        let commit = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return git.terminationStatus == 0 && !commit.isEmpty ? commit : "unknown"
    }
}
