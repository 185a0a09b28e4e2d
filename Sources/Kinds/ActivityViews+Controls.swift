extension ActivityViews {
    private var templates: [ViewTemplate] { all.map(\.parts) }

    /// Whether any of the presentations has controls.
    public var showsControls: Bool { templates.contains { !$0.controlKeys.isEmpty } }

    /// The rendered keys of every control in every presentation, with duplicates.
    public func buttonKeys(in context: TemplateContext) -> [String] {
        templates.flatMap { $0.controlKeys.map { $0.rendered(in: context) } }
    }

    /// Whether any of the presentations has a control that belongs to the activity.
    public var hasOwnControls: Bool { templates.contains { $0.controlKeys.contains { !$0.isLiteral } } }

    /// The most controls that belong to one activity.
    public static let ownControlLimit = 16

    /// The rendered keys of the controls that belong to the activity: those whose templates have a placeholder. No duplicates, in
    /// the order in which the presentations name them; at most ``ownControlLimit``.
    public func ownControlKeys(in context: TemplateContext) -> [String] {
        var keys: [String] = []
        for template in templates.lazy.flatMap(\.controlKeys) where !template.isLiteral {
            let key = template.rendered(in: context)
            if !keys.contains(key), keys.count < Self.ownControlLimit { keys.append(key) }
        }
        return keys
    }

    /// Whether a view offers a control of the activity, on whatever device (E6). A control that is listed without a condition, or
    /// that no view names, is offered.
    public func offers(_ key: String, in context: TemplateContext) -> Bool {
        var conditions: [StateCondition] = []
        for button in templates.lazy.flatMap(\.allButtons) {
            guard let template = button.controlKey, template.rendered(in: context) == key else { continue }
            if button.when.isEmpty { return true }
            conditions.append(button.when)
        }
        return conditions.isEmpty || conditions.contains { $0.holds(in: context) }
    }

    /// Whether a control that belongs to the activity is not always offered.
    public var hidesControls: Bool {
        templates.contains { view in view.allButtons.contains { $0.controlKey != nil && !$0.when.isEmpty } }
    }
}

extension Template {
    /// Whether it has no placeholder.
    var isLiteral: Bool { parts.allSatisfy(\.isLiteral) }
}
