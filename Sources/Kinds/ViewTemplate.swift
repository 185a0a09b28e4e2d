public import TelltaleModel

/// The parts of one presentation: `symbol text title subtitle timer else progress tint buttons`, and unknown parts as
/// they are.
public struct ViewTemplate: Sendable {
    enum Part: Sendable {
        case text(Template)
        /// An absolute date, in Unix milliseconds.
        case timer(Template)
        case progress(ProgressTemplate)
        case buttons([ButtonTemplate])
        /// A region of `expanded`, with its own parts.
        case region(ViewTemplate)
        /// A part that Telltale does not know. It is passed through with its texts rendered.
        case other(FilledJSON)
    }

    /// Sorted by the bytes of their names, which is the order in which they are written.
    private(set) var parts: [(name: String, part: Part)] = []
    /// `else`: replaces `text` while `timer` has no date.
    var fallback: Template?

    public init() {}

    init(_ parts: [(name: String, part: Part)], fallback: Template? = nil) {
        self.parts = parts.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.fallback = fallback
    }

    func part(named name: String) -> Part? { parts.first { $0.name == name }?.part }

    /// The names of its parts, sorted by their bytes; those in a region as `center.subtitle`.
    var partNames: [String] {
        var names = parts.flatMap { member -> [String] in
            guard case .region(let view) = member.part else { return [member.name] }
            return view.partNames.map { "\(member.name).\($0)" }
        }
        if fallback != nil, part(named: "text") == nil { names.append("text") }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Removes parts by their names, and every `label`. Without its text or its timer a view has no use for `else`.
    mutating func hide(_ names: [String]) {
        for (index, member) in parts.enumerated() {
            guard case .region(var view) = member.part else { continue }
            view.hide(
                names.compactMap { $0.hasPrefix(member.name + ".") ? String($0.dropFirst(member.name.count + 1)) : nil }
            )
            parts[index].part = .region(view)
        }
        parts.removeAll { names.contains($0.name) || $0.name == "label" }
        if !Set(names).isDisjoint(with: ["text", "timer", "else"]) { fallback = nil }
    }

    /// Sets a text, as `title` or `center.title`.
    mutating func set(_ name: String, to text: Template) {
        if let dot = name.firstIndex(of: ".") {
            for (index, member) in parts.enumerated() where member.name == name[..<dot] {
                guard case .region(var view) = member.part else { continue }
                view.set(String(name[name.index(after: dot)...]), to: text)
                parts[index].part = .region(view)
            }
            return
        }
        self = ViewTemplate(parts.filter { $0.name != name } + [(name, .text(text))], fallback: fallback)
    }

    /// Appends the rendered view as one JSON object.
    ///
    /// `timer` becomes an absolute date in Unix milliseconds, or, if it has none, `text` from `else`. `progress: true`
    /// becomes the activity's fraction. `buttons` becomes the keys of controls.
    public func write(to writer: inout JSONWriter, context: TemplateContext) {
        write(to: &writer, context: context) { key, writer in writer.value(key) }
    }

    /// Like ``write(to:context:)``, but `button` writes each button that is a control: it gets the rendered key and must write
    /// exactly one value.
    ///
    /// - Parameters:
    ///   - textLimit: The largest number of characters of a displayed text; a longer text is cut and ends in an
    ///     ellipsis. `nil` for no limit.
    ///   - isInteractive: Whether links at this place are active.
    public func write(
        to writer: inout JSONWriter, context: TemplateContext, textLimit: Int? = nil, isInteractive: Bool = true,
        button: (String, inout JSONWriter) -> Void
    ) {
        func cut(_ text: String) -> String { Self.cut(text, to: textLimit) }
        let date = part(named: "timer").flatMap { part in
            if case .timer(let template) = part { template.value(in: context).flatMap(DateText.timestamp) } else { nil }
        }
        var elseText = date == nil ? fallback : nil
        writer.beginObject()
        for (name, part) in parts {
            // `else` is written at the place of `text`, so that members stay sorted.
            if let text = elseText, !name.utf8.lexicographicallyPrecedes("text".utf8) {
                writer.member("text", cut(text.rendered(in: context)))
                elseText = nil
                if name == "text" { continue }
            }
            switch part {
            case .text(let template):
                let text = template.rendered(in: context)
                // Names of symbols and colours are not displayed texts, so they are never cut.
                writer.member(named: name, .string(name == "symbol" || name == "tint" ? text : cut(text)))
            case .timer: if let date { writer.member(named: name, .integer(date.milliseconds)) }
            case .progress(let template): template.write(name: name, to: &writer, context: context)
            case .buttons(let buttons):
                writer.name(of: name)
                writer.beginArray()
                for template in buttons where template.when.holds(in: context) {
                    switch template.action {
                    case .control(let key): button(key.rendered(in: context), &writer)
                    case .link(let link): link.write(to: &writer, context: context, isInteractive: isInteractive)
                    }
                }
                writer.endArray()
            case .region(let view):
                writer.name(of: name)
                view.write(
                    to: &writer, context: context, textLimit: textLimit, isInteractive: isInteractive, button: button)
            case .other(let json): writer.member(named: name, json.filled(in: context))
            }
        }
        if let text = elseText { writer.member("text", cut(text.rendered(in: context))) }
        writer.endObject()
    }

    /// `text` with at most `limit` characters, the last one an ellipsis if it was cut; `nil` for no limit.
    public static func cut(_ text: String, to limit: Int?) -> String {
        // A character takes at least one byte.
        guard let limit, text.utf8.count > limit, text.count > limit else { return text }
        return text.prefix(max(0, limit - 1)) + "\u{2026}"
    }

    /// The keys of its controls, regions included, in the order in which they are written.
    var controlKeys: [Template] { allButtons.compactMap(\.controlKey) }

    /// Whether it depends on the activity's state.
    var readsState: Bool { allButtons.contains { !$0.when.isEmpty } }

    /// Its buttons, regions included, in the order in which they are written.
    var allButtons: [ButtonTemplate] {
        parts.flatMap { member -> [ButtonTemplate] in
            switch member.part {
            case .buttons(let buttons): buttons
            case .region(let view): view.allButtons
            case .text, .timer, .progress, .other: []
            }
        }
    }
}

/// `progress`: the activity's fraction, another fraction, or a bar of segments with points.
struct ProgressTemplate: Sendable {
    /// The fraction shown, 0 to 1; `nil` for the activity's own.
    var value: Template?
    /// The members of the object form, `segments`, `points` and unknown ones; `nil` for a plain fraction.
    var style: FilledJSON?

