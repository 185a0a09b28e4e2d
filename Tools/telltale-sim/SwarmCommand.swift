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

    @Option(help: ArgumentHelp("How many seeds.", valueName: "N"))
    var seeds = 100
    @Option(help: ArgumentHelp("The first seed.", valueName: "SEED"))
    var from: UInt64 = 1
    @Option(help: ArgumentHelp("One seed: the same as --from SEED --seeds 1.", valueName: "SEED"))
    var seed: UInt64?
    @Option(help: ArgumentHelp("Worlds at a time. (default: one a core)", valueName: "N"))
    var jobs: Int?
    @Option(help: ArgumentHelp("Posts and taps of each world.", valueName: "N"))
    var inputs = 2_000
    @Flag(help: "Run every seed twice: both must give the same bytes.")
    var twice = false
    @Flag(help: "Put each seeded bug into the daemon's surroundings, and count in how many of the seeds it is found.")
    var bugs = false
    @Flag(help: "With --bugs: look at no more seeds for a bug that is found.")
    var once = false
    @Option(help: ArgumentHelp("One seeded bug in every world; --bugs lists them.", valueName: "NAME"))
    var bug: String?
    @Flag(help: "Turn down what the first seed's failure does not need, and print the rest as a scenario file.")
    var shrink = false
    @Flag(help: "Print what every client sends and reads, of the first seed.")
    var trace = false
    @Flag(help: "Print JSON. It holds nothing that depends on real time.")
    var json = false

    private var first: UInt64 { seed ?? from }
    private var cores: Int { jobs ?? ProcessInfo.processInfo.activeProcessorCount }

    mutating func validate() throws {
        if seed != nil, !bugs { seeds = 1 }
        guard seeds > 0, inputs > 0, jobs ?? 1 > 0 else {
            throw ValidationError("--seeds, --inputs and --jobs take a number from 1")
        }
        if let bug, SeededBug(rawValue: bug) == nil {
            throw ValidationError("--bug takes one of \(SeededBug.allCases.map(\.rawValue).joined(separator: ", "))")
        }
    }

    func run() throws {
        if bugs { return try hunt() }
        if trace { return traceFirst() }
        if shrink { return try shrinkFirst() }
        let results = runAll(bug: bug.flatMap(SeededBug.init(rawValue:)))
        let failures = results.filter { $0.violation != nil }
        if json { Output.line(SwarmReport.json(results)) } else { Output.text(SwarmReport.text(results, again: again)) }
        if !failures.isEmpty { throw ExitCode(1) }
    }

    /// The arguments that repeat a seed.
    private func again(_ seed: UInt64) -> String {
        "telltale-sim swarm --seed \(seed)" + (inputs == 2_000 ? "" : " --inputs \(inputs)")
            + (bug.map { " --bug \($0)" } ?? "") + (twice ? " --twice" : "")
    }

    private func climate(_ seed: UInt64) -> FaultProfile {
        var climate = FaultProfile(seed: seed)
        climate.inputs = inputs
        return climate
    }

    private func traceFirst() {
        let result = Swarm.run(climate(first), bug: bug.flatMap(SeededBug.init(rawValue:))) { time, client, text in
            for line in text.split(separator: "\n") { Output.text("\(time) \(client) \(line)") }
        }
        Output.text(result.violation.map { "\($0)" } ?? "every promise was kept")
    }

    private func shrinkFirst() throws {
        let found = Swarm.shrink(climate(first), bug: bug.flatMap(SeededBug.init(rawValue:))) { climate, violation in
            complain("still with \(climate.inputs) inputs, \(climate.screens) screens: \(violation.promise)")
        }
        guard let (climate, violation) = found else { return Output.text("seed \(first) keeps every promise") }
        Output.write(climate.scenarioText(title: "Seed \(first), made smaller") + "\n")
        complain("\(violation)")
        throw ExitCode(1)
    }

    private func runAll(bug: SeededBug?) -> [SwarmResult] {
        let progress = SwarmProgress(total: seeds, of: "seeds", isQuiet: json)
        SeedsAtWork.watch()
        let results = concurrently(seeds, workers: cores) { [self] index, worker in
            let climate = climate(first &+ UInt64(index))
            SeedsAtWork.note(climate.seed, worker: worker)
            var result = Swarm.run(climate, bug: bug)
            if twice, Swarm.run(climate, bug: bug).hash != result.hash {
                result.violation = result.violation ?? Violation(promise: "P10", what: "two runs differ", time: 0)
            }
            progress.count(failed: result.violation != nil)
            return result
        }
        progress.end()
        return results
    }

    // MARK: Seeded bugs

    /// Every bug in every seed: in how many it is found, and how.
    private func hunt() throws {
        let bugs = bug.flatMap(SeededBug.init(rawValue:)).map { [$0] } ?? SeededBug.allCases
        let progress = SwarmProgress(total: bugs.count, of: "bugs", isQuiet: json)
        SeedsAtWork.watch()
        let outcomes = concurrently(bugs.count, workers: cores) { [self] place, worker in
            var violations: [Violation?] = []
            for number in 0..<seeds where !once || !violations.contains(where: { $0 != nil }) {
                SeedsAtWork.note(first &+ UInt64(number), worker: worker)
                violations.append(Swarm.run(climate(first &+ UInt64(number)), bug: bugs[place]).violation)
            }
            progress.count(failed: !violations.contains { $0 != nil })
            return violations
        }
        progress.end()
        if json {
            Output.line(SwarmReport.json(bugs, outcomes))
        } else {
            Output.text(SwarmReport.text(bugs, outcomes, from: first))
        }
        if outcomes.contains(where: { $0.allSatisfy { $0 == nil } }) { throw ExitCode(1) }
    }
}

