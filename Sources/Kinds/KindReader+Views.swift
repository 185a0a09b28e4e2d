internal import TelltaleModel
internal import TelltaleStatechart

extension KindReader {
    static let viewParts = ["symbol", "text", "title", "subtitle", "timer", "else", "progress", "tint", "buttons"]
    /// The largest view: its bytes of compact JSON, and the number of its texts.
    static let viewByteLimit = 8_192
    static let viewTemplateLimit = 64
    static let presentations = ["compact", "minimal", "lockScreen", "expanded", "small"]

    /// Reads `views`, with a default view for each that is absent.
    mutating func views(_ json: JSON?, plain: DefaultViews) -> ActivityViews {
        var views = plain.views
        guard let json else {
            warn("views", "there are no views: plain ones are shown everywhere", advice: "add \"views\"")
            return views
        }
        guard let object = object(json, at: "views", knows: Self.presentations) else { return views }
        for name in ["compact", "minimal", "lockScreen", "expanded"] where object[name] == nil {
            warn("views.\(name)", "there is no \(name) view: a plain one is shown", advice: "add \(quoted(name))")
        }
        if let json = object["compact"] {
            let halves = self.object(json, at: "views.compact", knows: ["leading", "trailing"]) ?? JSONObject()
            for name in ["leading", "trailing"] where halves[name] == nil {
                warn(
                    "views.compact.\(name)", "compact has no \(name) half: a plain one is shown",
                    advice: "add \(quoted(name))")
            }
            bounded(json, at: "views.compact") { reader in
                if let json = halves["leading"] {
                    views.compactLeading = reader.view(json, at: "views.compact.leading")
                }
                if let json = halves["trailing"] {
                    views.compactTrailing = reader.view(json, at: "views.compact.trailing")
                }
            }
        }
        func read(_ name: String, _ body: (inout KindReader, JSON, String) -> Void) {
            guard let json = object[name] else { return }
            let path = "views.\(name)"
            bounded(json, at: path) { reader in body(&reader, json, path) }
        }
        read("minimal") { reader, json, path in views.minimal = reader.view(json, at: path) }
        read("lockScreen") { reader, json, path in views.lockScreen = reader.view(json, at: path) }
        read("small") { reader, json, path in views.small = reader.view(json, at: path) }
        read("expanded") { reader, json, _ in views.expanded = reader.expanded(json) }
        return views
    }

    /// Reads a view and refuses it over the size limit, because every row repeats it.
    mutating func bounded(_ json: JSON, at path: String, _ read: (inout KindReader) -> Void) {
        let byteCount = json.textByteCount
        if byteCount > Self.viewByteLimit {
            refuse(
                path, "the view has \(byteCount) bytes, \(Self.viewByteLimit) are the limit",
                advice: "every row repeats it: take out what no screen shows")
        }
        let before = templates.count
        read(&self)
        let count = templates.count - before
        if count > Self.viewTemplateLimit {
            refuse(
                path, "the view has \(count) texts, \(Self.viewTemplateLimit) are the limit",
                advice: "every row repeats them: take out what no screen shows")
        }
    }

    private mutating func expanded(_ json: JSON) -> ViewTemplate {
        let names = ["leading", "trailing", "center", "bottom"]
        guard let object = object(json, at: "views.expanded", knows: names) else { return ViewTemplate() }
        return ViewTemplate(
            names.compactMap { name in
                object[name].map { (name, .region(view($0, at: "views.expanded.\(name)"))) }
            })
    }

    mutating func view(_ json: JSON, at path: String) -> ViewTemplate {
        guard let object = json.object else {
            wrongType(json, at: path, expected: "an object of a view's parts")
            return ViewTemplate()
        }
        var parts: [(name: String, part: ViewTemplate.Part)] = []
        var fallback: Template?
        for member in object {
            let place = Self.join(path, member.name)
            switch member.name {
            case "symbol", "text", "title", "subtitle", "tint":
                if let template = template(object, member.name, at: path) {
                    parts.append((member.name, .text(template)))
                }
            case "else": fallback = template(object, member.name, at: path)
            case "timer":
                if let template = timer(member.value, at: place) { parts.append((member.name, .timer(template))) }
            case "progress":
                if let progress = progress(member.value, at: place) { parts.append((member.name, .progress(progress))) }
            case "buttons":
                let buttons = (array(object, member.name, at: path, of: "controls' keys and links") ?? []).enumerated()
                parts.append((member.name, .buttons(buttons.compactMap { button($1, at: "\(place)[\($0)]") })))
            default:
                let close = Spelling.nearest(to: member.name, among: Self.viewParts)
                warn(
                    place,
                    "\(quoted(member.name)) is no part of a view that Telltale knows: it is passed through as it is",
                    advice: close.map { "did you mean \(quoted($0))?" }
                        ?? "known are \(Self.viewParts.joined(separator: ", "))")
                if let other = filled(member.value, at: place) { parts.append((member.name, .other(other))) }
            }
        }
        if fallback != nil, object["timer"] == nil {
            warn(
                Self.join(path, "else"), "without a \"timer\" it is always shown, in the place of a \"text\"",
                advice: "add the \"timer\" that it stands in for, or call it \"text\"")
        }
        return ViewTemplate(parts, fallback: fallback)
    }

