import ArgumentParser
import Foundation
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// `telltale ping`: whether a daemon is there and answers, for health checks.
struct PingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping", abstract: "Whether the daemon is there and answers.",
        discussion: "Exit codes: 0 it answers, 1 it refuses this client, 69 there is none.")

    @Option(help: ArgumentHelp("How long to try, such as 10s or 500ms. Default: once.", valueName: "span"))
    var wait: String?
    @OptionGroup var daemon: DaemonOptions

    func validate() throws { _ = try span() }

    func run() throws {
        let (endpoint, configuration) = (try daemon.endpoint, try daemon.configuration())
        let span = try span()
        let deadline = ContinuousClock.now + span
        while true {
            do throws(ClientFailure) {
                let left = max(.milliseconds(100), min(deadline - .now, .seconds(10)))
                let timeout = span == .zero ? Milliseconds.seconds(10) : Milliseconds(Int64(left / .milliseconds(1)))
                _ = try BlockingClient(to: endpoint, configuration: configuration, timeout: timeout).request(.ping)
                return
            } catch {
                if case .refused = error { throw DaemonOptions.exit(after: error) }
                guard ContinuousClock.now < deadline else { throw DaemonOptions.exit(after: error) }
            }
            // No loop and nothing else to wait for.
            usleep(100_000)
        }
    }

    private func span() throws -> Duration {
        guard let wait else { return .zero }
        let units: [(String, Duration)] = [("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60))]
        for (name, unit) in units where wait.hasSuffix(name) {
            if let count = Int(wait.dropLast(name.count)), (0...86_400_000).contains(count) { return unit * count }
        }
        throw ValidationError("--wait is to be a span such as 10s or 500ms.")
    }
}
