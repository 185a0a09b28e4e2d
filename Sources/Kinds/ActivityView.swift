/// One presentation of an activity, and what of it is private (Protocols/Surfaces/rules.md E8).
public final class ActivityView: Sendable {
    /// The view in full. Of `compact` and `expanded` its parts are regions.
    public let parts: ViewTemplate
    /// The names of the parts that a locked device is not sent, as `subtitle`, or in a view with regions `center.subtitle`; sorted
    /// by their bytes if the whole kind is private.
    public let privateParts: [String]
    /// The text that stands in for the first private one of `title`, `subtitle` and `text`.
    public let summary: Template?
    /// The view without its private parts and without `label`, with the summary in the place of a text.
    public let redacted: ViewTemplate

    /// - Parameter isWhole: Whether all of its parts are private, because the kind is.
    init(_ parts: ViewTemplate, privateParts: [String] = [], summary: Template? = nil, isWhole: Bool = false) {
        self.parts = parts
        self.privateParts = isWhole ? parts.partNames : privateParts
        self.summary = summary
        guard !self.privateParts.isEmpty else {
            redacted = parts
            return
        }
        var redacted = parts
        redacted.hide(self.privateParts)
        if let summary, let place = Self.summarized(parts, self.privateParts) { redacted.set(place, to: summary) }
        self.redacted = redacted
    }

    /// What it depends on, besides the activity.
    var circumstances: CircumstanceSet { privateParts.isEmpty ? [] : .redaction }

    /// The name of the part whose place the summary takes; `nil` if no text is private.
    static func summarized(_ parts: ViewTemplate, _ privateParts: [String]) -> String? {
        let present = parts.partNames
        return ["title", "subtitle", "text"].lazy.flatMap { name in
            ["", "leading.", "trailing.", "center.", "bottom."].map { $0 + name }
        }.first { privateParts.contains($0) && present.contains($0) }
    }
}
