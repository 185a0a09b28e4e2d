import Cards
import Recordings
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// The main job, for people to see: an order system, three screens and a porch light around one daemon.
final class Demo {
    enum Ending {
        case agreed, disagreed, interrupted
        case noDaemon(String)
        case failed(String)
    }

    /// How long the screens may take to show the last commits.
    private static let settleMilliseconds: Int64 = 30_000
    private static let frameMilliseconds: Int64 = 100

    let orders: DemoTrace
    let flights: DemoTrace
    let plan: ReplayPlan
    let titles: StateTitles
    private let link: ToolClient
    private let isDrawn: Bool
    private let loop: EventLoop

    let full: DemoScreen
    let screens: [DemoScreen]
    let widget: DemoWidget
    private(set) var light: DemoLight?
    let takeover: DemoTakeover?
    private(set) var replayer: Replayer?
    private var ticker: TimerHandle?
    private var suspension: SignalHandle?
    private var painter = Painter()
    private var ending: Ending?
    private var hasStarted = false
    private var finishedAt: Int64?

    private var postedAt: [UInt64]
    /// Of each case, the commit of its last accepted event.
    private(set) var newest: [String: Int64] = [:]
    private var latestOrder: Timestamp?
    private var latestFlight: Timestamp?
    private var nextReport = 10

    init(
        orders: DemoTrace, flights: DemoTrace, titles: StateTitles, span: Milliseconds, link: ToolClient,
        isDrawn: Bool, killing folder: String? = nil
    ) throws {
        self.orders = orders
        self.flights = flights
        self.titles = titles
        self.link = link
        self.isDrawn = isDrawn
        plan = ReplayPlan(merging: [orders.plan, flights.plan])
        widget = DemoWidget(plan.cases)
        postedAt = Array(repeating: 0, count: plan.posts.count)
        loop = try EventLoop()
        let trouble = Trouble()
        full = DemoScreen(nil, orders: 0, flights: 0, onTrouble: trouble.report)
        screens = [
            DemoScreen(.carplay, orders: 2, flights: 1, onTrouble: trouble.report),
            DemoScreen(.watch, orders: 1, flights: 1, onTrouble: trouble.report),
            DemoScreen(.desktop, orders: 2, flights: 1, onTrouble: trouble.report),
        ]
        takeover = folder.map { [screens] in DemoTakeover($0, link: link, screens: screens.map(\.name)) }
        light = DemoLight(on: loop, isCluster: takeover != nil)
        for screen in [full] + screens { screen.takeover = takeover }
        for (place, screen) in screens.enumerated() { screen.place = place }
        trouble.handler = { [weak self] reason in self?.troubled(reason) }
    }

    private final class Trouble {
        var handler: ((String) -> Void)?
        func report(_ reason: String) { handler?(reason) }
    }

    func run() throws -> Ending {
        defer { loop.shutDown() }
        let replayer = try Replayer(plan, speed: .times(1), isChecked: true, link: link, on: loop) {
            [weak self] event in self?.heard(event)
        }
        self.replayer = replayer
        let signals = try [SignalHandle.Signal.interrupt, .terminate, .hangUp].map { signal in
            try SignalHandle(signal, on: loop) { [weak self] in self?.end(.interrupted) }
        }
        let resize = try SignalHandle(.windowChanged, on: loop) { [weak self] in
            guard let self, isDrawn, hasStarted else { return }
            Output.write(painter.forget())
        }
        suspension = try SignalHandle(.stop, on: loop) { [weak self] in self?.suspend() }
        ticker = try TimerHandle(on: loop) { [weak self] _ in self?.tick() }
        let absence = try TimerHandle(on: loop) { [weak self] _ in
            if self?.hasStarted == false { self?.end(.noDaemon("none of them leads")) }
        }
        if let takeover {
            takeover.waitForNodes()
            absence.schedule(afterMilliseconds: Self.settleMilliseconds)
        }
        for screen in [full] + screens {
            try screen.connect(to: link, on: loop) { [weak self] in self?.startWhenAllAreLive() }
        }
        loop.run()
        withExtendedLifetime((signals, resize, absence)) {}
        ticker?.cancel()
        suspension = nil
        if hasStarted, isDrawn { Output.write(Painter.end) }
        let ending = ending ?? .interrupted
        switch ending {
        case .agreed, .disagreed: return conclude()
        case .interrupted, .noDaemon, .failed:
            close()
            return ending
        }
    }

    /// Ctrl-Z: the shell gets its screen, and its cursor, back for the meantime.
    private func suspend() {
        let hasScreen = isDrawn && hasStarted
        if hasScreen { Output.write(Painter.end) }
        suspension?.actByDefault()
        if hasScreen { Output.write(Painter.begin + painter.forget()) }
    }

    func close() {
        replayer?.end()
        light?.close()
        for screen in [full] + screens { screen.close() }
    }

