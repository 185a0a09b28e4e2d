import ArgumentParser
import Reports
import TelltaleModel
import ToolSupport

/// `telltale-sim compare A B`
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare", abstract: "Compare two reports of a scenario, for a build that must not become slower.",
        discussion: """
            A and B are what `telltale-sim run SCENARIO --json` printed, A before and B after a change. Exit 1 when B has a fault or \
            a regression that A does not have, lacks a view that A has, or has a time of an event to a view that is longer by more \
            than --percent and more than --least. Exit 2 when a file is no report, or the reports are of two scenarios.

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
            throw ExitCode.failed("\(error)", .usage)
        }
        guard
            let comparison = ReportComparison(
                before: a, after: b, percent: percent, leastMicroseconds: least * 1_000)
        else {
            let names = [a, b].map { $0["scenario"]?.string ?? "" }
            throw ExitCode.failed(
                "\(before) is of \(names[0]), and \(after) of \(names[1]): compare reports of one scenario", .usage)
        }
        if json {
            Output.json(comparison.json)
        } else {
            Output.text(comparison.text)
        }
        if !comparison.isGood { throw ExitCode.failure }
    }

    private struct Unreadable: Error, CustomStringConvertible {
        var description: String
    }

    private static func read(_ path: String) throws -> JSON {
        let bytes = try NamedFile.read(path)
        let json: JSON
        do {
            json = try JSONParser().parse(bytes.span)
        } catch {
            throw Unreadable(description: "\(path): \(error)")
        }
        guard json["scenario"]?.string != nil, json["event_to_view_us"]?.object != nil else {
            throw Unreadable(description: "\(path): is no report; telltale-sim run SCENARIO --json prints one")
        }
        return json
    }
}
