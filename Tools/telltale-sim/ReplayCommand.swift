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
    @Flag(help: "Compare each case's state with what the data says became of it.")
    var check = false
    @Option(help: ArgumentHelp("Misbehave, by this seed (any number). Nothing is paced then.", valueName: "SEED"))
    var rough: UInt64?
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
        let loop = try EventLoop()
        defer { loop.shutDown() }
        let replayer = try Replayer(
            plan, speed: speed, roughness: rough.map { Roughness(seed: $0) }, isChecked: check, endpoint: endpoint,
            on: loop
        ) { if case .finished = $0 { loop.stop() } }
        defer { replayer.end() }
        let progress = try ReplayProgress(on: loop) { [unowned replayer] in replayer.progressText }
        try replayer.start()
        loop.run()
        progress.clear()
        if let failure = replayer.connectionFailure {
            complain("no daemon at \(endpoint): \(failure)")
            throw ExitCode.noDaemon
        }
        let summary = replayer.summary
        print(json ? summary.json.description : summary.text)
        if !summary.isClean { throw ExitCode.failure }
    }

    private func bytes() throws -> [UInt8] {
        if file == "-" { return Array(try FileHandle.standardInput.readToEnd() ?? Data()) }
        return Array(try Data(contentsOf: URL(filePath: file)))
    }
}
