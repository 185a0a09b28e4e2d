import Cards
import Foundation
import Histogram
import Simulation
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

    private let orders: DemoTrace
    private let flights: DemoTrace
    private let plan: ReplayPlan
    private let titles: StateTitles
    private let link: DaemonLink
    private let isDrawn: Bool
    private let loop: EventLoop

    private let full: DemoScreen
    private let screens: [DemoScreen]
    private let widget: DemoWidget
    private var light: DemoLight?
    private var replayer: Replayer?
    private var ticker: TimerHandle?
    private var suspension: SignalHandle?
    private var painter = Painter()
    private var ending: Ending?
    private var hasStarted = false
    private var finishedAt: Int64?
    private var elapsed = Milliseconds.zero

    private var postedAt: [UInt64]
    /// Of each case, the commit of its last accepted event.
    private var newest: [String: Int64] = [:]
    private var latestOrder: Timestamp?
    private var latestFlight: Timestamp?
    private var nextReport = 10

    init(
        orders: DemoTrace, flights: DemoTrace, titles: StateTitles, span: Milliseconds, link: DaemonLink,
        isDrawn: Bool
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
        full = DemoScreen(nil, orders: 0, flights: 0, onTrouble: trouble.tell)
        screens = [
            DemoScreen(.carplay, orders: 2, flights: 1, onTrouble: trouble.tell),
            DemoScreen(.watch, orders: 1, flights: 1, onTrouble: trouble.tell),
            DemoScreen(.desktop, orders: 2, flights: 1, onTrouble: trouble.tell),
        ]
        light = DemoLight(on: loop)
        trouble.handler = { [weak self] reason in self?.troubled(reason) }
    }

    private final class Trouble {
        var handler: ((String) -> Void)?
        func tell(_ reason: String) { handler?(reason) }
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
        for screen in [full] + screens {
            try screen.connect(to: link, on: loop) { [weak self] in self?.startWhenAllAreLive() }
        }
        loop.run()
        withExtendedLifetime((signals, resize)) {}
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

    private func close() {
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
        case .answered(let index, let line):
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

    private func isOver(_ key: String) -> Bool {
        guard let shown = full.shown[key] else { return false }
        return shown.body == nil || shown.body?["lifecycle"]?.string == "ended"
    }

    private func tick() {
        if isDrawn { draw() } else { report() }
        guard let finishedAt else { return }
        if isSettled || EventLoop.monotonicMilliseconds() - finishedAt > Self.settleMilliseconds { end(.agreed) }
    }

    // MARK: Drawing

    private var title: String {
        "Telltale: \(orders.plan.cases.count) real orders and \(flights.plan.cases.count) real flights, on three screens"
    }

    private var fraction: Double {
        replayer?.fraction ?? 0
    }

    private func draw() {
        let wall = Wall(
            title: title, carplay: display(0), watch: display(1), desktop: display(2), control: light?.card,
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
        func date(_ time: Timestamp?) -> String {
            guard let time else { return "-" }
            return String(Date(timeIntervalSince1970: Double(time.milliseconds) / 1000).ISO8601Format().prefix(10))
        }
        let latency = milliseconds(screens[0].latency.valueAtPercentile(50))
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

    // MARK: The end

    private func conclude() -> Ending {
        let check = compare()
        let isRight =
            check.isClean && replayer?.summary.isClean == true && light?.isRight == true
            && widget.agrees(on: screens)
        Output.text(summary(check, isRight: isRight))
        close()
        return isRight ? .agreed : .disagreed
    }

    /// Compares the final state of each case, on the server and on every screen, with the data.
    private func compare() -> OutcomeCheck {
        var check = OutcomeCheck()
        for each in plan.cases {
            let key = each.key.text
            let title = titles.title(of: each.expectedState, kind: each.key.kind)
            var found: [(place: String, state: String?)] = [
                ("the daemon", replayer?.states[key]),
                ("the full view", full.shown[key]?.lastBody?["state"]?.string),
            ]
            for screen in screens {
                let shown = screen.shown[key]
                let body: String?
                if screen.surface == .carplay, isOver(key) {
                    // CarPlay removes ended activities.
                    body = shown?.body == nil ? each.expectedState : "still there"
                } else {
                    let text = shown?.lastBody?["view"].map { Self.texts(of: $0) } ?? []
                    body = text.contains(title) ? each.expectedState : text.joined(separator: " ")
                }
                found.append((screen.name, body))
            }
            check.compare(each.key, expected: each.expectedState, found: found)
        }
        return check
    }

    /// Every text in a view.
    private static func texts(of view: JSON) -> [String] {
        switch view {
        case .string(let text): [text]
        case .object(let object): object.flatMap { texts(of: $0.value) }
        case .array(let array): array.flatMap { texts(of: $0) }
        case .null, .bool, .integer, .number: []
        }
    }

    private func summary(_ check: OutcomeCheck, isRight: Bool) -> String {
        var lines: [String] = []
        func add(_ name: String, _ text: String) {
            lines.append("  " + name + String(repeating: " ", count: max(1, 15 - name.count)) + text)
        }
        lines.append("")
        lines.append(title)
        lines.append("")
        let same = "ended as the data says, on the server and on all three screens"
        add("cases", "\(check.agreementCount) of \(plan.cases.count) \(same)")
        for (name, kind) in [("orders", "parcel"), ("flights", "flight")] {
            var counts = OutcomeCheck()
            for each in plan.cases where each.key.kind == kind {
                counts.compare(each.key, expected: each.expectedState, found: [])
            }
            add(name, counts.countsText)
        }
        if let summary = replayer?.summary {
            let verdicts = summary.tally.counts.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
            add("events", "\(plan.posts.count) posted: \(verdicts); \(seconds(summary.elapsed))")
            if let failure = summary.tally.firstFailure { add("", "first failure: \(failure)") }
        }
        for (index, screen) in screens.enumerated() {
            let (half, most) = (screen.latency.valueAtPercentile(50), screen.latency.valueAtPercentile(99))
            add(
                index == 0 ? "event to view" : "",
                "\(screen.name) p50 \(milliseconds(half)), p99 \(milliseconds(most)) (\(screen.latency.totalCount) rows)"
            )
        }
        add("widget", widget.summary(on: screens))
        if let light { add("porch light", light.summary) }
        for disagreement in check.disagreements.prefix(10) { lines.append("  ✗ \(disagreement)") }
        if check.disagreements.count > 10 { lines.append("  … and \(check.disagreements.count - 10) more") }
        lines.append("")
        lines.append(isRight ? "Everything agrees." : "Something disagrees.")
        return lines.joined(separator: "\n")
    }

    private func seconds(_ span: Milliseconds) -> String { "\(span.count / 1000).\(span.count % 1000 / 100) s" }

    private func milliseconds(_ microseconds: UInt64) -> String {
        let hundredths = (microseconds + 5) / 10
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) ms"
    }
}
