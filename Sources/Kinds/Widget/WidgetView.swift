/// The view of one family, with its variants.
struct WidgetView: Sendable {
    let base: WidgetLayout
    /// The first one whose circumstances hold goes before ``base`` (W51).
    let variants: [Variant]

    struct Variant: Sendable {
        let when: ViewCondition
        let layout: WidgetLayout
        /// The parts that the variant itself names: a place that drops a part keeps these.
        let ownParts: Set<String>
    }

    var layouts: [WidgetLayout] { [base] + variants.map(\.layout) }
    var showsControls: Bool { layouts.contains { !$0.parts.controlKeys.isEmpty } }
    /// Whether it depends on the state of an activity.
    var readsState: Bool { variants.contains { !$0.when.activity.isEmpty } || layouts.contains { $0.parts.readsState } }
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
