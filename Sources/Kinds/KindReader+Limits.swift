internal import TelltaleModel

/// Warns of content that cannot fit: the layouts are fixed and cut off the rest (Protocols/Surfaces/rules.md 3.7, H7,
/// J6).
extension KindReader {
    private enum Limit {
        /// The smallest text, in points (H7).
        static let textSize = 11.0
        /// The largest number of symbols in a row in the small family, glyph buttons included (J6).
        static let symbols = 3
        /// The largest number of text buttons in a row on a watch (J6). A control's button shows its title.
        static let textButtons = 2
        /// The largest number of narrow letters at the smallest text size that a compact half can show. A minimal view
        /// is narrower still.
        static let compactLetters = 11
        static let minimalLetters = 8
    }

    mutating func lint(views: ActivityViews, families: Set<SupplementalFamily>) {
        forEachLayout(of: views.compact, at: "views.compact") { reader, parts, path in
            for case (let half, .region(let view)) in parts.parts {
                reader.lintInactive(view, letters: Limit.compactLetters, at: Self.join(path, half))
            }
        }
        forEachLayout(of: views.minimal, at: "views.minimal") { reader, parts, path in
            reader.lintInactive(parts, letters: Limit.minimalLetters, at: path)
        }
        forEachLayout(of: views.lockScreen, at: "views.lockScreen") { $0.lintTextSizes($1, at: $2) }
        forEachLayout(of: views.expanded, at: "views.expanded") { $0.lintTextSizes($1, at: $2) }
        guard let small = views.small else { return }
        if !families.contains(.small) {
            warn(
                "views.small", "it is never shown: the small family is not declared",
                advice: "add \"supplementalFamilies\": [\"small\"]")
        }
        forEachLayout(of: small, at: "views.small") { $0.lintSmall($1, at: $2) }
    }

    /// Checks a view and each of its variants; what a variant inherits is reported for the view.
    private mutating func forEachLayout(
        of view: ActivityView, at path: String, _ check: (inout KindReader, ViewTemplate, String) -> Void
    ) {
        check(&self, view.parts, path)
        for (index, variant) in view.variants.enumerated() {
            let (reported, place) = (diagnostics.count, "\(path).variants[\(index)].set")
            check(&self, variant.view.parts, place)
            let known = Set(diagnostics[..<reported].map { $0.path.dropFirst(path.count) + $0.message })
            let found = diagnostics[reported...].filter { !known.contains($0.path.dropFirst(place.count) + $0.message) }
            diagnostics.replaceSubrange(reported..., with: found)
        }
    }

    private mutating func lintSmall(_ small: ViewTemplate, at path: String) {
        lintTextSizes(small, at: path)
        // Buttons of different states are not there together.
        if case .buttons(let keys)? = small.part(named: "buttons") {
            let count = keys.count { $0.when.isEmpty }
            if count > Limit.textButtons {
                return warn(
                    Self.join(path, "buttons"), "\(count) buttons do not fit side by side on a watch",
                    advice: "show at most \(Limit.textButtons)")
            }
        }
        let symbols = Self.symbolCount(small)
        if symbols > Limit.symbols {
            warn(
                path, "\(symbols) symbols and buttons do not fit into the small family",
                advice: "show at most \(Limit.symbols)")
        }
    }

    /// Checks a view on which nothing can be tapped.
    private mutating func lintInactive(_ view: ViewTemplate, letters: Int, at path: String) {
        lintTextSizes(view, at: path)
        if case .buttons? = view.part(named: "buttons") {
            warn(
                Self.join(path, "buttons"), "a compact or minimal view has no buttons that can be tapped",
                advice: "put them into \"lockScreen\" or \"expanded\"")
        }
        for (name, part) in view.parts where ["text", "title", "subtitle"].contains(name) {
            guard case .text(let template) = part else { continue }
            // Only the literal text is counted, because a rendered value may be short. A default view is not the
            // author's and was reported as missing already.
            guard templates.contains(where: { $0.path == Self.join(path, name) }) else { continue }
            let count = template.parts.reduce(0) { count, part in
                if case .literal(let text) = part { count + text.reduce(0) { $0 + $1.displayWidth } } else { count }
            }
            if count > letters {
                warn(
                    Self.join(path, name), "it is as wide as \(count) letters, which do not fit at 11 pt",
                    advice: "write at most \(letters) (one of Korean, Chinese or Japanese is two), or show a symbol")
            }
        }
    }

    mutating func lintTextSizes(_ view: ViewTemplate, at path: String) {
        for (name, part) in view.parts {
            switch part {
            case .region(let region): lintTextSizes(region, at: Self.join(path, name))
            case .other(let json): lintTextSize(json, name: name, at: Self.join(path, name))
            case .text, .timer, .progress, .buttons: break
            }
        }
    }

    private mutating func lintTextSize(_ json: FilledJSON, name: String, at path: String) {
        switch json {
        case .literal(let value):
            guard ["size", "fontSize", "textSize"].contains(name), let size = value.double, size < Limit.textSize else {
                return
            }
            warn(path, "text of \(value) pt cannot be read", advice: "the smallest text is 11 pt")
        case .object(let members):
            for (name, value) in members { lintTextSize(value, name: name, at: Self.join(path, name)) }
        case .array(let elements):
            for (index, value) in elements.enumerated() { lintTextSize(value, name: name, at: "\(path)[\(index)]") }
        case .text: break
        }
    }

    private static func symbolCount(_ view: ViewTemplate) -> Int {
        view.parts.reduce(0) { count, member in
            switch member.part {
            case .buttons(let buttons): count + buttons.count { $0.when.isEmpty }
            case .text: count + (member.name == "symbol" ? 1 : 0)
            case .other(let json): count + symbolCount(json, name: member.name)
            case .region(let region): count + symbolCount(region)
            case .timer, .progress: count
            }
        }
    }

    private static func symbolCount(_ json: FilledJSON, name: String) -> Int {
        switch json {
        case .literal(.string), .text: name == "symbol" || name == "symbols" ? 1 : 0
        case .literal: 0
        case .array(let elements): elements.reduce(0) { $0 + symbolCount($1, name: name) }
        case .object(let members): members.reduce(0) { $0 + symbolCount($1.value, name: $1.name) }
        }
    }
}
