public import TelltaleModel

/// The screens of a scenario side by side, with the caption above and the progress below.
public struct ScenarioWall: Hashable, Sendable {
    public struct Display: Hashable, Sendable {
        public var view: ViewName
        /// The account or the name of the screen.
        public var label: String
        public var cards: [Card]
        /// Whether its connection is lost at the moment.
        public var isAway: Bool

        public init(_ view: ViewName, label: String, cards: [Card], isAway: Bool) {
            (self.view, self.label, self.cards, self.isAway) = (view, label, cards, isAway)
        }

        /// The most cards that have room.
        public static func cardLimit(_ view: ViewName) -> Int {
            switch view {
            case .full: 6
            case .surface(.carplay), .surface(.desktop): 4
            case .surface(.phone), .surface(.pad), .surface(.watch), .surface(.standby), .surface(.vision): 2
            }
        }
    }

    public var title: String
    /// The newest caption of the script.
    public var caption: String
    public var displays: [Display]
    /// From 0 to 1.
    public var progress: Double
    public var progressText: String
    public var foot: String

    public init(
        title: String, caption: String, displays: [Display], progress: Double, progressText: String, foot: String
    ) {
        (self.title, self.caption, self.displays) = (title, caption, displays)
        (self.progress, self.progressText, self.foot) = (progress, progressText, foot)
    }

    /// At most `width` columns and `height` lines.
    public func draw(at now: Timestamp, width: Int, height: Int) -> Block {
        let screens = displays.map { display in
            let label = display.isAway ? "\(display.label), away" : display.label
            let block = TerminalScreen.draw(display.cards, view: display.view, at: now, width: width, label: label)
            return display.isAway ? block.inked { $0.isDim = true } : block
        }
        var head = Line(title, .bold)
        if !caption.isEmpty { head.append("  \(caption)", Ink(.yellow)) }
        let text = Line(" \(progressText)")
        var bar = ProgressBar.line(progress, width: max(8, min(40, width - text.width)))
        bar.append(text)
        let all = Block.flowing(screens, width: width).cut(toHeight: max(1, height - 3))
        return Block([head] + all.lines + [bar, Line(foot, .dim)], width: width)
    }
}
