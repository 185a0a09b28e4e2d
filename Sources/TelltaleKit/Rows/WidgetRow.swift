public import TelltaleModel
internal import TelltaleWire

/// How widgets are drawn for a follower. A `nil` takes the default of the place.
public struct WidgetChoice: Hashable, Sendable {
    /// The size and shape, as `systemMedium`.
    public var family: String?
    /// `fullColor`, `accented` or `vibrant`.
    public var mode: String?
    /// How many later entries come with a row, 0 to 64; 4 by default.
    public var ahead: Int?

    public init(family: String? = nil, mode: String? = nil, ahead: Int? = nil) {
        (self.family, self.mode, self.ahead) = (family, mode, ahead)
    }

    func style(placement: String? = nil) throws(TelltaleError) -> WidgetStyle {
        var style = WidgetStyle()
        style.placement = placement
        style.family = try Words.optional("the family", family)
        style.mode = try Words.optional("the mode", mode)
        if let ahead { style.ahead = Int(try Words.number("ahead", Int64(ahead), 0...WidgetStyle.aheadLimit)) }
        return style
    }
}

/// The row of a widget: a timeline that an app draws by itself, without a message and without a connection
/// (Protocols/Widgets/README.md).
public struct WidgetRow: Hashable, Sendable {
    /// One picture, from its date on.
    public struct Entry: Hashable, Sendable {
        public var date: Timestamp
        /// Whether to draw it as out of date.
        public var isStale: Bool
        /// Whether nothing is known yet: texts are ``WidgetText/block(_:)``.
        public var isPlaceholder: Bool
        /// `nil` = draw nothing from here on.
        public var parts: WidgetParts?
    }

    /// The size and shape, as `systemSmall`.
    public var family: String
    /// `fullColor`, `accented` or `vibrant`.
    public var mode: String
    /// Whether the background layer is drawn.
    public var hasBackground: Bool
    /// In points.
    public var margin: Double
    /// 2 where it is drawn at twice the size.
    public var scale: Double
    /// The layer behind an accented widget: `glass`, or a colour.
    public var behind: String?
    public var isNight: Bool
    /// Whether to draw it dark, without animation.
    public var isLuminanceReduced: Bool
    /// Whether its buttons take taps here.
    public var isInteractive: Bool
    public var app: String
    public var title: String
    /// The app name to draw below it.
    public var appName: String?
    /// When the server took the content.
    public var asOf: Timestamp?
    /// Whether the server computes it, so that it is current as long as the connection is.
    public var isLive: Bool
    /// Whether this is sample content, as in the gallery.
    public var isSample: Bool
    /// In the order of their dates.
    public var entries: [Entry]
    /// The parts in the accent group of the accented mode.
    public var accent: [String]
    /// The parts to hide in all entries when the device locks.
    public var privateParts: [String]
    /// The private parts that were not sent.
    public var redacted: [String]
    /// The parts that a tap is about to change: draw them dimmed until a row comes without them.
    public var invalid: [String]
    /// Where a tap leads.
    public var url: String?

    /// Reads the body of a row; `nil` if it is not the row of a widget on a surface.
    public init?(_ body: JSONObject) {
        guard body["control"] == nil, let family = body["presentation"]?.string, let entries = body["entries"]?.array
        else { return nil }
        self.family = family
        self.entries = entries.compactMap(Entry.init)
        mode = body["mode"]?.string ?? ""
        hasBackground = body["background"]?.string != "removed"
        margin = body["margin"]?.double ?? 0
        scale = body["scale"]?.double ?? 1
        behind = body["behind"]?.string
        isNight = body["night"]?.bool ?? false
        isLuminanceReduced = body["luminance"]?.string == "reduced"
        isInteractive = body["interactive"]?.bool ?? false
        app = body["app"]?.string ?? ""
        title = body["title"]?.string ?? ""
        appName = body["appName"]?.string
        asOf = body["asOf"]?.integer.map(Timestamp.init(milliseconds:))
        isLive = body["live"]?.bool ?? false
        isSample = body["sample"]?.bool ?? false
        func names(_ name: String) -> [String] { (body[name]?.array ?? []).compactMap(\.string) }
        accent = names("accent")
        privateParts = names("private")
        redacted = names("redacted")
        invalid = names("invalid")
        url = body["url"]?.string
    }

    /// The entry to draw at a moment: the last one whose date has come.
    ///
    /// - Parameters:
    ///   - now: In the server's time, as the dates are.
    ///   - isLocked: Whether the device is locked, which hides private parts.
    /// - Returns: `nil` before the first entry.
    public func entry(at now: Timestamp, isLocked: Bool = false) -> Entry? {
        guard var entry = entries.last(where: { $0.date <= now }) else { return nil }
        if isLocked { entry.parts = entry.parts?.hiding(privateParts) }
        return entry
    }

    /// When to draw the next entry; `nil` if there is none.
    public func nextDate(after now: Timestamp) -> Timestamp? { entries.first { $0.date > now }?.date }
}

