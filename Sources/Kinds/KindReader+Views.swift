internal import TelltaleModel
internal import TelltaleStatechart

extension KindReader {
    static let viewParts = ["symbol", "text", "title", "subtitle", "timer", "else", "progress", "tint", "buttons"]
    /// The largest view: its bytes of compact JSON, and the number of its texts.
    static let viewByteLimit = 8_192
    static let viewTemplateLimit = 64
    static let presentations = ["compact", "minimal", "lockScreen", "expanded", "small"]

    /// Reads `views`, with a default view for each that is absent.
    ///
    /// - Parameter isWhole: Whether the whole kind is private.
    mutating func views(_ json: JSON?, plain: DefaultViews, isWhole: Bool) -> ActivityViews {
        var views = plain.views(isWhole: isWhole)
        guard let json else {
            warn("views", "there are no views: plain ones are shown everywhere", advice: "add \"views\"")
            return views
        }
        guard let object = object(json, at: "views", knows: Self.presentations) else { return views }
        for name in ["compact", "minimal", "lockScreen", "expanded"] where object[name] == nil {
            warn("views.\(name)", "there is no \(name) view: a plain one is shown", advice: "add \(quoted(name))")
        }
        func read(
            _ name: String, into view: inout ActivityView, _ body: (inout KindReader, JSON, String) -> ViewTemplate
        ) {
            guard let json = object[name] else { return }
            let path = "views.\(name)"
            bounded(json, at: path) { reader in
                view = reader.activityView(json, name, at: path, isWhole: isWhole, body)
            }
        }
        read("compact", into: &views.compact) { reader, json, path in reader.compact(json, at: path, plain: plain) }
        read("minimal", into: &views.minimal) { reader, json, path in reader.view(json, at: path) }
        read("lockScreen", into: &views.lockScreen) { reader, json, path in reader.view(json, at: path) }
        if object["small"] != nil {
            var small = ActivityView(ViewTemplate())
            read("small", into: &small) { reader, json, path in reader.view(json, at: path) }
            views.small = small
        }
        read("expanded", into: &views.expanded) { reader, json, path in reader.expanded(json, at: path) }
        return views
    }

    /// Reads one presentation with its variants: what is private of it, and by `read` its parts.
    private mutating func activityView(
        _ json: JSON, _ name: String, at path: String, isWhole: Bool,
        _ read: (inout KindReader, JSON, String) -> ViewTemplate
    ) -> ActivityView {
        // In a kind of an older release they may be parts of the author's own.
        guard var object = json.object, !isAdmitted || Self.isOfThisRelease(object, isWhole: isWhole) else {
            return ActivityView(read(&self, json, path), isWhole: isWhole)
        }
        let texts = variantTexts(&object, at: path)
        let variants = texts.enumerated().compactMap { index, json in
            let place = "\(Self.join(path, "variants"))[\(index)]"
            return variant(json, of: object, at: place) { reader, merged, path in
                reader.layout(merged, name, at: path, isWhole: isWhole, read)
            }.map { (when: $0.when, view: $0.view) }
        }
        return layout(object, name, at: path, isWhole: isWhole, variants: variants, read)
    }

    private mutating func layout(
        _ object: JSONObject, _ name: String, at path: String, isWhole: Bool,
        variants: [(when: ViewCondition, view: ActivityView)] = [],
        _ read: (inout KindReader, JSON, String) -> ViewTemplate
    ) -> ActivityView {
        var plain = object
        for name in Self.privacyNames { plain[name] = nil }
        let parts = read(&self, .object(plain), path)
        let names = strings(object, "private", at: path, of: "parts") ?? []
        let summary = template(object, "summary", at: path)
        refuseUnknown(
            privateParts: names, among: parts.partNames + variants.flatMap(\.view.parts.partNames), at: path)
        let view = ActivityView(
            parts, privateParts: names, summary: summary, isWhole: isWhole, variants: variants)
        if summary != nil, ActivityView.summarized(parts, view.privateParts) == nil {
            let (place, message) = (
                Self.join(path, "summary"), "it is never shown: none of title, subtitle and text is private"
            )
            let advice = "name the text that it stands in for in \"private\", or take it out"
            // Read from a journal it would be a part of the author's own: `isOfThisRelease`.
            if Self.isSummaryAlone(object, isWhole: isWhole), variants.isEmpty {
                refuse(place, message, advice: advice)
            } else {
                warn(place, message, advice: advice)
            }
        }
        note(privateParts: view.privateParts, of: name, at: path)
        return view
    }

