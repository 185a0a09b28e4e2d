import ArgumentParser
import Cards
import Glibc
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "The daemon's own figures.",
        discussion: """
            A table on a terminal, one figure a line in a pipe. With --watch they are asked for again every second, and what a \
            count has grown by since is told beside it, until ctrl-c; on a terminal in place, into a pipe one after the other.
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
        if output.isForPeople { return draw(figures, since: last) }
        let width = figures.map(\.name.count).max() ?? 0
        var text = ""
        for figure in figures {
            let name = figure.name.padded(to: width)
            var line = "\(name)  \(figure.value)".harmless
            if let before = last?[figure.name]?.double, let now = figure.value.double, now != before {
                let change = now - before
                line += "  \(change > 0 ? "+" : "")\(JSON(change))"
            }
            text += line + "\n"
        }
        if watch { text += "\n" }
        Output.write(text)
    }

    /// On a terminal; with `--watch` in the place of the figures before.
    private func draw(_ figures: JSONObject, since last: JSONObject?) {
        let isInPlace = watch && Output.canDraw
        let size = Output.size
        var table = FigureTable.draw(figures, since: last, at: .ofThisMachine, width: size.width)
        if isInPlace { table = table.cut(toHeight: size.height - 1) }
        if isInPlace { Output.write(last == nil ? "\u{1B}[2J\u{1B}[H" : "\u{1B}[H") }
        Output.draw(table, erasesRest: isInPlace)
        if watch, !isInPlace { Output.text("") }
    }
}
