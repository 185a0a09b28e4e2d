extension ActivityViews {
    private var templates: [ViewTemplate] {
        [compactLeading, compactTrailing, minimal, lockScreen, expanded] + (small.map { [$0] } ?? [])
    }

    /// Whether any of the presentations has controls.
    public var showsControls: Bool { templates.contains { $0.showsControls } }

    /// The rendered keys of every control in every presentation, with duplicates.
    public func buttonKeys(in context: TemplateContext) -> [String] {
        templates.flatMap { $0.buttonKeys(in: context) }
    }
}