extension WidgetRow.Entry {
    init?(_ json: JSON) {
        guard let date = json["date"]?.integer else { return nil }
        self.date = Timestamp(milliseconds: date)
        isStale = json["stale"]?.bool ?? false
        isPlaceholder = json["placeholder"]?.bool ?? false
        parts = json["view"]?.object.map(WidgetParts.init)
    }
}

/// A text of a widget, or the space for a text that is not known yet.
public enum WidgetText: Hashable, Sendable {
    case text(String)
    /// The approximate number of letters.
    case block(Int)

    init?(_ json: JSON?) {
        if let length = json?["block"]?.integer {
            self = .block(Int(clamping: max(0, length)))
        } else if let text = json?.string {
            self = .text(text)
        } else {
            return nil
        }
    }
}

/// The parts of one view of a widget.
public struct WidgetParts: Hashable, Sendable {
    public var symbol: WidgetText?
    public var title: WidgetText?
    public var subtitle: WidgetText?
    public var text: WidgetText?
    /// A date to count to, or from.
    public var timer: Timestamp?
    public var progress: CardProgress?
    public var tint: String?
    public var buttons: [CardButton]
    /// The name of the image, and how the accented mode treats it: `white`, `desaturated` and so on.
    public var image: (name: WidgetText, treatment: String?)? {
        guard let object = view["image"], let name = WidgetText(object["name"]) ?? WidgetText(object) else {
            return nil
        }
        return (name, object["treatment"]?.string)
    }
    public var list: [JSON]
    /// How many entries of the list are left out.
    public var moreCount: Int
    /// Where a tap on a part leads, by the part's name.
    public var links: [String: String]
    /// Everything that the kind's author wrote, as it came.
    public var view: JSONObject

    init(_ view: JSONObject) {
        self.view = view
        symbol = WidgetText(view["symbol"])
        title = WidgetText(view["title"])
        subtitle = WidgetText(view["subtitle"])
        text = WidgetText(view["text"])
        timer = view["timer"]?.integer.map(Timestamp.init(milliseconds:))
        progress = view["progress"].flatMap(CardProgress.init)
        tint = view["tint"]?.string
        buttons = (view["buttons"]?.array ?? []).compactMap { $0.object.flatMap(CardButton.init) }
        list = view["list"]?.array ?? []
        moreCount = view["more"]?.integer.map { Int(clamping: $0) } ?? 0
        links = [:]
        for link in view["links"]?.object ?? JSONObject() { links[link.name] = link.value.string }
    }

    /// A copy without these parts.
    func hiding(_ names: [String]) -> WidgetParts {
        var rest = JSONObject()
        for part in view where !names.contains(part.name) { rest[part.name] = part.value }
        return WidgetParts(rest)
    }
}

/// A kind of widget that a person can place.
public struct GalleryWidget: Hashable, Sendable {
    /// A value that a person chooses before the widget is placed.
    public struct Parameter: Hashable, Sendable {
        public var name: String
        public var title: String
        /// `text`, `number`, `flag` or `choice`.
        public var type: String
        /// The values to choose from; a `text` also takes any other.
        public var options: [String]
        /// How many more there are.
        public var moreCount: Int
        public var standard: JSON?
    }

    /// A configuration that exists already.
    public struct Recommended: Hashable, Sendable {
        public var key: Key
        public var configuration: JSONObject
    }

    /// The kind.
    public var name: String
    /// The families that the surface shows, in the kind's order.
    public var families: [String]
    public var app: String
    public var title: String
    public var description: String
    /// The colour of the screen on which it is configured.
    public var editTint: String?
    public var parameters: [Parameter]
    public var recommended: [Recommended]
    /// One for each family, as far as there was room.
    public var previews: [WidgetRow]

    init?(name: String?, families: String?, _ body: JSONObject) {
        guard let name else { return nil }
        self.name = name
        self.families = families?.split(separator: ",").map { String($0) } ?? []
        app = body["app"]?.string ?? ""
        title = body["title"]?.string ?? ""
        description = body["description"]?.string ?? ""
        editTint = body["editTint"]?.string
        parameters = (body["parameters"]?.array ?? []).map { json in
            Parameter(
                name: json["name"]?.string ?? "", title: json["title"]?.string ?? "", type: json["type"]?.string ?? "",
                options: (json["options"]?.array ?? []).compactMap(\.string),
                moreCount: json["more"]?.integer.map { Int(clamping: $0) } ?? 0, standard: json["default"])
        }
        recommended = (body["recommended"]?.array ?? []).compactMap { json in
            json["key"]?.string.flatMap { Key($0) }.map { key in
                Recommended(key: key, configuration: json["configuration"]?.object ?? JSONObject())
            }
        }
        previews = (body["previews"]?.array ?? []).compactMap { $0.object.flatMap(WidgetRow.init) }
    }
}
