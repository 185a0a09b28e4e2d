import ArgumentParser
import Cards
import Console
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Follows activities, widgets and controls, and shows them as a surface would.",
        discussion: """
            On a terminal the surface is drawn, live, and the arrow keys scroll what is higher than the screen; into a pipe \
            each change is a line; with --json each change is an object with event, key, rev and row. --format prints \
            members of that object. A lost connection is made again, and nothing is missed.

              telltale watch                               everything, as a table by kind
              telltale watch 'coffee-order/*' --view watch --account alice
              telltale watch --view carplay --trait dashboard=hidden --json
              telltale watch --format '{{event}} {{key}} {{row.state}}'
              telltale watch 'sales/*' --view phone --family systemMedium
              telltale watch '@alice-car/*' --view carplay  what a car's board shows
              telltale watch coffee-order/7 --count 1      the next change, or what is there
            """)

    @Argument(help: "kind/id, 'kind/*' or '*'") var pattern: TelltaleModel.Pattern = .all
    @Option(help: "full, or a surface.") var view: ViewName = .full
    @OptionGroup var who: AccountOption
    @Option(help: ArgumentHelp("A situation of the device, as locked=yes; may be repeated.", valueName: "name=value"))
    var trait: [String] = []
    @Option(help: ArgumentHelp("Where a control or a widget stands, as menuBar or lockScreen.", valueName: "name"))
    var placement: String?
    @Option(help: ArgumentHelp("The family of widgets, as systemSmall; default: that of the place.", valueName: "name"))
    var family: String?
    @Option(help: ArgumentHelp("How many later entries of a widget come with its row, 0 to 64.", valueName: "n"))
    var ahead: Int?
    @Option(
        help: ArgumentHelp("Go on behind this cursor (cur=), instead of from what there is now.", valueName: "cursor"))
    var from: String?
    @Option(
        help: ArgumentHelp(
            "A line a change: text with {{key}}, {{rev}}, {{event}}, {{row.content.eta}} and so on; \\n and \\t too.",
            valueName: "template"))
    var format: String?
    @Flag(help: "Print what there is now, and end.") var once = false
    @Option(help: ArgumentHelp("End after so many changes; what there is now counts too.", valueName: "n"))
    var count: Int?
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        _ = try traits()
        _ = try rowFormat()
        if let ahead, !(0...Int(WidgetStyle.aheadLimit)).contains(ahead) {
            throw ValidationError("--ahead is to be 0 to \(WidgetStyle.aheadLimit).")
        }
        if let count, count < 1 { throw ValidationError("--count is to be 1 or more.") }
        if let from, Cursor(from) == nil {
            throw ValidationError("--from is to be a cursor that the daemon gave, not '\(from)'.")
        }
    }

    func run() throws {
        var (endpoint, configuration) = try daemon.connection(account: who.account)
        if case .surface(let surface) = view { configuration.surface = surface }
        configuration.traits = try traits()
        var subscribe = SubscribeCommand(pattern: pattern)
        subscribe.view = view
        try WireValue.check("--placement", placement)
        subscribe.placement = placement
        try WireValue.check("--family", family)
        subscribe.widgets.family = family
        subscribe.widgets.ahead = ahead
        configuration.capabilities = ["widgets"]
        subscribe.from = from.flatMap { Cursor($0) }
        let display: any WatchDisplay =
            if output.json {
                ObjectDisplay()
            } else if let format = try rowFormat() {
                ObjectDisplay(format: format)
            } else if Output.canDraw, !once, count == nil {
                TerminalDisplay(
                    view: view, pattern: pattern,
                    label: [pattern.description, who.account ?? ""].filter { !$0.isEmpty }.joined(separator: " · "))
            } else {
                LineDisplay()
            }
        try Watch(
            endpoint: endpoint, configuration: configuration, subscribe: subscribe, display: display,
            endsWhenLive: once, countLimit: count
        ).run()
    }

    private func rowFormat() throws -> RowFormat? {
        guard let format else { return nil }
        guard !output.json else { throw ValidationError("Give --format or --json, not both.") }
        do throws(RowFormat.Fault) {
            return try RowFormat(format)
        } catch {
            throw ValidationError("--format: \(error.description).")
        }
    }

    private func traits() throws -> [Attribute] {
        var names: Set<TraitName> = []
        return try trait.map { text in
            guard let equals = text.firstIndex(of: "=") else {
                throw ValidationError("--trait is to be name=value, as locked=yes, not '\(text)'.")
            }
            let (name, value) = (String(text[..<equals]), String(text[text.index(after: equals)...]))
            guard let known = TraitName(rawValue: name) else {
                let names = TraitName.allCases.map { "\($0.rawValue)=\($0.values)" }.joined(separator: ", ")
                throw ValidationError("'\(name)' is no situation that a device reports. There are: \(names).")
            }
            try WireValue.check("--trait \(name)=", value)
            guard known.takes(value) else { throw ValidationError("--trait \(name)= takes \(known.values).") }
            guard names.insert(known).inserted else { throw ValidationError("--trait \(name)= is given twice.") }
            return Attribute(name: name, value: value)
        }
    }
}

