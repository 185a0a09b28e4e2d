import ArgumentParser
import Demo
import Foundation
import Recordings
import Reports
import Simulation
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// `telltale-sim record FILE`
struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Writes what a daemon was told as a trace of offsets.",
        discussion: """
            Everything that the daemon's HISTORY tells of the keys that it has, and of those that it is told of until ctrl-c \
            (or --for, or --once): events, taps, and what providers did. Dates become offsets from the beginning. \
            HISTORY tells neither for whom an activity is, nor what was refused or said twice; so a recording has neither.

              telltale-sim record lunch.jsonl --for 10m

            Against a fresh daemon, a replay gives the same verdicts and views:

              telltale-sim replay lunch.jsonl --connect 127.0.0.1:7979
            """)

    @Argument(help: ArgumentHelp("Where to; - is standard output.", valueName: "FILE"))
    var file: String
    @Option(name: .customLong("for"), help: ArgumentHelp("How long, as 30s or 10m.", valueName: "DURATION"))
    var span: String?
    @Flag(help: "What there is now, and no more.")
    var once = false
    @OptionGroup var daemon: DaemonLinkOptions

    func validate() throws {
        if let span, Milliseconds(span: span) == nil {
            throw ValidationError("--for \(span): write a duration such as 30s or 10m")
        }
    }

    func run() throws {
        let link = try daemon.link
        let recorder = try Recorder(link, span: once ? .zero : span.flatMap { Milliseconds(span: $0) })
        let recording = try recorder.run()
        let text = Array((recording.lines.joined(separator: "\n") + "\n").utf8)
        if file == "-" {
            guard StandardStream.output.write(text.span) == 0 else {
                throw ExitCode.failed("standard output is closed, or its disk is full: the recording is not whole")
            }
        } else {
            do throws(NamedFile.Failure) {
                try NamedFile.write(text, to: file)
            } catch {
                throw ExitCode.failed(error)
            }
        }
        let keys = Set(recording.entries.map(\.key)).count
        complain(
            "\(recording.entries.count) deeds of \(keys) keys, over \(HumanTime.text(milliseconds: recording.end))")
    }
}

/// Follows a daemon until it is stopped, and then reads the histories.
private final class Recorder {
    private let link: ToolClient
    /// `nil`: until a signal comes.
    private let span: Milliseconds?
    private let loop: EventLoop
    private var client: Client?
    private var reader: RecordingReader?
    private var keys: Set<String> = []
    private var outcome: Result<Recording, RecordingReader.Failure>?
    private var hasBegun = false
    private var exit: ExitCode?
    private var clock: ServerClock?
    private var timer: TimerHandle?

    init(_ link: ToolClient, span: Milliseconds?) throws {
        self.link = link
        self.span = span
        loop = try EventLoop()
    }

    func run() throws -> Recording {
        defer { loop.shutDown() }
        var configuration = ClientConfiguration(name: "telltale-sim-record", eventIDPrefix: "record")
        configuration.keepsRows = false
        let client = try Client(to: link.endpoint, configuration: configuration.through(link), on: loop) {
            [unowned self] _, event in
            heard(event)
        }
        self.client = client
        guard let everything = Pattern("*") else { throw ExitCode.failure }
        var all = SubscribeCommand(pattern: everything)
        all.view = .full
        _ = client.subscribe(all)
        timer = try TimerHandle(on: loop) { [unowned self] _ in read() }
        let signals = try [SignalHandle.Signal.interrupt, .terminate].map { signal in
            try SignalHandle(signal, on: loop) { [unowned self] in read() }
        }
        client.start()
        loop.run()
        withExtendedLifetime(signals) {}
        timer?.cancel()
        client.close()
        if let exit { throw exit }
        switch outcome {
        case .success(let recording): return recording
        case .failure(let failure): complain("telltale-sim: \(failure)")
        case nil: break
        }
        throw ExitCode.failure
    }

    private func read() {
        guard reader == nil, let client else { return }
        guard hasBegun else {
            exit = .failure
            return loop.stop()
        }
        reader = RecordingReader(client, keys: keys, clock: clock) { [unowned self] outcome in
            self.outcome = outcome
            loop.stop()
        }
    }

    private func heard(_ event: ClientEvent) {
        reader?.heard(event)
        switch event {
        case .ready(let greeting, _):
            clock = ServerClock(greeting)
        case .subscription(_, let event):
            switch event {
            case .snapshot(let row), .update(let row): keys.insert(row.key.text)
            case .deletion(let key, _, _): keys.insert(key.text)
            case .live:
                guard !hasBegun else { return }
                hasBegun = true
                if let span { timer?.schedule(afterMilliseconds: span.count) }
                if span == nil { complain("recording; ctrl-c ends") }
            case .refused(let line):
                complain("telltale-sim: \(line["code"] ?? "refused"): \(line.message ?? "the subscription is refused")")
                exit = .failure
                loop.stop()
            case .milestone, .alert, .changed, .reset: break
            }
        case .refused(let reason, _):
            complain("telltale-sim: \(reason)")
            exit = .failure
            loop.stop()
        case .disconnected where !hasBegun && client?.hasAskedAll == false: break
        case .disconnected(let reason, _):
            guard outcome == nil else { return }
            guard !hasBegun else { return complain("\(reason); trying again") }
            complain("no daemon at \(link): \(reason)")
            exit = .noDaemon
            loop.stop()
        case .item, .reply, .restarted, .lost, .traitsRefused, .serviceRefused, .action, .violation, .farewell: break
        }
    }
}
