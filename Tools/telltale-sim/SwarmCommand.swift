import ArgumentParser
import Foundation
import Simulation
import Synchronization

/// `telltale-sim swarm`: whole worlds in process, one a seed, and the checkers of the promises over each.
struct SwarmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "swarm", abstract: "Simulate a daemon, its disk, network and clients, many times over.",
        discussion: """
            A seed decides which faults happen and when: crashes, full disks, slow and stuck readers, broken \
            connections, sliced lines, clocks that jump, providers that lie. A failure prints its seed; --from SEED \
            --seeds 1 repeats it to the byte. Exit 1 when a promise was not kept.

              telltale-sim swarm --seeds 1000
              telltale-sim swarm --bugs            shows that each seeded bug is found, and in how many seeds
            """)

    @Option(help: ArgumentHelp("How many seeds.", valueName: "N"))
    var seeds = 100
    @Option(help: ArgumentHelp("The first seed.", valueName: "SEED"))
    var from: UInt64 = 1
    @Option(help: ArgumentHelp("Worlds at a time. (default: one a core)", valueName: "N"))
    var jobs: Int?
    @Option(help: ArgumentHelp("Posts and taps of each world.", valueName: "N"))
    var inputs = 2_000
    @Flag(help: "Run every seed twice: both must give the same bytes.")
    var twice = false
    @Flag(help: "Put each seeded bug into the daemon's surroundings, and count the seeds until it is found.")
    var bugs = false
    @Option(help: ArgumentHelp("One seeded bug in every world; --bugs lists them.", valueName: "NAME"))
    var bug: String?
    @Flag(help: "Turn down what the first seed's failure does not need, and print the rest as a scenario file.")
    var shrink = false
    @Flag(help: "Print what every client sends and reads, of the first seed.")
    var trace = false
    @Flag(help: "Print JSON. It holds nothing that depends on real time.")
    var json = false

    func validate() throws {
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
        if json { print(SwarmReport.json(results)) } else { print(SwarmReport.text(results)) }
        if !failures.isEmpty { throw ExitCode(1) }
    }

    private func climate(_ seed: UInt64) -> Climate {
        var climate = Climate(seed: seed)
        climate.inputs = inputs
        return climate
    }

    private func traceFirst() {
        let result = Swarm.run(climate(from), bug: bug.flatMap(SeededBug.init(rawValue:))) { time, client, text in
            for line in text.split(separator: "\n") { print(time, client, line) }
        }
        print(result.violation.map { "\($0)" } ?? "every promise was kept")
    }

    private func shrinkFirst() throws {
        let found = Swarm.shrink(climate(from), bug: bug.flatMap(SeededBug.init(rawValue:))) { climate, violation in
            complain("still with \(climate.inputs) inputs, \(climate.screens) screens: \(violation.promise)")
        }
        guard let (climate, violation) = found else { return print("seed \(from) keeps every promise") }
        print(climate.scenarioText(title: "Seed \(from), made smaller"))
        complain("\(violation)")
        throw ExitCode(1)
    }

    private func runAll(bug: SeededBug?) -> [SwarmResult] {
        let next = Atomic<Int>(0)
        let results = Mutex<[SwarmResult]>([])
        let workers = min(seeds, jobs ?? ProcessInfo.processInfo.activeProcessorCount)
        let progress = SwarmProgress(total: seeds, isQuiet: json)
        DispatchQueue.concurrentPerform(iterations: workers) { _ in
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < seeds else { return }
                let climate = climate(from &+ UInt64(index))
                var result = Swarm.run(climate, bug: bug)
                if twice, Swarm.run(climate, bug: bug).hash != result.hash {
                    result.violation =
                        result.violation ?? Violation(promise: "P10", what: "two runs differ", time: 0)
                }
                let failed = result.violation != nil
                results.withLock { $0.append(result) }
                progress.count(failed: failed)
            }
        }
        progress.end()
        return results.withLock { $0 }.sorted { $0.seed < $1.seed }
    }

    // MARK: Seeded bugs

    /// Every bug in seed after seed, until it is found.
    private func hunt() throws {
        let next = Atomic<Int>(0)
        let found = Mutex<[Int: (seeds: Int, violation: Violation?)]>([:])
        let bugs = SeededBug.allCases
        let workers = jobs ?? ProcessInfo.processInfo.activeProcessorCount
        DispatchQueue.concurrentPerform(iterations: workers) { _ in
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < bugs.count else { return }
                var outcome: (seeds: Int, violation: Violation?) = (seeds, nil)
                for number in 0..<seeds {
                    if let violation = Swarm.run(climate(from &+ UInt64(number)), bug: bugs[index]).violation {
                        outcome = (number + 1, violation)
                        break
                    }
                }
                found.withLock { $0[index] = outcome }
            }
        }
        let outcomes = found.withLock { $0 }
        var missed = 0
        for (index, bug) in bugs.enumerated() {
            guard let outcome = outcomes[index] else { continue }
            if let violation = outcome.violation {
                print("found   \(bug.rawValue): \(bug.summary) — seed \(outcome.seeds): \(violation)".prefix(220))
            } else {
                missed += 1
                print("MISSED  \(bug.rawValue): \(bug.summary) — not in \(outcome.seeds) seeds")
            }
        }
        print("\(bugs.count - missed) of \(bugs.count) seeded bugs found")
        if missed > 0 { throw ExitCode(1) }
    }
}

/// A line that tells how far it is, on a terminal.
private final class SwarmProgress: Sendable {
    private let done = Atomic<Int>(0)
    private let failures = Atomic<Int>(0)
    private let total: Int
    private let isShown: Bool

    init(total: Int, isQuiet: Bool) {
        self.total = total
        isShown = !isQuiet && isatty(2) == 1
    }

    func count(failed: Bool) {
        let done = done.wrappingAdd(1, ordering: .relaxed).newValue
        if failed { failures.wrappingAdd(1, ordering: .relaxed) }
        guard isShown else { return }
        let filled = 30 * done / max(1, total)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
        let failures = failures.load(ordering: .relaxed)
        FileHandle.standardError.write(Data("\r\(bar) \(done)/\(total) seeds, \(failures) failed ".utf8))
    }

    func end() {
        if isShown { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    }
}

/// What a swarm gave, for people and for programs.
enum SwarmReport {
    static func text(_ results: [SwarmResult]) -> String {
        var lines: [String] = []
        for result in results {
            guard let violation = result.violation else { continue }
            lines.append("seed \(result.seed): \(violation)")
            lines.append("  again: telltale-sim swarm --from \(result.seed) --seeds 1")
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
                line += #","promise":"\#(violation.promise)","at":\#(violation.time),"what":\#(quoted(violation.what))"#
            }
            return line + "}"
        }
        let failed = results.filter { $0.violation != nil }.count
        return #"{"failed":\#(failed),"seeds":[\#(seeds.joined(separator: ","))]}"#
    }

    private static func quoted(_ text: String) -> String {
        (try? String(decoding: JSONEncoder().encode(text), as: UTF8.self)) ?? "\"\""
    }
}
