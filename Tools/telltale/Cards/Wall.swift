public import TelltaleModel

/// Several surfaces side by side, with a line above and a progress bar below. The demo draws it.
public struct Wall: Hashable, Sendable {
    public struct Display: Hashable, Sendable {
        public var surface: Surface
        public var cards: [Card]
        public var notices: [Notice]

        public init(_ surface: Surface, cards: [Card], notices: [Notice] = []) {
            self.surface = surface
            self.cards = cards
            self.notices = notices
        }
    }

    public var title: String
    public var carplay: Display
    public var watch: Display
    public var desktop: Display
    /// A control, drawn by itself, with a note below it.
    public var control: Card?
    public var controlTitle: String
    public var controlNote: String
    /// From 0 to 1.
    public var progress: Double
    public var progressText: String
    public var foot: String

    public init(
        title: String, carplay: Display, watch: Display, desktop: Display, control: Card?, controlTitle: String,
        controlNote: String, progress: Double, progressText: String, foot: String
    ) {
        self.title = title
        self.carplay = carplay
        self.watch = watch
        self.desktop = desktop
        self.control = control
        self.controlTitle = controlTitle
        self.controlNote = controlNote
        self.progress = progress
        self.progressText = progressText
        self.foot = foot
    }

    private static let watchWidth = 28
    /// At this width, all three fit in one row.
    private static let wideWidth = 130

    /// At most `width` columns and `height` lines.
    public func draw(at now: Timestamp, width: Int, height: Int) -> Block {
        let displays: Block
        if width >= Self.wideWidth {
            let rest = width - 60 - Self.watchWidth - 2
            let right = min(rest, 66)
            displays = Block.beside([
                draw(carplay, at: now, width: 60), draw(watch, at: now, width: Self.watchWidth),
                Block.above([draw(desktop, at: now, width: right), panel(width: right, height: 4)]),
            ])
        } else if width >= 62 {
            let left = min(60, width - Self.watchWidth - 1)
            let mac = draw(desktop, at: now, width: left)
            displays = Block.above([
                Block.beside([draw(carplay, at: now, width: left), draw(watch, at: now, width: Self.watchWidth)]),
                Block.beside([mac, panel(width: Self.watchWidth, height: mac.height - 2)]),
            ])
        } else {
            displays = Block.above([carplay, watch, desktop].map { draw($0, at: now, width: width) })
        }
        let bottom = [progressLine(width: displays.width), Line(foot, .dim)]
        let top = [Line(title, .bold)]
        let all = Block(
            top + displays.cut(toHeight: max(1, height - 3)).lines + bottom, width: min(width, displays.width))
        return all
    }

    private func draw(_ display: Display, at now: Timestamp, width: Int) -> Block {
        TerminalScreen.draw(
            display.cards, view: .surface(display.surface), at: now, width: width, notices: display.notices)
    }

    private func panel(width: Int, height: Int) -> Block {
        let inner = width - 2
        let face = control.map { $0.control(width: inner) } ?? Block([], width: inner)
        let lines = face.lines + [Line(" " + controlNote, .dim)]
        return Block(Array(lines.prefix(height)), width: inner).filled(toHeight: height)
            .framed(.display, title: Line(controlTitle, .bold))
    }

    private func progressLine(width: Int) -> Line {
        let text = Line(" \(progressText)")
        var line = ProgressBar.line(progress, width: max(8, min(40, width - text.width)))
        line.append(text)
        return line
    }
}
