import ArgumentParser
import Glibc
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "The daemon's own figures.",
        discussion: """
            One figure a line. With --watch they are asked for again every second, and what a count has grown by since is \
            told beside it, until ctrl-c; on a terminal in place, into a pipe one table after the other.
            """)

    @Flag(help: "Ask again every second.") var watch = false
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        let (endpoint, configuration) = try daemon.connection()
        do throws(ClientFailure) {
            let client = try BlockingClient(
                to: endpoint, configuration: configuration, timeout: .seconds(20))
            var last: JSONObject?
            repeat {
                if last != nil { sleep(1) }
                let reply = try client.request(.stats)
                guard reply.isOK, let figures = reply.line.tail else {
                    throw ClientFailure.refused(DaemonOptions.describe(reply.line))
                }
                show(figures, since: last)
                last = figures
            } while watch
        } catch {
            throw DaemonOptions.exit(after: error)
        }
    }

    private func show(_ figures: JSONObject, since last: JSONObject?) {
        if output.json { return Output.json(.object(figures)) }
        let isInPlace = watch && Output.canDraw
        let width = figures.map(\.name.count).max() ?? 0
        var text = isInPlace && last == nil ? "\u{1B}[2J" : ""
        if isInPlace { text += "\u{1B}[H" }
        for figure in figures {
            let name = figure.name.padded(to: width)
            var line = "\(name)  \(figure.value)".harmless
            if let before = last?[figure.name]?.double, let now = figure.value.double, now != before {
                let change = now - before
                line += "  \(change > 0 ? "+" : "")\(JSON(change))"
            }
            text += line + (isInPlace ? "\u{1B}[K\n" : "\n")
        }
        if watch, !isInPlace { text += "\n" }
        Output.write(text)
    }
}
