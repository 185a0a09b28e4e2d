import ArgumentParser
import Cards
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Is the provider of a kind of controls: runs a command for each action.",
        discussion: """
            The command runs in a shell with TELLTALE_KEY, TELLTALE_ACTION (set or press), TELLTALE_VALUE (on, off or
            empty), TELLTALE_OP and TELLTALE_DEADLINE (Unix ms). Exit status 0 is done, anything else failed.

            A toggle's command may print what the thing is now, on or off, as its last line; without that the value is
            taken for what was asked, and told as assumed. What a failing command prints last on standard error is told
            to whoever tapped; what came of each action is a line on standard error. A command that is still at it when its deadline comes, or when the same control is to do
            something else, is terminated. What a command has begun and left behind is not waited for.

              telltale serve porch-light --exec 'gpioset 17=$([ $TELLTALE_VALUE = on ] && echo 1 || echo 0)'
              telltale serve porch-light --report front=off --exec true
            """)

    @Argument(help: "The kind to serve.") var kind: String
    @Option(help: ArgumentHelp("What does it.", valueName: "command")) var exec: String
    @Option(
        help: ArgumentHelp(
            "How a control is when this begins, as front=off, or front for a button; may be repeated.",
            valueName: "id[=on|off]"))
    var report: [String] = []
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard Key.isSegment(kind.utf8) else {
            throw ValidationError("KIND is to be 1 to 64 of [A-Za-z0-9._~:@-], not '\(kind)'.")
        }
        _ = try reports()
    }

    func run() throws {
        try Provider(
            endpoint: try daemon.endpoint, configuration: try daemon.configuration(), kind: kind, command: exec,
            reports: try reports()
        ).run()
    }

    private func reports() throws -> [(key: Key, value: Bool?)] {
        try report.map { text in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            let value: Bool? =
                switch parts.count > 1 ? parts[1] : "" {
                case "on": true
                case "off": false
                case "": nil
                case _: throw ValidationError("--report is to be ID, ID=on or ID=off, not '\(text)'.")
                }
            guard let key = Key(kind: kind, id: parts.first ?? "") else {
                throw ValidationError("--report: '\(text)' does not begin with the id of a control.")
            }
            return (key, value)
        }
    }
}

/// The client of `telltale serve`.
private final class Provider {
    private let endpoint: Endpoint
    private let configuration: ClientConfiguration
    private let kind: String
    private let command: String
    private let reports: [(key: Key, value: Bool?)]
    private let loop: EventLoop
    private var client: Client?
    private var clock: ServerClock?
    private var epoch = ""
    private var serving: RequestID?
    private var hasServed = false
    /// The last report on a connection that was made again: its answer tells that this serves there.
    private var reporting: RequestID?
    /// Tells that the kind was taken away, which ends what was reported; `nil` where nothing was.
    private var following: SubscriptionID?
    private var isKindGone = false
    private var reportTimer: TimerHandle?
    /// Why the daemon sent this client away.
    private var farewell: ServerLine?
    private var outcome: ExitCode?

    /// Every command that has not ended, including the ones that are about to be ended.
    private var runs: [Int: Run] = [:]
    private var lastRun = 0
    /// The one that is at each control.
    private var current: [Key: Int] = [:]
    /// The answer to the last operation of each control. An operation that comes again is answered from here.
    private var answers: [Key: (operation: String, command: Command)] = [:]

    /// The value of each control after its last command.
    private var values: [Key: Bool] = [:]

    /// One command at its work.
    private struct Run {
        let action: ProviderAction
        var process: ChildProcess?
        var deadline: TimerHandle?
        var isLate = false
        var output = LastLine()
        var error = LastLine()
    }

    init(
        endpoint: Endpoint, configuration: ClientConfiguration, kind: String, command: String,
        reports: [(key: Key, value: Bool?)]
    ) throws(UVError) {
        self.endpoint = endpoint
        self.configuration = configuration
        self.kind = kind
        self.command = command
        self.reports = reports
        loop = try EventLoop()
    }

