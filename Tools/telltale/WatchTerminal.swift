import Cards
import Console
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// On a terminal: the surface itself, redrawn as rows change and time passes.
final class TerminalDisplay: WatchDisplay {
    private let view: ViewName
    private let pattern: TelltaleModel.Pattern
    private let label: String
    private var painter = Painter()
    private var timer: TimerHandle?
    private var resize: SignalHandle?
    private var suspension: SignalHandle?
    private var continuation: SignalHandle?
    private var terminal: RawTerminal?
    private var input: StandardInput?
    private var decoder = KeyDecoder()
    /// The first visible line of a picture that is higher than the terminal.
    private var offset = 0
    private var notices: [(notice: Notice, until: Int64)] = []
    private var status = ""
    private var hasBegun = false

    /// Often enough to count seconds on time, seldom enough to be cheap.
    private static let frameMilliseconds: Int64 = 100
    private static let noticeMilliseconds: Int64 = 8000

    init(view: ViewName, pattern: TelltaleModel.Pattern, label: String) {
        self.view = view
        self.pattern = pattern
        self.label = label
    }

    var showsTitles: Bool { view == .full }

    func start(on loop: EventLoop, watch: Watch) throws(UVError) {
        timer = try TimerHandle(on: loop) { [unowned self, unowned watch] _ in draw(watch) }
        timer?.scheduleRepeating(everyMilliseconds: Self.frameMilliseconds)
        resize = try SignalHandle(.windowChanged, on: loop) { [unowned self] in Output.write(painter.forget()) }
        suspension = try SignalHandle(.stop, on: loop) { [unowned self] in suspend() }
        // After SIGSTOP too, something else may have drawn on the screen.
        continuation = try SignalHandle(.continue, on: loop) { [unowned self] in Output.write(painter.forget()) }
        try readKeys(on: loop, watch)
        hasBegun = true
        Output.write(Painter.begin)
    }

    /// Makes keys scroll if standard input is a terminal.
    private func readKeys(on loop: EventLoop, _ watch: Watch) throws(UVError) {
        terminal = RawTerminal(keepsSignals: true)
        guard let terminal else { return }
        terminal.enter()
        input = try StandardInput(on: loop) { [unowned self, unowned watch] bytes in
            for byte in bytes { if let key = decoder.decodeByte(byte) { press(key, watch) } }
            if !bytes.isEmpty { input?.readOn() }
        }
    }

    private func press(_ key: KeyDecoder.Key, _ watch: Watch) {
        let page = max(1, Output.size.height - 2)
        switch key {
        case .up, .character("k"): offset -= 1
        case .down, .enter, .character("j"): offset += 1
        case .pageUp, .character("b"): offset -= page
        case .pageDown, .character(" "): offset += page
        case .home, .character("g"): offset = 0
        case .end, .character("G"): offset = .max / 2
        case .character("q"): watch.end()
        case _: return
        }
        draw(watch)
    }

    /// Ctrl-Z: restores the shell's screen and cursor until the program continues.
    private func suspend() {
        Output.write(Painter.end)
        terminal?.leave()
        suspension?.actByDefault()
        terminal?.enter()
        Output.write(Painter.begin + painter.forget())
    }

    func end() {
        guard hasBegun else { return }
        hasBegun = false
        timer = nil
        suspension = nil
        continuation = nil
        input = nil
        terminal?.leave()
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
        let cards = watch.rows.map { Card(key: $0.key.text, body: $0.body, rev: $0.rev) }
        let picture = picture(cards, watch, width: width)
        let room = max(1, size.height - 1)
        // Without keys a picture that is too high says how much is missing.
        let shown = terminal == nil ? picture.cut(toHeight: room) : picture.window(from: &offset, height: room)
        let whole = shown.lines + [foot(lineCount: picture.height, shown: shown.height)]
        Output.paint(Block(whole.map { $0.cut(toWidth: width) }), with: &painter)
    }

    private func picture(_ cards: [Card], _ watch: Watch, width: Int) -> Block {
        guard view == .full else {
            return TerminalScreen.draw(
                cards, view: view, at: watch.now, width: width, label: label, notices: notices.suffix(2).map(\.notice))
        }
        // One key has room for a card.
        return pattern.isKey
            ? TerminalScreen.cards(cards, titles: watch.titles, at: watch.now, width: width)
            : TerminalScreen.table(cards, titles: watch.titles, at: watch.now, width: width)
    }

    private func foot(lineCount: Int, shown: Int) -> Line {
        guard status.isEmpty else { return Line("not connected: \(status)", Ink(.red)) }
        guard terminal != nil, lineCount > shown else { return Line("ctrl-c ends", .dim) }
        return Line(
            "lines \(offset + 1)-\(offset + shown) of \(lineCount); arrows and page keys scroll, ctrl-c ends", .dim)
    }

    func warn(_ text: String) {
        notices.append((Notice(title: text, body: ""), EventLoop.monotonicMilliseconds() + Self.noticeMilliseconds))
    }
}
