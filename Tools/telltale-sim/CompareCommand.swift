import ArgumentParser
import Foundation
import TelltaleModel
import ToolSupport

/// `telltale-sim compare A B`
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare", abstract: "Compare two reports of a scenario, for a build that must not become slower.",
        discussion: """
            A and B are what `telltale-sim run … --json` printed, A before and B after a change. Exit 1 when B has a fault or
            a regression that A does not have, or a time of an event to a view that is longer by more than --percent and
            more than --least.

              telltale-sim run lunch-rush --connect 127.0.0.1:7878 --json >before.json
              telltale-sim run lunch-rush --connect 127.0.0.1:7878 --json >after.json
              telltale-sim compare before.json after.json --percent 20
            """)

    @Argument(help: ArgumentHelp("The report before.", valueName: "A")) var before: String
    @Argument(help: ArgumentHelp("The report after.", valueName: "B")) var after: String
    @Option(help: ArgumentHelp("How much longer a time may be.", valueName: "N")) var percent = 10.0
    @Option(help: ArgumentHelp("Differences of times up to this many milliseconds do not count.", valueName: "MS"))
    var least = 1.0
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard percent >= 0, percent.isFinite else { throw ValidationError("--percent is to be 0 or more.") }
        guard least >= 0, least.isFinite else { throw ValidationError("--least is to be 0 or more.") }
    }

    func run() throws {
        let (a, b): (JSON, JSON)
        do {
            (a, b) = (try Self.read(before), try Self.read(after))
        } catch {
            complain("telltale-sim: \(error)")
            throw ExitCode(2)
        }
        let comparison = ReportComparison(before: a, after: b, percent: percent, leastMicroseconds: least * 1_000)
        if json {
            print(comparison.json)
        } else {
            print(comparison.text)
        }
        if !comparison.isGood { throw ExitCode.failure }
    }

    private struct Unreadable: Error, CustomStringConvertible {
        var description: String
    }

    private static func read(_ path: String) throws -> JSON {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Unreadable(description: "\(path): the file cannot be read")
        }
        let json: JSON
        do {
            json = try JSONParser().parse([UInt8](data).span)
        } catch {
            throw Unreadable(description: "\(path): \(error)")
        }
        guard json["scenario"]?.string != nil, json["event_to_view_us"]?.object != nil else {
            throw Unreadable(description: "\(path): is no report; telltale-sim run SCENARIO --json prints one")
        }
        return json
    }
}

/// Two reports of the same scenario, figure by figure.
struct ReportComparison {
    struct Figure {
        var name: String
        var before: Double
        var after: Double
        /// In microseconds; else a count.
        var isTime: Bool
        var isWorse: Bool
    }

    private(set) var figures: [Figure] = []
    private(set) var notes: [String] = []

    init(before: JSON, after: JSON, percent: Double, leastMicroseconds: Double) {
        let names = [before, after].map { $0["scenario"]?.string ?? "" }
        if names[0] != names[1] { notes.append("different scenarios: \(names[0]) and \(names[1])") }
        let faults = [before, after].map { Double($0["faults"]?.array?.count ?? 0) }
        figures.append(
            Figure(name: "faults", before: faults[0], after: faults[1], isTime: false, isWorse: faults[1] > faults[0]))
        for name in ["regressions", "inputs", "rows", "folded", "resumes", "resets"] {
            guard let a = before[name]?.double, let b = after[name]?.double else { continue }
            figures.append(
                Figure(name: name, before: a, after: b, isTime: false, isWorse: name == "regressions" && b > a))
        }
        for member in before["event_to_view_us"]?.object ?? JSONObject() {
            guard let other = after["event_to_view_us"]?[member.name] else {
                notes.append("\(member.name) is in the first report alone")
                continue
            }
            for percentile in RunReport.percentiles.map(\.name) {
                guard let a = member.value[percentile]?.double, let b = other[percentile]?.double else { continue }
                // One sample is no measure of a build: the longest is told, and judges nothing.
                let isWorse = percentile != "max" && b - a > leastMicroseconds && b > a * (1 + percent / 100)
                figures.append(
                    Figure(name: "\(member.name) \(percentile)", before: a, after: b, isTime: true, isWorse: isWorse))
            }
        }
    }

    var isGood: Bool { !figures.contains(where: \.isWorse) }

    var text: String {
        var lines = ["".padded(to: 20) + ["before", "after", "change"].map { Self.right($0) }.joined()]
        for figure in figures {
            let values = [figure.before, figure.after].map {
                figure.isTime ? RunReport.milliseconds(UInt64(max(0, $0))) : "\(Int($0))"
            }
            lines.append(
                figure.name.padded(to: 20) + (values + [Self.change(figure)]).map { Self.right($0) }.joined()
                    + (figure.isWorse ? "  worse" : ""))
        }
        let worse = figures.count(where: \.isWorse)
        lines += notes
        lines.append(worse == 0 ? "Nothing is worse than is allowed." : "\(worse) figures are worse than is allowed.")
        return lines.joined(separator: "\n")
    }

    var json: JSON {
        [
            "ok": .bool(isGood), "notes": .array(notes.map { .string($0) }),
            "figures": .array(
                figures.map { figure in
                    [
                        "name": .string(figure.name), "before": JSON(figure.before), "after": JSON(figure.after),
                        "worse": .bool(figure.isWorse),
                    ]
                }),
        ]
    }

    private static func change(_ figure: Figure) -> String {
        guard figure.before > 0 else { return figure.after == 0 ? "" : "new" }
        let percent = Int(((figure.after / figure.before - 1) * 100).rounded())
        return percent == 0 ? "" : "\(percent > 0 ? "+" : "")\(percent) %"
    }

    private static func right(_ text: String) -> String {
        String(repeating: " ", count: max(1, 12 - text.count)) + text
    }
}
