import ArgumentParser
import Foundation
import Kinds
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// `telltale ping`: whether a daemon is there and answers, for health checks.
struct PingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping", abstract: "Whether the daemon is there and answers.",
        discussion: """
            On a terminal it says how long the answer took; into a pipe nothing, or an object with --json. Exit codes: 0 it \
            answers, 1 it refuses this client, 69 there is none.
            """)

    @Option(help: ArgumentHelp("How long to try, such as 10s or 1m30s. Default: once.", valueName: "span"))
    var wait: String?
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func validate() throws { _ = try span() }

    func run() throws {
        let (endpoint, configuration) = try daemon.connection()
        let span = try span()
        let deadline = ContinuousClock.now + span
        while true {
            do throws(ClientFailure) {
                let left = max(.milliseconds(100), min(deadline - .now, .seconds(10)))
                let timeout = span == .zero ? Milliseconds.seconds(10) : Milliseconds(Int64(left / .milliseconds(1)))
                let client = try BlockingClient(to: endpoint, configuration: configuration, timeout: timeout)
                let asked = ContinuousClock.now
                _ = try client.request(.ping)
                return show(client, Int64((ContinuousClock.now - asked) / .microseconds(1)))
            } catch {
                if case .refused = error { throw DaemonOptions.exit(after: error) }
                guard ContinuousClock.now < deadline else { throw DaemonOptions.exit(after: error) }
            }
            // There is no loop and nothing else to wait for.
            usleep(100_000)
        }
    }

    private func show(_ client: BlockingClient, _ microseconds: Int64) {
        let greeting = client.greeting
        if output.isForPeople {
            let milliseconds = JSON((Double(microseconds) / 10).rounded() / 100)
            return Output.text(
                "telltaled \(greeting?.server ?? "") at \(client.endpoint) answered in \(milliseconds) ms")
        }
        guard output.json else { return }
        Output.json([
            "server": .string(greeting?.server ?? ""), "epoch": .string(greeting?.epoch ?? ""),
            "microseconds": .integer(microseconds),
        ])
    }

    private func span() throws -> Duration {
        guard let wait else { return .zero }
        guard let span = Milliseconds(duration: wait), (0...86_400_000).contains(span.count) else {
            throw ValidationError(
                "--wait is to be a span of at most a day, such as 10s, 500ms or 1m30s, not '\(wait)'.")
        }
        return .milliseconds(span.count)
    }
}
