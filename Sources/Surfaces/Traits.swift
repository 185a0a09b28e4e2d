public import TelltaleModel

/// The situation of one device, as reported with `TRAIT` (Protocols/Line/line-protocol.md §8). The first value of each
/// is the default.
public struct Traits: Hashable, Sendable {
    public enum StandBy: String, CaseIterable, Hashable, Sendable {
        case off, on
        /// A person tapped the minimal presentation.
        case tapped
    }

    /// `foreground=APP`: the app in front; `nil` for none.
    public var foreground: String? {
        get { rare?.values.foreground }
        set { changeRare { $0.foreground = newValue } }
    }
    /// `dashboard=hidden`: the car shows another screen than its dashboard.
    public var isDashboardHidden = false
    /// `locked=yes`.
    public var isLocked = false
    /// `wrist=down`.
    public var isWristDown = false
    /// `light=low`: a dark room.
    public var isLightLow = false
    /// `luminance=reduced`: an always-on display.
    public var isLuminanceReduced = false
    /// `focus=on`: a Focus suppresses notifications.
    public var isFocusOn = false
    /// `standby=`.
    public var standBy = StandBy.off
    /// Whether the device has a Dynamic Island: what `island=` says, else the catalogue of the device of `HELLO device=` (H9). Setting
    /// it sets what the catalogue says.
    public var hasIsland: Bool {
        get { rare?.values.island ?? isIslandInCatalogue }
        set { isIslandInCatalogue = newValue }
    }
    /// A device that was not named has one.
    private var isIslandInCatalogue = true
    /// The traits that most devices never report. Boxed, because a session is kept small.
    private var rare: RareTraits?

    /// The traits that only widgets depend on.
    public var widgets: WidgetTraits {
        get { rare?.values.widgets ?? WidgetTraits() }
        set { changeRare { $0.widgets = newValue } }
    }

    /// `show=locked`: private parts are shown although the device is locked.
    public var showsPrivate: Bool {
        get { rare?.values.showsPrivate ?? false }
        set { changeRare { $0.showsPrivate = newValue } }
    }

    private mutating func changeRare(_ change: (inout RareTraits.Values) -> Void) {
        var values = rare?.values ?? RareTraits.Values()
        change(&values)
        rare = values == RareTraits.Values() ? nil : RareTraits(values)
    }

    /// Whether a device is not sent what is private: E10 and W76.
    public func isRedacted(on surface: Surface, _ settings: SurfaceSettings) -> Bool {
        if showsPrivate { return false }
        // A screen that mirrors the car's view has its own lock, which the server does not know.
        if isLocked || surface == .carplay { return true }
        guard settings.hidesPrivateAlwaysOn else { return false }
        return switch surface {
        case .phone, .pad, .standby, .vision: isLuminanceReduced
        case .watch: isLuminanceReduced || isWristDown
        case .carplay, .desktop: false
        }
    }

    /// The traits that decide the places of activities. It contains no text of a client, so there are few different ones: of
    /// ``foreground`` it says only whether an app is in front. Which one it is, is passed as its number.
    public var placing: Traits {
        var traits = self
        traits.isFocusOn = false
        traits.changeRare { values in
            values.foreground = foreground == nil ? nil : ""
            let isDark = values.widgets.isDark
            values.widgets = WidgetTraits()
            values.widgets.isDark = isDark
        }
        return traits
    }

    public init() {}

    /// Sets one `name=value`.
    ///
    /// - Throws: ``TraitError``; nothing is then changed.
    public mutating func set(_ name: String, to value: String) throws(TraitError) {
        switch name {
        case "dashboard": isDashboardHidden = try Self.choose(name, value, "visible", "hidden")
        case "foreground":
            guard !value.isEmpty else { throw .unknownValue(name: name, values: "none or an app") }
            foreground = value == "none" ? nil : value
        case "locked": isLocked = try Self.choose(name, value, "no", "yes")
        case "wrist": isWristDown = try Self.choose(name, value, "up", "down")
        case "light": isLightLow = try Self.choose(name, value, "normal", "low")
        case "luminance": isLuminanceReduced = try Self.choose(name, value, "normal", "reduced")
        case "show": showsPrivate = try Self.choose(name, value, "unlocked", "locked")
        case "island":
            guard ["auto", "yes", "no"].contains(value) else {
                throw .unknownValue(name: name, values: "auto, yes or no")
            }
            changeRare { $0.island = value == "auto" ? nil : value == "yes" }
        case "focus": isFocusOn = try Self.choose(name, value, "off", "on")
        case "standby":
            guard let standBy = StandBy(rawValue: value) else {
                throw .unknownValue(name: name, values: "off, on or tapped")
            }
            self.standBy = standBy
        default: try widgets.set(name, to: value)
        }
    }

    /// The names that ``set(_:to:)`` accepts.
    public static let names =
        ["dashboard", "foreground", "locked", "show", "wrist", "light", "luminance", "focus", "standby", "island"]
        + WidgetTraits.names

    static func choose(
        _ name: String, _ value: String, _ standard: String, _ other: String
    ) throws(TraitError) -> Bool {
        if value == standard { return false }
        if value == other { return true }
        throw .unknownValue(name: name, values: "\(standard) or \(other)")
    }
}

public enum TraitError: Error, Hashable, Sendable, CustomStringConvertible {
    case unknownName(String)
    case unknownValue(name: String, values: String)

    public var description: String {
        switch self {
        case .unknownName(let name): "there is no trait \(name); \(Traits.names.joined(separator: ", ")) exist"
        case .unknownValue(let name, let values): "\(name) is \(values)"
        }
    }
}
