import Cards
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// `--json`: one object a change.
final class JSONDisplay: WatchDisplay {
    func start(on loop: EventLoop, watch: Watch) {}
    func end() {}

    func connected(_ greeting: ServerGreeting) {
        print(["event": "connected", "epoch": .string(greeting.epoch)])
    }

    func disconnected(_ reason: String, retryAfter: Milliseconds?) {
        print(["event": "disconnected", "reason": .string(reason)])
    }

    func show(_ event: SubscriptionEvent, watch: Watch) {
        switch event {
        case .snapshot(let row): print("snapshot", row)
        case .update(let row): print("update", row)
        case .deletion(let key, let rev, let why):
            print(["event": "deletion", "key": .string(key.text), "rev": .integer(rev), "why": .string(why)])
        case .milestone(let key, let rev, let state, let time):
            print([
                "event": "milestone", "key": .string(key.text), "rev": .integer(rev), "state": .string(state),
                "at": .integer(time.milliseconds),
            ])
        case .alert(let key, let rev, let body):
            print(["event": "alert", "key": .string(key.text), "rev": .integer(rev), "alert": .object(body)])
        case .live: print(["event": "live"])
        case .reset(let why): print(["event": "reset", "why": .string(why)])
        case .refused: break
        }
    }

    private func print(_ event: String, _ row: Row) {
        var object: JSON = [
            "event": .string(event), "key": .string(row.key.text), "rev": .integer(row.rev), "row": .object(row.body),
        ]
        if row.skip > 0, var changed = object.object {
            changed["skip"] = .integer(Int64(row.skip))
            changed["why"] = row.why.map(JSON.string)
            object = .object(changed)
        }
        print(object)
    }

    private func print(_ object: JSON) {
        Output.line(object.description)
    }
}

/// Into a pipe: one line a change, for people and grep.
final class LineDisplay: WatchDisplay {
    private let view: ViewName

    init(view: ViewName) {
        self.view = view
    }

    func start(on loop: EventLoop, watch: Watch) {}
    func end() {}
    func connected(_ greeting: ServerGreeting) {}

    func disconnected(_ reason: String, retryAfter: Milliseconds?) {
        complain("telltale: \(reason.harmless)\(retryAfter == nil ? "" : "; trying again")")
    }

    func show(_ event: SubscriptionEvent, watch: Watch) {
        switch event {
        case .snapshot(let row), .update(let row):
            let card = Card(key: row.key.text, body: row.body)
            let skipped = row.skip > 0 ? " skip=\(row.skip)" : ""
            line("\(row.key) rev=\(row.rev)\(skipped) \(card.summary(at: watch.now))")
        case .deletion(let key, let rev, let why): line("\(key) rev=\(rev) gone: \(why)")
        case .milestone(let key, let rev, let state, _): line("\(key) rev=\(rev) milestone: \(state)")
        case .alert(let key, let rev, let body):
            line("\(key) rev=\(rev) alert: \(body["title"]?.string ?? "") \(body["body"]?.string ?? "")")
        case .live, .reset, .refused: break
        }
    }

    /// Prints one line, even if the text of an alert has several.
    private func line(_ text: String) { Output.line(text.harmless) }
}

/// On a terminal: the surface itself, redrawn as rows change and time passes.
final class TerminalDisplay: WatchDisplay {
    private let view: ViewName
    private let label: String
    private var painter = Painter()
    private var timer: TimerHandle?
    private var resize: SignalHandle?
    private var suspension: SignalHandle?
    private var continuation: SignalHandle?
    private var notices: [(notice: Notice, until: Int64)] = []
    private var status = ""
    private var hasBegun = false

    /// Often enough that seconds fall when they should, seldom enough to cost nothing.
    private static let frameMilliseconds: Int64 = 100
    private static let noticeMilliseconds: Int64 = 8000

    init(view: ViewName, label: String) {
        self.view = view
        self.label = label
    }

    func start(on loop: EventLoop, watch: Watch) throws(UVError) {
        timer = try TimerHandle(on: loop) { [unowned self, unowned watch] _ in draw(watch) }
        timer?.scheduleRepeating(everyMilliseconds: Self.frameMilliseconds)
        resize = try SignalHandle(.windowChanged, on: loop) { [unowned self] in Output.write(painter.forget()) }
        suspension = try SignalHandle(.stop, on: loop) { [unowned self] in suspend() }
        // After SIGSTOP too, something else may have drawn on the screen.
        continuation = try SignalHandle(.continue, on: loop) { [unowned self] in Output.write(painter.forget()) }
        hasBegun = true
        Output.write(Painter.begin)
    }

    /// Ctrl-Z: the shell gets its screen, and its cursor, back for the meantime.
    private func suspend() {
        Output.write(Painter.end)
        suspension?.actByDefault()
        Output.write(Painter.begin + painter.forget())
    }

    func end() {
        guard hasBegun else { return }
        hasBegun = false
        timer = nil
        suspension = nil
        continuation = nil
        Output.write(Painter.end)
    }

    func connected(_ greeting: ServerGreeting) {
        status = ""
    }

    func disconnected(_ reason: String, retryAfter: Milliseconds?) {
        status = reason
    }

    func show(_ event: SubscriptionEvent, watch: Watch) {
        guard case .alert(_, _, let body) = event else { return }
        let notice = Notice(title: body["title"]?.string ?? "", body: body["body"]?.string ?? "")
        notices.append((notice, EventLoop.monotonicMilliseconds() + Self.noticeMilliseconds))
    }

    private func draw(_ watch: Watch) {
        let now = EventLoop.monotonicMilliseconds()
        notices.removeAll { $0.until <= now }
        let size = Output.size
        // A longer line would wrap and scroll the picture away. The last column stays free, because the painter erases
        // the rest of a line and would erase that column too.
        let width = max(1, size.width - 1)
        let cards = watch.rows.map { Card(key: $0.key.text, body: $0.body) }
        let picture = Screen.draw(
            cards, view: view, at: watch.now, width: width, label: label, notices: notices.suffix(2).map(\.notice))
        let foot = status.isEmpty ? Line("ctrl-c ends", .dim) : Line("not connected: \(status)", Ink(.red))
        let whole = picture.cut(toHeight: max(1, size.height - 1)).lines + [foot]
        Output.write(
            painter.paint(
                Block(whole.map { $0.cut(toWidth: width) }).text(color: Output.hasColor).map(Output.drawable)))
    }

    func warn(_ text: String) {
        notices.append((Notice(title: text, body: ""), EventLoop.monotonicMilliseconds() + Self.noticeMilliseconds))
    }
}
