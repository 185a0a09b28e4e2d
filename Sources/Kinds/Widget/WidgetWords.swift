/// A size and shape of a widget (Protocols/Widgets/rules.md W1). The names are those of kind files and of `family=`.
public enum WidgetFamily: String, CaseIterable, Hashable, Sendable {
    case systemSmall, systemMedium, systemLarge, systemExtraLarge, systemExtraLargePortrait
    case accessoryCircular, accessoryCorner, accessoryRectangular, accessoryInline

    public var isAccessory: Bool {
        switch self {
        case .systemSmall, .systemMedium, .systemLarge, .systemExtraLarge, .systemExtraLargePortrait: false
        case .accessoryCircular, .accessoryCorner, .accessoryRectangular, .accessoryInline: true
        }
    }

    /// Whether the family can be drawn in a mode (W2).
    public func has(_ mode: WidgetMode) -> Bool {
        switch self {
        case .accessoryCircular, .accessoryCorner, .accessoryInline: mode != .fullColor
        case .systemSmall, .systemMedium, .systemLarge, .systemExtraLarge, .systemExtraLargePortrait,
            .accessoryRectangular:
            true
        }
    }

    /// How many buttons fit side by side on visionOS, one in 60 points of the content's width (W91); `nil` for a family
    /// that is not there.
    var visionButtonLimit: Int? {
        switch self {
        case .systemSmall: 2
        case .systemMedium, .systemLarge, .systemExtraLargePortrait: 5
        case .systemExtraLarge: 6
        case .accessoryCircular, .accessoryCorner, .accessoryRectangular, .accessoryInline: nil
        }
    }
}

/// A place that shows widgets (W3). The names are those of `placement=` and of a kind file's `places`.
public enum WidgetPlace: String, CaseIterable, Hashable, Sendable {
    case home, today, lockScreen, standby, carplay, desktop, notificationCenter, smartStack, complications
    /// On visionOS: on a table, and on a wall.
    case horizontal, vertical
    /// The gallery: a preview that does nothing.
    case gallery
}

/// How a widget stands on visionOS (W65): before its surface, or in it.
public enum WidgetMounting: String, CaseIterable, Hashable, Sendable { case elevated, recessed }

/// How colours are drawn (W2).
public enum WidgetMode: String, CaseIterable, Hashable, Sendable {
    case fullColor, accented, vibrant
}

/// The option of an image for the accented mode (W47); without one it is drawn white.
public enum ImageAccent: String, CaseIterable, Hashable, Sendable {
    case accented, desaturated, accentedDesaturated, fullColor
}
