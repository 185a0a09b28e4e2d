extension ActivityViews {
    private var templates: [ViewTemplate] {
        [compactLeading, compactTrailing, minimal, lockScreen, expanded] + (small.map { [$0] } ?? [])
    }

    /// Whether controls stand in any of its presentations.
    public var showsControls: Bool { templates.contains { $0.showsControls } }

    /// The filled-in keys of every control in every presentation; one that stands in several comes several times.
    public func buttonKeys(in context: TemplateContext) -> [String] {
        templates.flatMap { $0.buttonKeys(in: context) }
    }
}
