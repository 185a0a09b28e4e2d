internal import TelltaleModel
internal import TelltaleStatechart

// The views of a kind of widget.
extension KindReader {
    private static let layoutNames = [
        "list", "image", "background", "animation", "links", "accent", "private", "invalidates", "variants",
    ]
    /// The largest numbers of buttons side by side in a watch's families, by what they show (W90).
    private static let rowLimit = (symbols: 3, texts: 2)

    mutating func widgetViews(
        _ object: JSONObject, families: [WidgetFamily]?, neverPlaces: Set<WidgetPlace>
    ) -> [WidgetFamily: WidgetView]? {
        guard let json = object["views"] else {
            missing("views", at: "", example: "{\"systemSmall\": {\"title\": …}}")
            return nil
        }
        guard let all = json.object else {
            wrongType(json, at: "views", expected: "an object of views by their families")
            return nil
        }
        var views: [WidgetFamily: WidgetView] = [:]
        for member in all {
            let path = Self.join("views", member.name)
            guard let family = word(member.name, WidgetFamily.self, at: path, what: "a widget's family") else {
                continue
            }
            let before = templates.count
            bounded(member.value, at: path) { reader in
                views[family] = reader.widgetView(member.value, of: family, at: path, neverPlaces: neverPlaces)
            }
            if let families, !families.contains(family) {
                warn(
                    path, "it is never shown: the family is not declared",
                    advice: "add \(quoted(family.rawValue)) to \"families\"")
            }
            let isFilled = templates[before...].contains { !$0.template.parts.allSatisfy(\.isLiteral) }
            if views[family] != nil, !isFilled {
                warn(path, "no text of it is a template: it never changes", advice: "show what the content says")
            }
        }
        for (index, family) in (families ?? []).enumerated() where all[family.rawValue] == nil {
            error(
                "families[\(index)]", "the family is declared, and there is no \(family.rawValue) view",
                advice: "add \(quoted(family.rawValue)) to \"views\", or take it out here")
        }
        lintEqualViews(all)
        return views
    }

    /// W95: a larger family with the same view wastes its room.
    private mutating func lintEqualViews(_ views: JSONObject) {
        // The larger family is the one that has more room to fill.
        let members = WidgetFamily.allCases.compactMap { family in
            views[family.rawValue].map { (name: family.rawValue, value: $0) }
        }
        for (index, member) in members.enumerated() {
            guard let other = members[..<index].first(where: { $0.value == member.value }) else { continue }
            warn(
                Self.join("views", member.name), "it is the same as \(quoted(other.name))",
                advice: "show more in the larger family, or take one out")
        }
    }

    private mutating func widgetView(
        _ json: JSON, of family: WidgetFamily, at path: String, neverPlaces: Set<WidgetPlace>
    ) -> WidgetView? {
        guard var object = json.object else {
            wrongType(json, at: path, expected: "an object of a view's parts")
            return nil
        }
        let variants = variantTexts(&object, at: path)
        let base = layout(object, of: family, at: path, neverPlaces: neverPlaces)
        let view = WidgetView(
            base: base,
            variants: variants.enumerated().compactMap { index, json in
                let place = "\(Self.join(path, "variants"))[\(index)]"
                return variant(json, of: object, at: place) { reader, merged, path in
                    let layout = reader.layout(merged, of: family, at: path, neverPlaces: neverPlaces)
                    reader.refuseUnknown(privateParts: layout.isPrivate, among: layout.partNames, at: path)
                    return layout
                }.map { WidgetView.Variant(when: $0.when, layout: $0.view, ownParts: $0.ownParts) }
            })
        refuseUnknown(privateParts: base.isPrivate, among: view.layouts.flatMap(\.partNames), at: path)
        return view
    }

    private mutating func layout(
        _ object: JSONObject, of family: WidgetFamily, at path: String, neverPlaces: Set<WidgetPlace>
    ) -> WidgetLayout {
        var plain = object
        for name in Self.layoutNames { plain[name] = nil }
        var layout = WidgetLayout()
        layout.parts = view(.object(plain), at: path)
        layout.list = template(object, "list", at: path)
        layout.image = image(object, at: path)
        if let json = object["background"] {
            if json.object == nil { wrongType(json, at: Self.join(path, "background"), expected: "an object") }
            layout.background = filled(json, at: Self.join(path, "background"))
        }
        if let json = object["animation"] {
            let seconds = json.double.flatMap { (0...60).contains($0) ? $0 : nil }
            if seconds == nil {
                error(
                    Self.join(path, "animation"), "it is to be seconds from 0 to 60",
                    advice: "write a number; 2 is the longest that is shown")
            }
            layout.animation = seconds
        }
        if let json = object["links"] {
            let place = Self.join(path, "links")
            if let links = json.object {
                layout.links = links.compactMap { member -> (part: String, link: Template)? in
                    link(member.value, at: Self.join(place, member.name)).map { (member.name, $0) }
                }
            } else {
                wrongType(json, at: place, expected: "an object of links by their parts")
            }
        }
        layout.accent = strings(object, "accent", at: path, of: "parts") ?? []
        layout.isPrivate = strings(object, "private", at: path, of: "parts") ?? []
        layout.invalidates = strings(object, "invalidates", at: path, of: "parts") ?? []
        lint(layout, object, of: family, at: path, neverPlaces: neverPlaces)
        return layout
    }