    static let privacyNames = ["private", "summary"]

    /// Whether `private`, `summary` and `variants` are what this release means by them.
    private static func isOfThisRelease(_ object: JSONObject, isWhole: Bool) -> Bool {
        let names = object["private"].map { $0.array?.compactMap(\.string) ?? [""] } ?? []
        let isAlone = object["variants"] == nil && isSummaryAlone(object, isWhole: isWhole)
        return !names.contains("") && Set(names).count == (object["private"]?.array?.count ?? 0)
            && (object["summary"] == nil || object["summary"]?.string != nil && !isAlone)
            && (object["variants"] == nil
                || object["variants"]?.array?.allSatisfy { $0["when"]?.object != nil && $0["set"]?.object != nil }
                    == true)
    }

    /// Whether a view has a `summary` and nothing that it could stand in for.
    private static func isSummaryAlone(_ object: JSONObject, isWhole: Bool) -> Bool {
        object["summary"] != nil && object["private"] == nil && !isWhole
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

    private mutating func compact(_ json: JSON, at path: String, plain: DefaultViews) -> ViewTemplate {
        let halves = object(json, at: path, knows: ["leading", "trailing"]) ?? JSONObject()
        for name in ["leading", "trailing"] where halves[name] == nil {
            warn(
                Self.join(path, name), "compact has no \(name) half: a plain one is shown",
                advice: "add \(quoted(name))")
        }
        return ViewTemplate(
            plain.halves.map { name, half in
                (name, .region(halves[name].map { view($0, at: Self.join(path, name)) } ?? half))
            })
    }

    private mutating func expanded(_ json: JSON, at path: String) -> ViewTemplate {
        let names = ["leading", "trailing", "center", "bottom"]
        guard let object = object(json, at: path, knows: names) else { return ViewTemplate() }
        return ViewTemplate(
            names.compactMap { name in
                object[name].map { (name, .region(view($0, at: Self.join(path, name)))) }
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

    /// The halves of `compact`.
    var halves: [(name: String, view: ViewTemplate)] {
        [("leading", ViewTemplate([mark ?? ("text", text)])), ("trailing", ViewTemplate([("text", state)]))]
    }

    private var text: ViewTemplate.Part { .text(Template(literal: title)) }
    private var state: ViewTemplate.Part { .text(Template(path: .stateTitle)) }
    private var mark: (String, ViewTemplate.Part)? { symbol.map { ("symbol", .text(Template(literal: $0))) } }

    /// - Parameter isWhole: Whether the whole kind is private.
    func views(isWhole: Bool) -> ActivityViews {
        let progress = ViewTemplate.Part.progress(ProgressTemplate())
        func view(_ parts: [(name: String, part: ViewTemplate.Part)]) -> ActivityView {
            ActivityView(ViewTemplate(parts), isWhole: isWhole)
        }
        return ActivityViews(
            compact: view(halves.map { ($0.name, .region($0.view)) }),
            minimal: view([mark ?? ("text", state), ("progress", progress)]),
            lockScreen: view([("title", text), ("subtitle", state), ("progress", progress)]),
            expanded: view([
                ("leading", .region(ViewTemplate([("title", text)]))),
                ("trailing", .region(ViewTemplate([("text", state)]))),
                ("bottom", .region(ViewTemplate([("progress", progress)]))),
            ]),
            small: nil)
    }
}