/// The output of `watch`.
protocol WatchDisplay: AnyObject {
    /// Whether it shows titles of kinds, so that ``Watch/titles`` are fetched.
    var showsTitles: Bool { get }
    func start(on loop: EventLoop, watch: Watch) throws(UVError)
    func show(_ event: SubscriptionEvent, watch: Watch)
    func connected(_ greeting: ServerGreeting)
    func disconnected(_ reason: String, retryAfter: Milliseconds?)
    /// Prints a warning: the command continues without something that was requested.
    func warn(_ text: String)
    /// The reply to a request of this display; `nil` when the connection was lost before it.
    func replied(_ request: RequestID, _ reply: Reply?, watch: Watch)
    func end()
}

extension WatchDisplay {
    func replied(_ request: RequestID, _ reply: Reply?, watch: Watch) {}
    var showsTitles: Bool { false }
    func warn(_ text: String) { complain("telltale: \(text)") }
}

/// The client of `telltale watch`.
final class Watch {
    private let endpoint: EndpointList
    private let display: any WatchDisplay
    private let configuration: ClientConfiguration
    private let subscribe: SubscribeCommand
    private let endsWhenLive: Bool
    private let countLimit: Int?
    /// Whether to wait for a daemon that is not running yet.
    private let isPatient: Bool
    private var shownCount = 0

    private(set) var client: Client?
    private(set) var subscription: SubscriptionID?
    private var clock: ServerClock?
    /// Why the daemon sent this client away.
    private var farewell: ServerLine?
    private var outcome: ExitCode?
    private var loop: EventLoop?
    /// Those of the kinds of all rows so far, if the display shows titles.
    private(set) var titles = KindTitles()
    /// The kinds of requests for titles without an answer, and of those whose definition may not be read.
    private var awaitedTitles: [RequestID: String] = [:]
    private var untitled: Set<String> = []
    /// Whether all rows of a display that ends when live are there.
    private var isComplete = false

    init(
        endpoint: EndpointList, configuration: ClientConfiguration, subscribe: SubscribeCommand,
        display: any WatchDisplay, endsWhenLive: Bool, countLimit: Int?, isPatient: Bool = false
    ) {
        self.isPatient = isPatient
        self.endpoint = endpoint
        self.configuration = configuration
        self.subscribe = subscribe
        self.display = display
        self.endsWhenLive = endsWhenLive
        self.countLimit = countLimit
    }

    func run() throws {
        let loop = try EventLoop()
        self.loop = loop
        let client = try Client(to: endpoint, configuration: configuration, on: loop) { [unowned self] client, event in
            handle(event, loop: loop)
        }
        self.client = client
        subscription = client.subscribe(subscribe)
        let signals = try [SignalHandle.Signal.interrupt, .terminate, .hangUp].map { signal in
            try SignalHandle(signal, on: loop) { [unowned self] in finish(.success, loop) }
        }
        client.start()
        loop.run()
        display.end()
        withExtendedLifetime(signals) {}
        self.client = nil
        if let outcome, outcome != .success { throw outcome }
    }

    /// The time on the server's clock, which the dates in rows are on.
    var now: Timestamp { clock?.now ?? Timestamp(milliseconds: EventLoop.wallClockMilliseconds()) }

