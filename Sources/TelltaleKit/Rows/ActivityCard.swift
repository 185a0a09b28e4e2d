public import TelltaleModel

/// One presentation of an activity, with its templates filled in.
public struct ActivityCard: Hashable, Sendable {
    public enum Presentation: String, Hashable, Sendable {
        case small, compact, minimal, expanded, lockScreen
    }

    public var presentation: Presentation
    /// Whether its buttons take taps.
    public var isInteractive: Bool
    /// For `small`, `minimal` and `lockScreen`; empty for the others.
    public var parts: CardParts
    /// For `compact` and `expanded`.
    public var leading: CardParts?
    /// For `compact` and `expanded`.
    public var trailing: CardParts?
    /// For `expanded`.
    public var center: CardParts?
    /// For `expanded`.
    public var bottom: CardParts?
    /// Everything that the kind's author wrote, as it came.
    public var view: JSONObject
    /// The parts to hide when the device locks, as `subtitle` or `center.subtitle`; ``summary`` takes the place of the first of
    /// `title`, `subtitle` and `text` among them.
    public var privateParts: [String]
    public var summary: String?
    /// The private parts that were not sent.
    public var redacted: [String]

    /// The card of an object with `presentation` and `view`; `nil` for any other.
    init?(_ object: JSONObject) {
        guard let presentation = object["presentation"]?.string.flatMap(Presentation.init) else { return nil }
        self.presentation = presentation
        isInteractive = object["interactive"]?.bool ?? false
        func names(_ json: JSON?) -> [String] { (json?.array ?? []).compactMap(\.string) }
        privateParts = names(object["private"])
        summary = object["summary"]?.string
        redacted = names(object["redacted"])
        view = object["view"]?.object ?? JSONObject()
        parts = CardParts(view)
        func part(_ name: String) -> CardParts? { view[name]?.object.map(CardParts.init) }
        leading = part("leading")
        trailing = part("trailing")
        center = part("center")
        bottom = part("bottom")
    }
}

/// The parts of a view: texts that are filled in and cut to what the surface holds.
public struct CardParts: Hashable, Sendable {
    /// The name of an SF Symbol.
    public var symbol: String?
    public var text: String?
    public var title: String?
    public var subtitle: String?
    /// A date to count to, or from.
    public var timer: Timestamp?
    public var progress: CardProgress?
    public var tint: String?
    public var buttons: [CardButton]

    init(_ view: JSONObject) {
        symbol = view["symbol"]?.string
        text = view["text"]?.string
        title = view["title"]?.string
        subtitle = view["subtitle"]?.string
        timer = view["timer"]?.integer.map(Timestamp.init(milliseconds:))
        progress = view["progress"].flatMap(CardProgress.init)
        tint = view["tint"]?.string
        buttons = (view["buttons"]?.array ?? []).compactMap { $0.object.flatMap(CardButton.init) }
    }
}

/// The progress of an activity.
public struct CardProgress: Hashable, Sendable {
    /// 0 to 1.
    public var value: Double
    /// Lengths of the segments to draw, or their number.
    public var segments: JSON?
    /// Points to draw on the way.
    public var points: JSON?

    init?(_ json: JSON) {
        guard let value = json.double ?? json["value"]?.double else { return nil }
        self.value = min(max(value, 0), 1)
        segments = json["segments"]
        points = json["points"]
    }
}

/// A button inside a card: a control, or a link.
public struct CardButton: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        /// Set or press this key. Its state is `nil` while the control does not exist.
        case control(Key, ControlRow?)
        /// Open this link.
        case link(String)
    }

    public var action: Action
    public var isInteractive: Bool
    public var title: String?
    public var symbol: String?

    init?(_ object: JSONObject) {
        isInteractive = object["interactive"]?.bool ?? false
        title = object["title"]?.string
        symbol = object["symbol"]?.string
        if let key = object["key"]?.string.flatMap({ Key($0) }) {
            action = .control(key, ControlRow(object))
        } else if let link = object["link"]?.string {
            action = .link(link)
        } else {
            return nil
        }
    }
}
