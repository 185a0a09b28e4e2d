internal import TelltaleStatechart

/// One presentation of an activity, and what of it is private (Protocols/Surfaces/rules.md E8).
public final class ActivityView: Sendable {
    /// The view in full. Of `compact` and `expanded` its parts are regions.
    public let parts: ViewTemplate
    /// The names of the parts that a locked device is not sent, as `subtitle`, or in a view with regions `center.subtitle`; sorted
    /// by their bytes if the whole kind is private.
    public let privateParts: [String]
    /// The text that replaces the first private one of `title`, `subtitle` and `text`.
    public let summary: Template?
    /// The view without its private parts and without `label`, with the summary in the place of a text.
    public let redacted: ViewTemplate
    /// What is drawn in its place: the first one whose condition holds (E1). A variant has none.
    let variants: [(when: ViewCondition, view: ActivityView)]
    /// Whether a device that hides what is private may draw it otherwise. A control in it may be private, and so is the link of a kind
    /// that is private as a whole.
    private let isRedactable: Bool

    /// - Parameter isWhole: Whether all of its parts are private, because the kind is.
    init(
        _ parts: ViewTemplate, privateParts: [String] = [], summary: Template? = nil, isWhole: Bool = false,
        variants: [(when: ViewCondition, view: ActivityView)] = []
    ) {
        self.parts = parts
        self.variants = variants
        self.privateParts = isWhole ? parts.partNames : privateParts
        self.summary = summary
        isRedactable = isWhole || !privateParts.isEmpty || !parts.controlKeys.isEmpty
        guard !self.privateParts.isEmpty else {
            redacted = parts
            return
        }
        var redacted = parts
        redacted.hide(self.privateParts)
        if let summary, let place = Self.summarized(parts, self.privateParts) { redacted.set(place, to: summary) }
        self.redacted = redacted
    }

    /// The view as it is drawn: itself, or a variant.
    public func drawn(_ circumstances: Circumstances, _ context: TemplateContext) -> ActivityView {
        if variants.isEmpty { return self }
        return variants.first { $0.when.holds(circumstances, context) }?.view ?? self
    }

    /// Itself, then its variants.
    var layouts: [ActivityView] { [self] + variants.map(\.view) }

    /// What it depends on, besides the activity.
    ///
    /// - Parameter subject: The activity, for what is drawn of it now; `nil` for what may be drawn.
    func circumstances(for subject: GuardSubject? = nil) -> CircumstanceSet {
        var set: CircumstanceSet = []
        for variant in variants {
            if let subject, !variant.when.activity.holds(for: subject) { continue }
            set.formUnion(variant.when.circumstances.union(variant.view.circumstances(for: subject)))
            // Every device draws it, so no later variant is drawn.
            if subject != nil, variant.when.device.isEmpty { return set }
        }
        return isRedactable ? set.union(.redaction) : set
    }

    /// Whether it depends on the activity's state.
    var readsState: Bool {
        parts.readsState || variants.contains { !$0.when.activity.isEmpty || $0.view.parts.readsState }
    }

    /// The name of the part whose place the summary takes; `nil` if no text is private.
    static func summarized(_ parts: ViewTemplate, _ privateParts: [String]) -> String? {
        let present = parts.partNames
        return ["title", "subtitle", "text"].lazy.flatMap { name in
            ["", "leading.", "trailing.", "center.", "bottom."].map { $0 + name }
        }.first { privateParts.contains($0) && present.contains($0) }
    }
}
