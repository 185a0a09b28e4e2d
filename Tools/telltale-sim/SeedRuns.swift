import ArgumentParser
import Foundation
import Simulation
import ToolSupport

/// The runs of a simulation that a command line asks for: its seeds, one of them with a trace, or a hunt for planted bugs.
struct SeedRuns<Worlds: SeededSimulation> {
    let worlds: Worlds
    let options: SeedOptions
    /// The subcommand of telltale-sim.
    let command: String
    /// The options of the subcommand itself that repeat a seed.
    var ownOptions = ""
    /// Whether the subcommand makes a failure smaller.
    var shrinks = false
    /// Whether a hunt counts the seeds that find a bug, instead of ending with the first.
    var countsFinds = false

    func run() throws {
        let planted = try options.planted(Worlds.Bug.self)
        if options.bugs { return try hunt(planted.map { [$0] } ?? Array(Worlds.Bug.allCases)) }
        if options.trace { return try trace(planted) }
        let progress = progress(options.count, of: "seeds")
        var results = concurrently(options.count, workers: options.workers) { [self] index, worker in
            let result = run(options.first &+ UInt64(index), planted, worker)
            progress.count(failed: result.violation != nil)
            if options.hashes { SecondRun.printLine(result) }
            return result
        }
        progress.end()
        if options.hashes { return }
        let fault = options.twice ? try SecondRun.compare(&results) : nil
        if options.json { Output.line(json(results)) } else { Output.text(text(results)) }
        if let fault { complain(fault) }
        if fault != nil || results.contains(where: { $0.violation != nil }) { throw ExitCode(1) }
    }

    private func run(_ seed: UInt64, _ bug: Worlds.Bug?, _ worker: Int) -> SeedResult {
        SeedsAtWork.note(seed, worker: worker)
        return worlds.run(seed, bug: bug, trace: nil)
    }

    private func progress(_ total: Int, of things: String) -> SeedProgress {
        SeedsAtWork.watch()
        return SeedProgress(total: total, of: things, command: command, isQuiet: options.json)
    }

    private func trace(_ planted: Worlds.Bug?) throws {
        let result = worlds.run(options.first, bug: planted, trace: Output.trace)
        Output.text(result.violation.map { "\($0)" } ?? "every promise was kept")
        if result.violation != nil { throw ExitCode(1) }
    }

    // MARK: Results

    private func text(_ results: [SeedResult]) -> String {
        var lines: [String] = []
        let failures = results.filter { $0.violation != nil }
        if !failures.isEmpty { lines.append("commit \(Commit.current)") }
        for result in failures {
            guard let violation = result.violation else { continue }
            let again =
                "telltale-sim \(command) --seed \(result.seed)" + ownOptions
                + (options.bug.map { " --bug \($0)" } ?? "") + (options.twice ? " --twice" : "")
            lines += ["seed \(result.seed): \(violation)", "  again:   \(again)"]
            if shrinks { lines.append("  smaller: \(again) --shrink") }
        }
        let hours = Double(results.reduce(0) { $0 + $1.span }) / 3_600_000
        let sums = (results.first?.counts ?? []).map { count in
            "\(results.reduce(0) { $0 + $1[count.name] }) \(count.name)"
        }
        lines.append(
            "\(results.count) seeds, \(failures.count) failed: \(String(format: "%.1f", hours)) virtual hours, "
                + sums.joined(separator: ", "))
        for (title, table) in [("verdicts", \SeedResult.verdicts), ("refusals", \SeedResult.errors)] {
            let all = results.reduce(into: [:]) { $0.merge($1[keyPath: table], uniquingKeysWith: +) }
            lines.append("\(title): " + all.sorted { $0.key < $1.key }.map { "\($0) \($1)" }.joined(separator: ", "))
        }
        return lines.joined(separator: "\n")
    }

    /// It holds nothing that depends on real time.
    private func json(_ results: [SeedResult]) -> String {
        let seeds = results.map { result in
            var line = #"{"seed":\#(result.seed),"hash":"\#(String(result.hash, radix: 16))""#
            for count in result.counts { line += #","\#(count.name)":\#(count.value)"# }
            if let violation = result.violation {
                let what = (try? JSONEncoder().encode(violation.what)).map { String(decoding: $0, as: UTF8.self) }
                line += #","promise":"\#(violation.promise)","at":\#(violation.time),"what":\#(what ?? "\"\"")"#
            }
            return line + "}"
        }
        let failed = results.count { $0.violation != nil }
        return #"{"failed":\#(failed),"seeds":[\#(seeds.joined(separator: ","))]}"#
    }

    // MARK: Planted bugs

    /// A seed of a hunt, and how it found the bug.
    private typealias Outcome = (seed: UInt64, violation: Violation?)

    private func hunt(_ bugs: [Worlds.Bug]) throws {
        let known = try KnownSeeds(options.known, of: command)
        let progress = progress(bugs.count, of: "bugs")
        let outcomes = concurrently(bugs.count, workers: options.workers) { [self] place, worker in
            var outcomes: [Outcome] = []
            for seed in known.order(for: bugs[place].name, from: options.first, count: options.seeds)
            where countsFinds || outcomes.last?.violation == nil {
                var violation = run(seed, bugs[place], worker).violation
                if violation != nil, worlds.mayFailByItself, run(seed, nil, worker).violation != nil { violation = nil }
                outcomes.append((seed, violation))
            }
            progress.count(failed: !outcomes.contains { $0.violation != nil })
            return outcomes
        }
        progress.end()
        let found = outcomes.map { outcomes in outcomes.count { $0.violation != nil } }
        if options.json {
            let members = zip(bugs, zip(found, outcomes)).map { bug, outcome in
                #"{"bug":"\#(bug.name)","found":\#(outcome.0),"seeds":\#(outcome.1.count)}"#
            }
            Output.line(#"{"bugs":[\#(members.joined(separator: ","))]}"#)
        } else {
            for (bug, outcome) in zip(bugs, outcomes) { Output.text(text(bug, outcome, known)) }
            Output.text("\(found.count { $0 > 0 }) of \(bugs.count) planted bugs found")
        }
        if found.contains(0) { throw ExitCode(1) }
    }

    private func text(_ bug: Worlds.Bug, _ outcomes: [Outcome], _ known: KnownSeeds) -> String {
        let count = outcomes.count { $0.violation != nil }
        var line = count > 0 ? "found " : "MISSED"
        line += String(format: " %4d of %d  ", count, outcomes.count) + bug.name + ": " + bug.rawValue
        if let first = outcomes.first(where: { $0.violation != nil }), let violation = first.violation {
            line += " — seed \(first.seed): " + "\(violation)".prefix(140)
            line += known.remark(on: bug.name, foundBy: first.seed)
        }
        return line
    }
}

extension Output {
    /// Prints what a client sends or reads, line by line.
    static func trace(_ time: Int64, _ party: Int, _ text: String) {
        for line in text.split(separator: "\n") { Self.text("\(time) \(party) \(line)") }
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