    private func end(_ ending: Ending) {
        if self.ending == nil { self.ending = ending }
        loop.stop()
    }

    private func troubled(_ reason: String) {
        end(hasStarted ? .failed("the daemon went away: \(reason)") : .noDaemon(reason))
    }

    private func startWhenAllAreLive() {
        guard !hasStarted, ([full] + screens).allSatisfy(\.isLive) else { return }
        hasStarted = true
        do {
            try light?.connect(to: link)
            try replayer?.start()
        } catch {
            end(.failed("\(error)"))
        }
        if isDrawn {
            Output.write(Painter.begin)
        } else {
            Output.text(title)
        }
        ticker?.scheduleRepeating(everyMilliseconds: Self.frameMilliseconds)
    }

    // MARK: The orders

    private func heard(_ event: Replayer.Event) {
        switch event {
        case .posted(let index):
            postedAt[index] = DemoScreen.clock()
            let command = plan.posts[index].command
            guard let eid = command.eid else { return }
            if let date = orders.dates[eid] { latestOrder = date }
            if let date = flights.dates[eid] { latestFlight = date }
        case .connected(let greeting): takeover?.connected(DemoTakeover.orderSystem, to: greeting)
        case .answered(let index, let line):
            takeover?.answered()
            guard line["verdict"] == "applied", let rev = line.integer("rev") else { return }
            newest[plan.posts[index].command.key.text] = rev
            for screen in [full] + screens { screen.sent(rev, at: postedAt[index]) }
        case .finished:
            if let reason = replayer?.connectionFailure { return end(.failed("the daemon went away: \(reason)")) }
            finishedAt = EventLoop.monotonicMilliseconds()
            light?.stopTapping()
        }
    }

    /// Whether every screen has the last commit of every case.
    private var isSettled: Bool {
        light?.isSettled != false && widget.agrees(on: screens)
            && ([full] + screens).allSatisfy { screen in
                newest.allSatisfy { key, rev in
                    // A case that ended before CarPlay could show it is never sent there.
                    guard let shown = screen.shown[key] else { return screen.surface == .carplay && isOver(key) }
                    return shown.rev >= rev
                }
            }
    }

    func isOver(_ key: String) -> Bool {
        guard let shown = full.shown[key] else { return false }
        return shown.body == nil || shown.body?["lifecycle"]?.string == "ended"
    }

    private func tick() {
        do throws(DemoFault) {
            if let replayer { try takeover?.progress(replayer.tally.answered, of: plan.posts.count) }
        } catch {
            return end(.failed(error.description))
        }
        for text in takeover?.takeNews() ?? [] where !isDrawn { Output.text(text) }
        if isDrawn { draw() } else { report() }
        guard let finishedAt else { return }
        if isSettled || EventLoop.monotonicMilliseconds() - finishedAt > Self.settleMilliseconds { end(.agreed) }
    }

    // MARK: Drawing

    var title: String {
        "Telltale: \(orders.plan.cases.count) real orders and \(flights.plan.cases.count) real flights, on three screens"
    }

    private var fraction: Double {
        replayer?.fraction ?? 0
    }

    private func draw() {
        let wall = Wall(
            title: takeover?.status ?? title, carplay: display(0), watch: display(1), desktop: display(2),
            control: light?.card,
            controlTitle: "Home", controlNote: light?.note ?? "", progress: fraction,
            progressText: progressText, foot: footText)
        let size = Output.size
        let block = wall.draw(at: screens[0].now, width: size.width, height: size.height)
        Output.paint(block, with: &painter)
    }

    private func display(_ index: Int) -> Wall.Display {
        let screen = screens[index]
        return Wall.Display(screen.surface ?? .desktop, cards: screen.cards(), notices: screen.notices)
    }

    private var progressText: String {
        let answered = replayer?.tally.answered ?? 0
        let over = full.shown.keys.count(where: isOver)
        return "\(answered)/\(plan.posts.count) events, \(over)/\(plan.cases.count) cases over"
    }

    private var footText: String {
        func date(_ time: Timestamp?) -> Substring { time?.internetDate.prefix(10) ?? "-" }
        let latency = milliseconds(screens[0].latency.percentile(50))
        return "orders of \(date(latestOrder)), flights of \(date(latestFlight))  event to view \(latency)  ctrl-c ends"
    }

    /// Without a terminal: some lines during the run, each with the rows of one case on all screens.
    private func report() {
        let percent = Int(fraction * 100)
        guard percent >= nextReport else { return }
        nextReport = percent - percent % 10 + 10
        var text = "\(percent)%  \(progressText)"
        if let key = screens[0].latestKey {
            text += "  \(key.prefix(16))"
            for screen in screens {
                let body = screen.shown[key]?.body
                text += "  \(screen.name) \(body.map { Card(key: key, body: $0).summary(at: screen.now) } ?? "-")"
            }
        }
        Output.text(text)
    }
}
