import ArgumentParser
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// The client of `telltale serve`.
final class Provider {
    private let endpoint: EndpointList
    private let configuration: ClientConfiguration
    private let kind: String
    private let command: String
    private let reports: [(key: Key, value: Bool?)]
    private let log: ServeLog
    private let loop: EventLoop
    private var client: Client?
    private var clock: ServerClock?
    private var epoch = ""
    private var serving: RequestID?
    private var hasServed = false
    /// The last report after a reconnect, whose answer shows that this client serves there.
    private var reporting: RequestID?
    /// The subscription that shows when the kind was removed, which ends the reported controls; `nil` if none were
    /// reported.
    private var following: SubscriptionID?
    private var isKindGone = false
    private var reportTimer: TimerHandle?
    /// Why the daemon sent this client away.
    private var farewell: ServerLine?
    private var outcome: ExitCode?

    /// Every running command, including those about to be ended.
    private var runs: [Int: Run] = [:]
    private var lastRun = 0
    /// The current command of each control.
    private var current: [Key: Int] = [:]
    /// The answer to the last operation of each control. A repeated operation is answered from here.
    private var answers: [Key: (operation: String, command: Command)] = [:]

    /// The value of each control after its last command.
    private var values: [Key: Bool] = [:]

    /// One running command.
    private struct Run {
        let action: ProviderAction
        var process: ChildProcess?
        var deadline: TimerHandle?
        var isLate = false
        /// A timeline has as many bytes as a line of the protocol.
        var output = LastLine(upTo: 65_536)
        var error = LastLine()
    }

    init(
        endpoint: EndpointList, configuration: ClientConfiguration, kind: String, command: String,
        reports: [(key: Key, value: Bool?)], log: ServeLog
    ) throws(UVError) {
        self.endpoint = endpoint
        self.configuration = configuration
        self.kind = kind
        self.command = command
        self.reports = reports
        self.log = log
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
        // As with `telltale watch | head`, the program ends with its reader.
        log.onReaderGone = { [unowned self] in finish(.success) }
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
            guard hasServed else { break }
            // A report is valid only for its connection. Without one, the answer to PING shows that the SERVE sent
            // before it was not refused.
            reporting = report(to: client) ?? client.request(.ping)
        case .reply(let id, let reply) where id == serving:
            guard reply.isOK else { return refused(DaemonOptions.describe(reply.line)) }
            hasServed = true
            report(to: client)
            log.log(.serving(kind, again: false))
            follow(client)
        case .reply(let id, let reply) where id == reporting && reply.isOK:
            isKindGone = false
            log.log(.serving(kind, again: true))
        case .reply(_, let reply) where isKindGone && reply.line["code"] == "unknown_kind": break
        case .subscription(_, .deletion(let key, _, "removed")) where reports.contains { $0.key == key }:
            guard !isKindGone else { break }
            isKindGone = true
            log.log(.kindRemoved(kind))
            reportTimer?.schedule(afterMilliseconds: Self.reportMilliseconds)
        case .reply(_, let reply) where !reply.isOK:
            complain("telltale: \(DaemonOptions.describe(reply.line))")
        case .refused(let reason, _): refused(reason)
        case .serviceRefused(_, let line): refused(DaemonOptions.describe(line))
        case .farewell(let line): if line.verb == "ERR" { farewell = line }
        case .disconnected where !hasServed && !client.hasAskedAll: break
        case .disconnected(let reason, _):
            guard hasServed else { return finish(DaemonOptions.exit(afterNoReady: reason, farewell)) }
            farewell = nil
            log.log(.disconnected(reason))
        case .action(let action): perform(action, client)
        case .lost: complain("telltale: an answer was lost with the connection")
        case .violation(let text): complain("telltale: the daemon broke a promise: \(text.harmless)")
        case .item, .reply, .restarted, .subscription, .traitsRefused: break
        }
    }

    /// Reports the controls of `--report`: first with the given values, later with those that the commands have left.
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

    /// How often to look for a kind that is gone, in milliseconds.
    private static let reportMilliseconds: Int64 = 1_000

    /// Follows the controls of `--report`. A principal that may serve but not read is refused, and continues without
    /// it.
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

    /// Handles another history: the daemon did not request the running commands, and reuses the names of operations.
    private func begin(_ epoch: String) {
        self.epoch = epoch
        for number in current.values { replace(number) }
        current = [:]
        answers = [:]
    }

    private func perform(_ action: ProviderAction, _ client: Client) {
        if let number = current[action.key], runs[number]?.action.operation == action.operation {
            // Requested again on a new connection, while its command is running.
            log.log(.asked(action, again: true))
            return setDeadline(of: number)
        }
        if let answer = answers[action.key], answer.operation == action.operation {
            log.log(.asked(action, again: true))
            client.request(answer.command)
            return
        }
        // An older command would reset the device when it ends.
        if let number = current.removeValue(forKey: action.key) { replace(number) }
        log.log(.asked(action, again: false))
        // The reader of the log is gone, so the program is ending and starts nothing new.
        guard outcome == nil else { return }
        lastRun += 1
        let number = lastRun
        do throws(UVError) {
            let process = try ChildProcess(
                "/bin/sh", ["-c", command],
                environment: [
                    "TELLTALE_KEY": action.key.text, "TELLTALE_ACTION": action.name,
                    "TELLTALE_REASON": action.timelineReason ?? "",
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

    private func replace(_ number: Int) {
        guard let run = runs[number] else { return }
        run.process?.terminate()
        log.log(.replaced(run.action))
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
        // A replaced command says nothing about the device.
        guard current[run.action.key] == number else { return }
        current[run.action.key] = nil
        let operation = run.action.operation
        if end == .exited(status: 0) {
            if run.action.timelineReason != nil { return supply(run) }
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

    /// Sends the last line of the command's output as the timeline.
    private func supply(_ run: Run) {
        let operation = run.action.operation
        guard let text = run.output.text, let timeline = try? JSONParser.parse(text).object else {
            let message = "the command's last line is no JSON object with entries"
            return answer(run.action, .fail(op: operation, code: "failed", message: message))
        }
        answer(run.action, .supply(op: operation, timeline: timeline))
    }

    private func answer(_ action: ProviderAction, _ command: Command) {
        switch command {
        case .supply: log.log(.done(action, value: nil))
        case .done(_, let value):
            if !action.isPress { values[action.key] = value ?? action.value }
            log.log(.done(action, value: value))
        case .fail(_, _, let message):
            log.log(.failed(action, message))
        case _: break
        }
        answers[action.key] = (action.operation, command)
        client?.request(command)
    }
}

extension ProviderAction {
    /// `set`, `press` or `timeline`.
    var name: String { timelineReason != nil ? "timeline" : isPress ? "press" : "set" }
}