    func run() throws {
        let client = try Client(to: endpoint, configuration: configuration, on: loop) {
            [unowned self] client, event in handle(event, client)
        }
        self.client = client
        let signals = try [SignalHandle.Signal.interrupt, .terminate, .hangUp].map { signal in
            try SignalHandle(signal, on: loop) { [unowned self] in finish(.success) }
        }
        serving = client.request(.serve(kind: kind))
        client.start()
        loop.run()
        for run in runs.values { run.process?.terminate() }
        withExtendedLifetime(signals) {}
        if let outcome, outcome != .success { throw outcome }
    }

    private func finish(_ outcome: ExitCode) {
        if self.outcome == nil { self.outcome = outcome }
        loop.stop()
    }

    private func handle(_ event: ClientEvent, _ client: Client) {
        // The reason for the end was printed already; the end of the connection follows from it.
        guard outcome == nil else { return }
        switch event {
        case .ready(let greeting, _):
            clock = ServerClock(greeting)
            if greeting.epoch != epoch { begin(greeting.epoch) }
            // A report counts for its connection alone.
            if hasServed { reporting = report(to: client) }
        case .reply(let id, let reply) where id == serving:
            guard reply.isOK else { return refused(DaemonOptions.describe(reply.line)) }
            hasServed = true
            report(to: client)
            complain("telltale: serving \(kind)")
            follow(client)
        case .reply(let id, let reply) where id == reporting && reply.isOK:
            isKindGone = false
            complain("telltale: serving \(kind) again")
        case .reply(_, let reply) where isKindGone && reply.line["code"] == "unknown_kind": break
        case .subscription(_, .deletion(let key, _, "removed")) where reports.contains { $0.key == key }:
            guard !isKindGone else { break }
            isKindGone = true
            complain("telltale: the daemon has no kind \(kind) any more; waiting for it")
            reportTimer?.schedule(afterMilliseconds: Self.reportMilliseconds)
        case .reply(_, let reply) where !reply.isOK:
            complain("telltale: \(DaemonOptions.describe(reply.line))")
        case .refused(let reason, _): refused(reason)
        case .serviceRefused(_, let line): refused(DaemonOptions.describe(line))
        case .farewell(let line): if line.verb == "ERR" { farewell = line }
        case .disconnected(let reason, _):
            guard hasServed else { return finish(DaemonOptions.exit(afterNoReady: reason, farewell)) }
            farewell = nil
            complain("telltale: \(reason.harmless); trying again")
        case .action(let action): perform(action, client)
        case .lost: complain("telltale: an answer was lost with the connection")
        case .violation(let text): complain("telltale: the daemon broke a promise: \(text.harmless)")
        case .item, .reply, .restarted, .subscription, .traitsRefused: break
        }
    }

    /// Tells how the controls of `--report` are: at first as it says, then as the commands have left them.
    ///
    /// - Returns: The last of the requests.
    @discardableResult
    private func report(to client: Client) -> RequestID? {
        var last: RequestID?
        for report in reports {
            last = client.request(.report(report.key, value: values[report.key] ?? report.value, at: nil))
        }
        return last
    }

    /// How often a kind that is gone is looked for.
    private static let reportMilliseconds: Int64 = 1_000

    /// Follows the controls of `--report`. A principal that may serve and not read is refused, and goes on without.
    private func follow(_ client: Client) {
        guard following == nil, !reports.isEmpty, let pattern = TelltaleModel.Pattern("\(kind)/*") else { return }
        following = client.subscribe(SubscribeCommand(pattern: pattern))
        reportTimer = try? TimerHandle(on: loop) { [unowned self] _ in
            guard isKindGone else { return }
            reporting = report(to: client)
            reportTimer?.schedule(afterMilliseconds: Self.reportMilliseconds)
        }
    }

    private func refused(_ reason: String) {
        complain("telltale: \(reason.harmless)")
        finish(.failure)
    }

    // MARK: Commands

    /// The daemon has another history: it has not asked for the running commands, and reuses the names of operations.
    private func begin(_ epoch: String) {
        self.epoch = epoch
        for number in current.values { runs[number]?.process?.terminate() }
        current = [:]
        answers = [:]
    }