    func write(name: String, to writer: inout JSONWriter, context: TemplateContext) {
        let fraction = self.fraction(in: context)
        guard let style else {
            if let fraction { writer.member(named: name, JSON(fraction)) }
            return
        }
        var object = style.filled(in: context).object ?? JSONObject()
        if let fraction { object["value"] = JSON(fraction) }
        writer.member(named: name, .object(object))
    }

    private func fraction(in context: TemplateContext) -> Double? {
        var fraction = context.progress
        if let value {
            let filled = value.value(in: context)
            fraction = filled?.double ?? filled?.string.flatMap { Double($0) }
        }
        guard let fraction, fraction.isFinite else { return nil }
        return min(max(fraction, 0), 1)
    }
}

/// A JSON value whose texts are templates.
indirect enum FilledJSON: Sendable {
    case literal(JSON)
    case text(Template)
    case array([FilledJSON])
    case object([(name: String, value: FilledJSON)])

    func filled(in context: TemplateContext) -> JSON {
        switch self {
        case .literal(let json): return json
        case .text(let template): return .string(template.rendered(in: context))
        case .array(let elements): return .array(elements.map { $0.filled(in: context) })
        case .object(let members):
            var object = JSONObject()
            for (name, value) in members { object[name] = value.filled(in: context) }
            return .object(object)
        }
    }
}