    private mutating func timer(_ json: JSON, at path: String) -> Template? {
        switch json {
        case .string(let text):
            guard let template = template(text, at: path) else { return nil }
            if template.parts.allSatisfy(\.isLiteral), DateText.timestamp(.string(text)) == nil {
                error(
                    path, "\(quoted(text)) is not a date", advice: "read it from the content, as in {{content.eta}}")
                return nil
            }
            return template
        case .integer, .number: return Template(literal: json.description)
        case .null, .bool, .array, .object:
            wrongType(json, at: path, expected: "a date's template, as {{content.eta}}")
            return nil
        }
    }

    /// Reads `true`, a template of a fraction, or an object of `segments`, `points` and an optional `value`.
    private mutating func progress(_ json: JSON, at path: String) -> ProgressTemplate? {
        switch json {
        case .bool(let isShown): return isShown ? ProgressTemplate() : nil
        case .string(let text): return filledFraction(text, at: path).map { ProgressTemplate(value: $0) }
        case .integer, .number: return fraction(json, at: path).map { ProgressTemplate(value: $0) }
        case .object:
            guard let object = object(json, at: path, knows: ["value", "segments", "points"]) else { return nil }
            var progress = ProgressTemplate()
            switch object["value"] {
            case nil: break
            case .string(let text)?: progress.value = filledFraction(text, at: Self.join(path, "value"))
            case let number?: progress.value = fraction(number, at: Self.join(path, "value"))
            }
            if let segments = integer(object, "segments", at: path), !(1...64).contains(segments) {
                error(Self.join(path, "segments"), "\(segments) segments", advice: "write a number from 1 to 64")
            }
            for (index, point) in (array(object, "points", at: path, of: "fractions") ?? []).enumerated() {
                _ = fraction(point, at: "\(path).points[\(index)]")
            }
            var style = object
            style["value"] = nil
            progress.style = .literal(.object(style))
            return progress
        case .null, .array:
            wrongType(json, at: path, expected: "true, a fraction's template, or {\"segments\": N}")
            return nil
        }
    }

    private mutating func filledFraction(_ text: String, at path: String) -> Template? {
        guard let template = template(text, at: path) else { return nil }
        if template.parts.allSatisfy(\.isLiteral), !(Double(text).map { (0...1).contains($0) } ?? false) {
            refuse(
                path, "\(quoted(text)) is not a fraction",
                advice: "write a number from 0 to 1, or read it from the content, as in {{content.done}}")
        }
        return template
    }

    private mutating func fraction(_ json: JSON, at path: String) -> Template? {
        guard let number = json.double, (0...1).contains(number) else {
            error(path, "\(json) is not a fraction", advice: "write a number from 0 to 1")
            return nil
        }
        return Template(literal: json.description)
    }

    mutating func filled(_ json: JSON, at path: String) -> FilledJSON? {
        switch json {
        case .string(let text): return template(text, at: path).map { .text($0) }
        case .array(let elements):
            return .array(
                elements.enumerated().compactMap { index, element in filled(element, at: "\(path)[\(index)]") })
        case .object(let object):
            return .object(
                object.compactMap { member in
                    filled(member.value, at: Self.join(path, member.name)).map { (member.name, $0) }
                })
        case .null, .bool, .integer, .number: return .literal(json)
        }
    }
}

extension Template.Part {
    var isLiteral: Bool {
        switch self {
        case .literal: true
        case .value: false
        }
    }
}

/// The default views: the title, the state and the progress.
struct DefaultViews {
    var title: String
    var symbol: String?

    var views: ActivityViews {
        let title = ViewTemplate.Part.text(Template(literal: self.title))
        let state = ViewTemplate.Part.text(Template(path: .stateTitle))
        let progress = ViewTemplate.Part.progress(ProgressTemplate())
        let mark = symbol.map { ("symbol", ViewTemplate.Part.text(Template(literal: $0))) }
        return ActivityViews(
            compactLeading: ViewTemplate([mark ?? ("text", title)]),
            compactTrailing: ViewTemplate([("text", state)]),
            minimal: ViewTemplate([mark ?? ("text", state), ("progress", progress)]),
            lockScreen: ViewTemplate([("title", title), ("subtitle", state), ("progress", progress)]),
            expanded: ViewTemplate([
                ("leading", .region(ViewTemplate([("title", title)]))),
                ("trailing", .region(ViewTemplate([("text", state)]))),
                ("bottom", .region(ViewTemplate([("progress", progress)]))),
            ]),
            small: nil)
    }
}