    private mutating func image(_ object: JSONObject, at path: String) -> WidgetLayout.ImageTemplate? {
        guard let json = object["image"] else { return nil }
        let place = Self.join(path, "image")
        guard let image = self.object(json, at: place, knows: ["name", "accented", "ratio"]) else { return nil }
        guard image["name"] != nil else {
            missing("name", at: place, example: "\"cup\"")
            return nil
        }
        guard let name = template(image, "name", at: place) else { return nil }
        var accent: ImageAccent?
        if let text = string(image, "accented", at: place) {
            accent = word(text, ImageAccent.self, at: Self.join(place, "accented"), what: "an image's option")
        }
        var ratio: Double?
        if let json = image["ratio"] {
            ratio = json.double.flatMap { $0 > 0 && $0 <= 100 ? $0 : nil }
            if ratio == nil {
                error(Self.join(place, "ratio"), "it is to be width divided by height", advice: "write 1.5 for 3 by 2")
            }
        }
        return WidgetLayout.ImageTemplate(name: name, accent: accent, ratio: ratio)
    }

    /// A part's link: a text that begins with a scheme.
    private mutating func link(_ json: JSON, at path: String) -> Template? {
        guard let text = json.string else {
            wrongType(json, at: path, expected: "a link, as \"https://example.com/{{id}}\"")
            return nil
        }
        guard let link = template(text, at: path) else { return nil }
        guard Self.hasScheme(link) else {
            error(
                path, "\(quoted(text)) does not begin with a scheme",
                advice: "write it out, as tel: or https: (no event may choose it)")
            return nil
        }
        return link
    }

    // MARK: Lint

    private mutating func lint(
        _ layout: WidgetLayout, _ object: JSONObject, of family: WidgetFamily, at path: String,
        neverPlaces: Set<WidgetPlace>
    ) {
        lintTextSizes(layout.parts, at: path)
        let parts = layout.partNames
        for (name, members) in [("accent", layout.accent), ("invalidates", layout.invalidates)] {
            for (index, part) in members.enumerated() where !parts.contains(part) {
                lintUnknown(part: part, among: parts, at: "\(Self.join(path, name))[\(index)]")
            }
        }
        for (part, _) in layout.links where !parts.contains(part) {
            lintUnknown(part: part, among: parts, at: Self.join(Self.join(path, "links"), part))
        }
        if family.isAccessory, !layout.links.isEmpty {
            warn(
                Self.join(path, "links"), "an accessory has one target: its parts have no links",
                advice: "give the kind a \"url\", and take these out")
        }
        if case .buttons(let buttons)? = layout.parts.part(named: "buttons") {
            lint(buttons, of: family, at: Self.join(path, "buttons"), neverPlaces: neverPlaces)
        }
    }

    private mutating func lintUnknown(part: String, among parts: [String], at path: String) {
        warn(path, "the view has no part \(quoted(part))", advice: Self.advice(onUnknown: part, among: parts))
    }

    private mutating func lint(
        _ buttons: [ButtonTemplate], of family: WidgetFamily, at path: String, neverPlaces: Set<WidgetPlace>
    ) {
        // A control's button shows its title.
        let texts = buttons.count { button in
            if case .link(let link) = button.action { link.title != nil } else { true }
        }
        if family.isAccessory, texts > Self.rowLimit.texts {
            warn(
                path, "\(texts) buttons with texts do not fit side by side on a watch",
                advice: "show at most \(Self.rowLimit.texts)")
        } else if family.isAccessory, buttons.count > Self.rowLimit.symbols {
            warn(
                path, "\(buttons.count) buttons do not fit side by side on a watch",
                advice: "show at most \(Self.rowLimit.symbols)")
        }
        if let limit = family.visionButtonLimit, buttons.count > limit,
            !neverPlaces.isSuperset(of: [.horizontal, .vertical])
        {
            warn(
                path, "\(buttons.count) buttons are closer than 60 pt to each other on visionOS",
                advice: "show at most \(limit), or add \"horizontal\" and \"vertical\" to \"places\".\"never\"")
        }
    }
}