    var rows: [Row] {
        guard let client, let subscription else { return [] }
        return client.rows(of: subscription)
    }

    // MARK: Titles

    /// Asks for the titles of a kind once.
    private func fetchTitles(of kind: String) {
        guard display.showsTitles, let client, !titles.knows(kind), untitled.insert(kind).inserted else { return }
        awaitedTitles[client.request(.kind(kind))] = kind
    }

    private func received(_ reply: Reply?, to request: RequestID, _ loop: EventLoop) {
        guard let kind = awaitedTitles.removeValue(forKey: request) else {
            return display.replied(request, reply, watch: self)
        }
        if let reply, reply.isOK, let definition = reply.line.tail {
            titles.add(kind, definition)
            untitled.remove(kind)
        }
        showAll(loop)
    }

    // MARK: Events

    /// Ends the command at the user's request, or because its display is done.
    func end(_ outcome: ExitCode = .success) { if let loop { finish(outcome, loop) } }

    /// Whether the command ends.
    var isOver: Bool { outcome != nil }

    private func finish(_ outcome: ExitCode, _ loop: EventLoop) {
        if self.outcome == nil { self.outcome = outcome }
        loop.stop()
    }

    private static func isChange(_ event: SubscriptionEvent) -> Bool {
        switch event {
        case .snapshot, .update, .deletion, .milestone, .alert: true
        case .changed, .live, .reset, .refused: false
        }
    }

    private func handle(_ event: ClientEvent, loop: EventLoop) {
        // The reason for the end was printed already; the end of the connection follows from it.
        guard outcome == nil else { return }
        switch event {
        case .ready(let greeting, _):
            let isFirst = clock == nil
            clock = ServerClock(greeting)
            do throws(UVError) {
                if isFirst { try display.start(on: loop, watch: self) }
                display.connected(greeting)
            } catch {
                complain("telltale: \(error)")
                finish(.failure, loop)
            }
        case .refused(let reason, _):
            display.end()
            complain("telltale: \(reason.harmless)")
            finish(.failure, loop)
        case .disconnected where clock == nil && client?.hasAskedAll == false: break
        case .disconnected(let reason, let wait):
            guard clock != nil || isPatient else {
                return finish(DaemonOptions.exit(afterNoReady: reason, farewell), loop)
            }
            farewell = nil
            display.disconnected(reason, retryAfter: wait)
            // A display of a single picture is done.
            if isPatient, endsWhenLive { finish(.success, loop) }
        case .subscription(_, .refused(let line)):
            display.end()
            complain("telltale: \(DaemonOptions.describe(line))")
            finish(.failure, loop)
        case .subscription(_, let event) where endsWhenLive:
            // Receives everything before it prints, because a reader of the output may pause, but the daemon does not
            // wait.
            guard case .live = event else { return }
            isComplete = true
            for row in rows { fetchTitles(of: String(row.key.kind)) }
            showAll(loop)
        case .subscription(_, let event):
            if case .snapshot(let row) = event { fetchTitles(of: String(row.key.kind)) }
            if case .update(let row) = event { fetchTitles(of: String(row.key.kind)) }
            show(event, loop)
        case .traitsRefused(let line): display.warn("--trait: \(DaemonOptions.describe(line))")
        case .farewell(let line): if line.verb == "ERR" { farewell = line }
        case .violation(let text): display.disconnected("the daemon broke a promise: \(text)", retryAfter: nil)
        case .reply(let request, let reply): received(reply, to: request, loop)
        case .lost(let request): received(nil, to: request, loop)
        case .item, .restarted, .serviceRefused, .action: break
        }
    }

    /// The single picture of a display that ends when all is there.
    private func showAll(_ loop: EventLoop) {
        guard endsWhenLive, isComplete, awaitedTitles.isEmpty, outcome == nil else { return }
        for row in rows where outcome == nil { show(.snapshot(row), loop) }
        if outcome == nil { show(.live, loop) }
        finish(.success, loop)
    }

    private func show(_ event: SubscriptionEvent, _ loop: EventLoop) {
        display.show(event, watch: self)
        shownCount += Self.isChange(event) ? 1 : 0
        // One turn may bring more changes than `--count`; the rest is ignored.
        if shownCount == countLimit { finish(.success, loop) }
    }
}
