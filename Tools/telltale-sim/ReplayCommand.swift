import ArgumentParser
import EventLoop
import Foundation
import Model
import Simulation

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Posts the events of a CSV file to a daemon, as an order system would.",
        discussion: """
            The file has the columns case_id,event,timestamp,other; other is JSON. Each case is one live activity, \
            KIND/CASE_ID. Cases run beside each other by their own times; a row without a time follows its \
            predecessor. After the last row of a case comes its other.final_status, where that is canceled or \
            unavailable.

            A second replay of the same file changes nothing: every event has an id of its own.

              telltale-sim replay orders.csv --kind parcel --speed max
            """)

    @Argument(help: ArgumentHelp("The file; - is standard input.", valueName: "CSV"))
    var file: String
    @Option(help: ArgumentHelp("The kind of the activities.", valueName: "KIND"))
    var kind: String
    @Option(
        help: ArgumentHelp(
            "How many times as fast as it was, or max: as fast as the daemon takes it.", valueName: "N|max"))
    var speed: String = "max"
    @Option(
        help: ArgumentHelp(
            "Where the daemon listens; else TELLTALE_CONNECT, else 127.0.0.1:7878.", valueName: "HOST:PORT|unix:PATH"))
    var connect: String?
    @Flag(help: "The summary as JSON.")
    var json = false

    private var endpointText: String {
        connect ?? ProcessInfo.processInfo.environment["TELLTALE_CONNECT"] ?? "127.0.0.1:7878"
    }

    func validate() throws {
        guard ReplaySpeed(speed) != nil else {
            throw ValidationError("--speed \(speed): write max, or a number above 0")
        }
        guard Endpoint(endpointText) != nil else {
            throw ValidationError("--connect \(endpointText): write HOST:PORT or unix:PATH")
        }
        guard Key.isSegment(kind.utf8) else { throw ValidationError("--kind \(kind): this is no name of a kind") }
    }

    func run() throws {
        guard let speed = ReplaySpeed(speed), let endpoint = Endpoint(endpointText) else { return }
        let plan: ReplayPlan
        do {
            plan = try ReplayPlan(Trace(csv: try bytes()), kind: kind)
        } catch let error as TraceError {
            complain("\(file): \(error)")
            throw ExitCode.failure
        } catch {
            complain("\(file) cannot be read: \(error.localizedDescription)")
            throw ExitCode.failure
        }
        let outcome = try Replayer.run(plan, speed: speed, endpoint: endpoint)
        if let failure = outcome.connectionFailure {
            complain("no daemon at \(endpoint): \(failure)")
            throw ExitCode.noDaemon
        }
        print(json ? outcome.summary.json.description : outcome.summary.text)
        if !outcome.summary.isClean { throw ExitCode.failure }
    }

    private func bytes() throws -> [UInt8] {
        if file == "-" { return Array(try FileHandle.standardInput.readToEnd() ?? Data()) }
        return Array(try Data(contentsOf: URL(filePath: file)))
    }
}
