import ArgumentParser
import Demo
import Foundation
import Reports
import Simulation
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

/// `telltale-sim run NAME`
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Play a scenario, and check what comes of it.",
        discussion: """
            In process on virtual time, or against a live daemon with --connect. What only a world in process can do \
            (crashes, full disks, jumping clocks) is left out there, and the report says so. On a terminal the screens are \
            drawn side by side; space pauses, s steps, + and - change the speed, q quits. Exit 1 when a promise was not kept or an expectation of the scenario was not met.

              telltale-sim run lunch-rush
              telltale-sim run ./mine.json --seed 7 --trace
              telltale-sim run lossy-train --connect 127.0.0.1:7878 --report train.html
            """)

    @Argument(help: ArgumentHelp("A scenario that ships, or the path of a file.", valueName: "SCENARIO"))
    var scenario: String
    @Option(help: ArgumentHelp("Another seed than the scenario's.", valueName: "N"))
    var seed: UInt64?
    @Option(
        help: ArgumentHelp(
            "Where the kind files are, for a daemon in process; default: those that ship.", valueName: "DIR"))
    var kinds: String?
    @Option(
        help: ArgumentHelp(
            "A live daemon, instead of one in process: real sockets, real time.",
            valueName: "host:port|tls://host:port|unix:path"))
    var connect: DaemonPlace?
    @OptionGroup var access: DaemonAccess
    @Option(
        help: ArgumentHelp(
            "How many times as fast as real time; in process and unwatched always max, else 1 for a script and a live daemon, 10 for a crowd.",
            valueName: "N|max"))
    var speed: String?
    @Option(help: ArgumentHelp("Write a report with its charts, one HTML file.", valueName: "FILE"))
    var report: String?
    @Flag(help: "Plain lines, on a terminal too.")
    var plain = false
    @Flag(help: "Print what every client sends and reads.")
    var trace = false
    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard speedFactor != nil else {
            throw ValidationError("--speed \(speed ?? ""): write max, or a number above 0")
        }
    }

    /// `max`: as much faster as a daemon's own time allows.
    private var speedFactor: Double? {
        guard let speed else { return 1 }
        if speed == "max" { return 200 }
        guard let factor = Double(speed), factor > 0, factor <= 10_000 else { return nil }
        return factor
    }

    func run() throws {
        var scenario: Scenario
        do {
            scenario = try ScenarioFolder.scenario(named: self.scenario)
            if connect == nil { scenario.setting.kinds = try ScenarioFolder.kindFiles(of: scenario, in: kinds) }
        } catch {
            throw ExitCode.failed("\(error)", .usage)
        }
        if connect != nil, scenario.hasBoards {
            throw ExitCode.failed(
                "\(scenario.name) arranges boards, and is played in process only; leave --connect out", .usage)
        }
        if let seed { scenario.climate.seed = seed }
        if let connect {
            try runLive(scenario, at: try access.link(to: connect))
        } else {
            try runInProcess(scenario)
        }
    }

    /// Whether a person watches the run and nothing else is printed.
    private var isWatched: Bool { Output.canDraw && !plain && !json && !trace }

    /// A script at the pace at which it is written; a crowd faster, or its minutes would be long.
    private func watchSpeed(_ scenario: Scenario) -> Double {
        if speed == "max" { return .infinity }
        return speed == nil ? (scenario.setting.steps.isEmpty ? 10 : 1) : speedFactor ?? 1
    }

    private func runInProcess(_ scenario: Scenario) throws {
        if isWatched {
            let pacer = RunPacer(RunWatch(scenario), speed: watchSpeed(scenario))
            let outcome = ScenarioRun.inProcess(scenario, watch: pacer.mayGoOn)
            pacer.watch.close()
            if pacer.hasQuit {
                Output.text("Stopped.")
                throw ExitCode(130)
            }
            return try conclude(RunReport(scenario, outcome, isLive: false))
        }
        var sink: TraceSink?
        if trace { sink = Output.trace }
        let outcome = ScenarioRun.inProcess(scenario, trace: sink)
        try conclude(RunReport(scenario, outcome, isLive: false))
    }

    private func runLive(_ scenario: Scenario, at link: ToolClient) throws {
        // The tag is unique to this run, so that it shares no keys with other runs at the same daemon.
        let tag = String(UInt64.random(in: 0..<(1 << 40)), radix: 36)
        let run: LiveRun
        do {
            run = try LiveRun(Crowd(scenario, tag: tag, speed: speedFactor ?? 1), at: link)
        } catch let failure as ClientFailure {
            throw ExitCode.absent(at: link, failure)
        }
        if trace { run.crowd.trace = Output.trace }
        let watch = isWatched ? RunWatch(scenario) : nil
        let progress = RunProgress(isQuiet: json || trace || isWatched)
        run.onFrame = { run in
            progress.show(run.crowd)
            if let watch { show(run, on: watch) }
        }
        let ending = try run.run()
        progress.clear()
        watch?.close()
        switch ending {
        case .over: break
        case .interrupted:
            if isWatched { Output.text("Stopped.") }
            throw ExitCode(130)
        case .noDaemon(let reason): throw ExitCode.absent(at: link, reason)
        case .failed(let reason): throw ExitCode.failed(reason)
        }
        var report = RunReport(scenario, run.crowd.outcome, isLive: true)
        report.notes = run.crowd.notes
        try conclude(report)
    }

    /// Draws one frame, and carries out the keys that were pressed since the last one.
    private func show(_ run: LiveRun, on watch: RunWatch) {
        _ = watch.comesBack()
        while let wish = watch.wish(within: 0) {
            switch wish {
            case .pause: run.crowd.pause(!run.crowd.isPaused, at: LiveRun.instant)
            case .step:
                if !run.crowd.isPaused { run.crowd.pause(true, at: LiveRun.instant) }
                run.crowd.step(at: LiveRun.instant)
            case .faster, .slower:
                run.crowd.setSpeed(RunWatch.speed(run.crowd.speed, after: wish), at: LiveRun.instant)
            case .quit: return run.end(.interrupted)
            }
            run.live()
        }
        watch.show(run.crowd.glimpse, speed: run.crowd.speed, isPaused: run.crowd.isPaused, always: true)
    }

    private static var origin: RunReport.Origin {
        RunReport.Origin(
            version: Release.version, date: Date.now.formatted(.iso8601),
            arguments: Array(CommandLine.arguments.dropFirst()))
    }

    /// - Throws: The exit code, where something was not as it should be.
    private func conclude(_ report: RunReport) throws {
        if let file = self.report {
            var report = report
            report.origin = Self.origin
            do throws(NamedFile.Failure) {
                try NamedFile.write(Array(report.html.utf8), to: file)
            } catch {
                throw ExitCode.failed(error)
            }
        }
        Output.report(json ? report.json : nil, report.text)
        for fault in report.faults { complain("\(report.scenario.name): \(fault)") }
        if !report.faults.isEmpty { throw ExitCode.failure }
    }
}
