/// The view of one family, with its variants.
struct WidgetView: Sendable {
    let base: WidgetLayout
    /// The first one whose circumstances hold goes before ``base`` (W51).
    let variants: [Variant]

    struct Variant: Sendable {
        let when: [WidgetVariantCondition]
        let layout: WidgetLayout
        /// The parts that the variant itself names: a place that drops a part keeps these.
        let ownParts: Set<String>
    }

    var layouts: [WidgetLayout] { [base] + variants.map(\.layout) }
    var showsControls: Bool { layouts.contains { !$0.parts.controlKeys.isEmpty } }
}

/// One circumstance of a variant, as `"mode": "vibrant"`.
struct WidgetVariantCondition: Hashable, Sendable {
    let name: String
    let value: String

    /// The circumstances that there are, each with its values.
    static let values: [(name: String, values: [String])] = [
        ("mode", WidgetMode.allCases.map(\.rawValue)), ("background", ["kept", "removed"]),
        ("detail", ["full", "simplified"]), ("appearance", ["light", "dark"]), ("luminance", ["normal", "reduced"]),
        ("account", ["some", "none"]),
    ]
}

/// The circumstances under which a view is drawn, for its variants.
public struct WidgetCircumstances: Hashable, Sendable {
    public var mode: WidgetMode
    public var isBackgroundRemoved: Bool
    public var isSimplified: Bool
    public var isDark: Bool
    public var isLuminanceReduced: Bool
    public var hasAccount: Bool

    public init(
        mode: WidgetMode, isBackgroundRemoved: Bool, isSimplified: Bool, isDark: Bool, isLuminanceReduced: Bool,
        hasAccount: Bool
    ) {
        self.mode = mode
        self.isBackgroundRemoved = isBackgroundRemoved
        self.isSimplified = isSimplified
        self.isDark = isDark
        self.isLuminanceReduced = isLuminanceReduced
        self.hasAccount = hasAccount
    }

    func holds(_ condition: WidgetVariantCondition) -> Bool {
        switch condition.name {
        case "mode": condition.value == mode.rawValue
        case "background": condition.value == (isBackgroundRemoved ? "removed" : "kept")
        case "detail": condition.value == (isSimplified ? "simplified" : "full")
        case "appearance": condition.value == (isDark ? "dark" : "light")
        case "luminance": condition.value == (isLuminanceReduced ? "reduced" : "normal")
        case "account": condition.value == (hasAccount ? "some" : "none")
        default: false
        }
    }
}

/// The parts of a view, and what is said about them.
struct WidgetLayout: Sendable {
    var parts = ViewTemplate()
    var list: Template?
    var image: ImageTemplate?
    var background: FilledJSON?
    /// The longest animation, in seconds; a hint.
    var animation: Double?
    var links: [(part: String, link: Template)] = []
    /// The parts of the accent group, those that are private, and those that a tap makes doubtful.
    var accent: [String] = []
    var isPrivate: [String] = []
    var invalidates: [String] = []

    struct ImageTemplate: Sendable {
        var name: Template
        var accent: ImageAccent?
        var ratio: Double?
    }

    /// The names of its parts, sorted by their bytes.
    var partNames: [String] {
        var names = parts.parts.map(\.name)
        if parts.fallback != nil, !names.contains("text") { names.append("text") }
        if list != nil { names.append("list") }
        if image != nil { names.append("image") }
        if background != nil { names.append("background") }
        if animation != nil { names.append("animation") }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
