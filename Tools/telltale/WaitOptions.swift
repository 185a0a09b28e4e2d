import ArgumentParser
import Cards
import Console
import Kinds
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// `--wait` and `--timeout` of the commands that act.
struct WaitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Wait until a control has done it, or an activity is in a state or (done) has ended.",
            valueName: "state|done"))
    var wait: String?
    @Option(help: ArgumentHelp("The longest wait of --wait, such as 10s or 5m. Default: 1m.", valueName: "span"))
    var timeout: String?

    func validate() throws {
        guard wait != "" else { throw ValidationError("--wait is to be done or the name of a state.") }
        guard timeout == nil || wait != nil else { throw ValidationError("--timeout goes with --wait.") }
        _ = try span()
    }

    private func span() throws -> Milliseconds {
        guard let timeout else { return .seconds(60) }
        guard let span = Milliseconds(duration: timeout), (1...86_400_000).contains(span.count) else {
            throw ValidationError("--timeout is to be a span of at most a day, such as 10s or 5m, not '\(timeout)'.")
        }
        return span
    }

    /// Sends a command about a key, and prints the reply; with `--wait` it returns when that has come.
    ///
    /// - Returns: The reply.
    /// - Throws: An exit code: of a refusal, of a lost connection, or because it did not come. Standard error says why.
    func perform(
        _ command: Command, on key: Key, account: String?, output: JSONFlag, daemon: DaemonOptions
    ) throws -> ServerLine {
        guard let wait else {
            let reply = try daemon.ask(command, account: account)
            show(reply, key: key, json: output.json)
            return reply
        }
        let (endpoint, configuration) = try daemon.connection(account: account)
        var subscribe = SubscribeCommand(pattern: .key(key))
        subscribe.view = .full
        let waiting = OutcomeWait(command, on: key, goal: .init(wait), limit: try span(), json: output.json)
        try Watch(
            endpoint: endpoint, configuration: configuration, subscribe: subscribe, display: waiting,
            endsWhenLive: false, countLimit: nil
        ).run()
        guard let reply = waiting.reply else { throw ExitCode.noDaemon }
        return reply
    }
}

/// Sends a command once the rows of its key are followed, so that none of what it causes is missed.
private final class OutcomeWait: WatchDisplay {
    private let command: Command
    private let key: Key
    private let goal: AwaitedOutcome.Goal
    private let limit: Milliseconds
    private let json: Bool
    private var request: RequestID?
    private(set) var reply: ServerLine?
    private var outcome: AwaitedOutcome?
    /// What came before the reply, and may be newer than it.
    private var early: [SubscriptionEvent] = []
    private var timer: TimerHandle?

    init(_ command: Command, on key: Key, goal: AwaitedOutcome.Goal, limit: Milliseconds, json: Bool) {
        (self.command, self.key, self.goal, self.limit, self.json) = (command, key, goal, limit, json)
    }

    func start(on loop: EventLoop, watch: Watch) throws(UVError) {
        timer = try TimerHandle(on: loop) { [unowned self, unowned watch] _ in
            let state = watch.rows.first.map { "it is \(Card(key: key.text, body: $0.body).summary(at: watch.now))" }
            watch.end(.failed("\(key): the time of --wait is over; \(state ?? "it does not exist")".harmless))
        }
        timer?.schedule(afterMilliseconds: limit.count)
        request = watch.client?.request(command)
    }

    func end() { timer = nil }
    func connected(_ greeting: ServerGreeting) {}
    func disconnected(_ reason: String, retryAfter: Milliseconds?) {}

    func replied(_ request: RequestID, _ reply: Reply?, watch: Watch) {
        guard request == self.request else { return }
        guard let reply else {
            return watch.end(.failed("the connection was lost before the answer", .noDaemon))
        }
        guard reply.isOK else { return watch.end(.failed(DaemonOptions.describe(reply.line))) }
        self.reply = reply.line
        telltale.show(reply.line, key: key, json: json)
        outcome = AwaitedOutcome(goal, operation: reply.line["op"])
        for event in early { judge(event, watch) }
    }

    func show(_ event: SubscriptionEvent, watch: Watch) {
        if outcome == nil { early.append(event) } else { judge(event, watch) }
    }

    private func judge(_ event: SubscriptionEvent, _ watch: Watch) {
        guard let outcome, !watch.isOver else { return }
        let newest = reply?.integer("rev") ?? 0
        switch event {
        case .snapshot(let row) where row.rev >= newest, .update(let row) where row.rev >= newest:
            end(outcome.verdict(of: row.body), watch)
        case .milestone(_, let rev, let state, _) where rev >= newest:
            end(outcome.verdict(ofMilestone: state), watch)
        case .deletion(_, let rev, let why) where rev >= newest: end(outcome.verdict(ofDeletion: why), watch)
        case .snapshot, .update, .milestone, .deletion, .alert, .changed, .live, .reset, .refused: break
        }
    }

    private func end(_ verdict: AwaitedOutcome.Verdict, _ watch: Watch) {
        switch verdict {
        case .waiting: return
        case .failed(let reason): watch.end(.failed("\(key): \(reason)".harmless))
        case .reached:
            if let row = watch.rows.first { showRow(row, watch) }
            watch.end()
        }
    }

    private func showRow(_ row: Row, _ watch: Watch) {
        if json {
            Output.json(["key": .string(row.key.text), "rev": .integer(row.rev), "row": .object(row.body)])
        } else {
            let summary = Card(key: row.key.text, body: row.body).summary(at: watch.now)
            Output.text("\(row.key) rev=\(row.rev) \(summary)".harmless)
        }
    }
}
