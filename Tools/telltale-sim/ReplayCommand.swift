import ArgumentParser
import Demo
import Foundation
import Recordings
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Posts the events of a CSV file, or what record wrote, to a daemon.",
        discussion: """
            The file has the columns case_id,event,timestamp,other; other is JSON. Each case is one live activity, \
            KIND/CASE_ID. Cases run beside each other by their own times; a row without a time follows its \
            predecessor. After the last row of a case comes its other.final_status, where that is canceled or \
            unavailable.

            A second replay of the same file changes nothing: every event has an id of its own.

            A recording is told again in its order, to a fresh daemon: verdicts, states and final views must be the same. As \
            fast as the daemon takes it; at the pace of its own clock where deadlines fired or controls were used.

              telltale-sim replay orders.csv --kind parcel --speed max
              telltale-sim replay lunch.jsonl
            """)

    @Argument(help: ArgumentHelp("The file; - is standard input.", valueName: "CSV|RECORDING"))
    var file: String
    @Option(help: ArgumentHelp("The kind of a CSV file's activities.", valueName: "KIND"))
    var kind: String?
    @Option(
        help: ArgumentHelp(
            "How many times as fast as it was, or max: as fast as the daemon takes it.", valueName: "N|max"))
    var speed: String?
    @Flag(help: "Compare each case's state with what the data says became of it.")
    var check = false
    @Option(help: ArgumentHelp("Misbehave, by this seed (any number). Nothing is paced then.", valueName: "SEED"))
    var rough: UInt64?
    @OptionGroup var daemon: DaemonLinkOptions
    @Flag(help: "The summary as JSON.")
    var json = false

    func validate() throws {
        if let speed, ReplaySpeed(speed) == nil {
            throw ValidationError("--speed \(speed): write max, or a number above 0")
        }
        if let kind, !Key.isSegment(kind.utf8) { throw ValidationError("--kind \(kind): this is no name of a kind") }
    }

    func run() throws {
        let link = try daemon.link
        let speed = speed.flatMap { ReplaySpeed($0) }
        let bytes = try readFile()
        if Recording.isRecording(bytes) { return try replay(recording: bytes, speed: speed, at: link) }
        guard let kind else {
            throw ExitCode.failed("--kind is missing: the kind of the activities in \(file)", .usage)
        }
        let plan: ReplayPlan
        do {
            plan = try ReplayPlan(Trace(csv: bytes), kind: kind)
        } catch {
            throw ExitCode.failed("\(file): \(error)")
        }
        let loop = try EventLoop()
        defer { loop.shutDown() }
        let replayer = try Replayer(
            plan, speed: speed ?? .maximum, roughness: rough.map { ReplayFaults(seed: $0) }, isChecked: check,
            link: link,
            on: loop
        ) { if case .finished = $0 { loop.stop() } }
        defer { replayer.end() }
        let progress = try ReplayProgress(on: loop, of: replayer)
        try replayer.start()
        loop.run()
        progress.clear()
        if let failure = replayer.connectionFailure {
            throw ExitCode.absent(at: link, failure)
        }
        let summary = replayer.summary
        Output.report(json ? summary.json : nil, summary.text)
        if !summary.isClean { throw ExitCode.failure }
    }

    private func readFile() throws -> [UInt8] {
        do throws(NamedFile.Failure) {
            return file == "-" ? try NamedFile.readStandardInput() : try NamedFile.read(file)
        } catch {
            throw ExitCode.failed(error)
        }
    }

    private func replay(recording bytes: [UInt8], speed: ReplaySpeed?, at link: ToolClient) throws {
        let recording: Recording
        do {
            recording = try Recording(file: bytes)
        } catch {
            throw ExitCode.failed("\(file): \(error)")
        }
        let player = try RecordingPlayer(recording, speed: speed, at: link)
        switch try player.run() {
        case .noDaemon(let reason): throw ExitCode.absent(at: link, reason)
        case .failed(let reason): throw ExitCode.failed(reason)
        case .played(let played):
            let report = RecordingReport(recording, played, refusals: player.refusals)
            Output.report(json ? report.json : nil, report.text)
            if !report.isClean { throw ExitCode.failure }
        }
    }
}