/// A progress bar on a terminal; elsewhere a line for every tenth.
private final class SwarmProgress: Sendable {
    private let done = Atomic<Int>(0)
    private let failures = Atomic<Int>(0)
    private let total: Int
    private let things: String
    private let isShown: Bool

    init(total: Int, of things: String, isQuiet: Bool) {
        self.total = total
        self.things = things
        isShown = !isQuiet
    }

    func count(failed: Bool) {
        let done = done.wrappingAdd(1, ordering: .relaxed).newValue
        if failed { failures.wrappingAdd(1, ordering: .relaxed) }
        guard isShown else { return }
        let count = "\(done)/\(total) \(things), \(failures.load(ordering: .relaxed)) failed"
        if ProgressLine.isShown {
            ProgressLine.show(count, fraction: Double(done) / Double(max(1, total)))
        } else if total >= 40, 10 * done / total > 10 * (done - 1) / total {
            complain("swarm: \(count)")
        }
    }

    func end() {
        if isShown { ProgressLine.clear() }
    }
}

/// The report of a swarm, for people and for programs.
enum SwarmReport {
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
    static func text(_ bugs: [SeededBug], _ outcomes: [[Violation?]], from first: UInt64) -> String {
        var lines: [String] = []
        for (bug, outcome) in zip(bugs, outcomes) {
            let count = outcome.count { $0 != nil }
            var line = count > 0 ? "found " : "MISSED"
            line += String(format: " %4d of %d  ", count, outcome.count) + bug.rawValue + ": " + bug.summary
            if let place = outcome.firstIndex(where: { $0 != nil }), let violation = outcome[place] {
                line += " — seed \(first &+ UInt64(place)): " + "\(violation)".prefix(140)
            }
            lines.append(line)
        }
        let found = outcomes.count { $0.contains { $0 != nil } }
        lines.append("\(found) of \(bugs.count) seeded bugs found")
        return lines.joined(separator: "\n")
    }

    static func json(_ bugs: [SeededBug], _ outcomes: [[Violation?]]) -> String {
        let members = zip(bugs, outcomes).map { bug, outcome in
            #"{"bug":"\#(bug.rawValue)","found":\#(outcome.count { $0 != nil }),"seeds":\#(outcome.count)}"#
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