    private func perform(_ action: ProviderAction, _ client: Client) {
        if let number = current[action.key], runs[number]?.action.operation == action.operation {
            // It comes again with a new connection, and is on its way.
            return setDeadline(of: number)
        }
        if let answer = answers[action.key], answer.operation == action.operation {
            client.request(answer.command)
            return
        }
        // An older command would set the thing back, when it comes to its end.
        if let number = current.removeValue(forKey: action.key) { runs[number]?.process?.terminate() }
        lastRun += 1
        let number = lastRun
        do throws(UVError) {
            let process = try ChildProcess(
                "/bin/sh", ["-c", command],
                environment: [
                    "TELLTALE_KEY": action.key.text, "TELLTALE_ACTION": action.isPress ? "press" : "set",
                    "TELLTALE_VALUE": action.value.map { $0 ? "on" : "off" } ?? "",
                    "TELLTALE_OP": action.operation, "TELLTALE_DEADLINE": "\(action.deadline.milliseconds)",
                ], on: loop
            ) { [unowned self] _, stream, bytes in
                heard(bytes, stream, from: number)
            } onEnd: { [unowned self] _, end in
                ended(number, end)
            }
            let deadline = try TimerHandle(on: loop) { [unowned self] _ in
                runs[number]?.isLate = true
                runs[number]?.process?.terminate()
            }
            runs[number] = Run(action: action, process: process, deadline: deadline)
            current[action.key] = number
            setDeadline(of: number)
        } catch {
            answer(action, .fail(op: action.operation, code: "failed", message: error.description))
        }
    }

    private func setDeadline(of number: Int) {
        guard let run = runs[number], let clock else { return }
        // The daemon's clock is known up to the delay of its greeting, so a command always has a shortest time.
        let wait = max(Self.shortestWait, clock.wait(until: run.action.deadline))
        run.deadline?.schedule(afterMilliseconds: wait.count)
    }

    private static let shortestWait = Milliseconds(100)

    private func heard(_ bytes: Span<UInt8>, _ stream: ChildProcess.Stream, from number: Int) {
        switch stream {
        case .output: runs[number]?.output.append(bytes)
        case .error:
            runs[number]?.error.append(bytes)
            // A reader of standard error that has stopped reading must not hold up the commands.
            StandardStream.error.write(bytes, waits: false)
        }
    }

    private func ended(_ number: Int, _ end: ChildProcess.End) {
        guard let run = runs.removeValue(forKey: number) else { return }
        // One that had to make room for another has nothing to say of the thing.
        guard current[run.action.key] == number else { return }
        current[run.action.key] = nil
        let operation = run.action.operation
        if end == .exited(status: 0) {
            let value: Bool? = run.output.text == "on" ? true : run.output.text == "off" ? false : nil
            return answer(run.action, .done(op: operation, value: value))
        }
        let message =
            switch end {
            case _ where run.isLate: "it was not done by its deadline"
            case .exited(let status): run.error.text ?? "exit status \(status)"
            case .killed(let signal): run.error.text ?? "ended by signal \(signal)"
            }
        answer(run.action, .fail(op: operation, code: "failed", message: message))
    }

    private func answer(_ action: ProviderAction, _ command: Command) {
        let asked = action.isPress ? "press" : action.value == true ? "on" : "off"
        switch command {
        case .done(_, let value):
            if !action.isPress { values[action.key] = value ?? action.value }
            complain("telltale: \(action.key) \(asked): done\(value.map { $0 ? " (on)" : " (off)" } ?? "")")
        case .fail(_, _, let message):
            complain("telltale: \(action.key) \(asked): failed\(message.map { ": \($0)" } ?? "")")
        case _: break
        }
        answers[action.key] = (action.operation, command)
        client?.request(command)
    }
}

/// The last line of a command's output.
private struct LastLine {
    private var bytes: [UInt8] = []
    private static let byteCount = 4_096

    mutating func append(_ more: Span<UInt8>) {
        for index in max(0, more.count - Self.byteCount)..<more.count { bytes.append(more[index]) }
        if bytes.count > Self.byteCount { bytes.removeFirst(bytes.count - Self.byteCount) }
    }

    /// Without the blanks around it; `nil` where nothing was printed.
    var text: String? {
        let line = bytes.split(separator: UInt8(ascii: "\n")).last
        return line.map { String(decoding: $0, as: UTF8.self).trimmed }
    }
}
