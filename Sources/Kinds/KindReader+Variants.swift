internal import TelltaleModel
internal import TelltaleStatechart

/// Reads `variants` and `when`, of views of activities and widgets alike.
extension KindReader {
    private static let variantLimit = 16

    /// Takes the variants out of a view.
    mutating func variantTexts(_ view: inout JSONObject, at path: String) -> [JSON] {
        let variants = array(view, "variants", at: path, of: "variants") ?? []
        view["variants"] = nil
        if variants.count > Self.variantLimit {
            refuse(
                Self.join(path, "variants"), "there are \(variants.count), \(Self.variantLimit) are the limit",
                advice: "take some out: the first that fits is shown")
        }
        return variants
    }

    /// Reads one variant of a view: `when` it is drawn, and the view patched by its `set`.
    ///
    /// - Parameter read: Reads the patched view at a path.
    /// - Returns: And the names of the parts that the variant itself names.
    mutating func variant<View>(
        _ json: JSON, of view: JSONObject, at path: String, _ read: (inout KindReader, JSONObject, String) -> View
    ) -> (when: ViewCondition, view: View, ownParts: Set<String>)? {
        guard let object = object(json, at: path, knows: ["when", "set"]) else { return nil }
        for name in ["when", "set"] where object[name] == nil { missing(name, at: path, example: "{…}") }
        guard let when = object["when"], let set = object["set"] else { return nil }
        let condition = viewCondition(when, at: Self.join(path, "when"))
        guard let patch = set.object else {
            wrongType(set, at: Self.join(path, "set"), expected: "an object of parts, null for one that goes")
            return nil
        }
        if patch["variants"] != nil {
            error(
                Self.join(path, "set.variants"), "a variant has no variants of its own",
                advice: "write another variant before this one")
        }
        // Faults of the view's own parts are reported for the view.
        let (reported, known) = (diagnostics.count, templates.count)
        var own = patch
        own["variants"] = nil
        guard let merged = JSON.object(view).merging(.object(own)).object else { return nil }
        let patched = read(&self, merged, Self.join(path, "set"))
        let names = Set(patch.map(\.name))
        let prefix = Self.join(path, "set") + "."
        func isInherited(_ place: String) -> Bool {
            guard place.hasPrefix(prefix) else { return false }
            return !names.contains(String(place.dropFirst(prefix.count).prefix { $0 != "." && $0 != "[" }))
        }
        let (faults, texts) = (diagnostics[reported...], templates[known...])
        diagnostics.replaceSubrange(reported..., with: faults.filter { !isInherited($0.path) })
        templates.replaceSubrange(known..., with: texts.filter { !isInherited($0.path) })
        return (condition, patched, names)
    }

    private mutating func viewCondition(_ json: JSON, at path: String) -> ViewCondition {
        let names = ViewCondition.values.map(\.name)
        guard let object = object(json, at: path, knows: StateCondition.names + names) else { return ViewCondition() }
        if object.isEmpty {
            error(path, "it holds always", advice: "name a circumstance, as \"mode\": \"vibrant\", or change the view")
        }
        var condition = ViewCondition()
        for member in object {
            guard let known = ViewCondition.values.first(where: { $0.name == member.name }) else { continue }
            let place = Self.join(path, member.name)
            // Several surfaces may fit, and one value of each other circumstance.
            let values = member.name == "surface" ? texts(member.value, at: place) : [member.value.string]
            let valid = values.compactMap { $0.flatMap { known.values.contains($0) ? $0 : nil } }
            guard !values.isEmpty, valid.count == values.count else {
                error(
                    place, "\(member.value) is not a value of \(quoted(member.name))",
                    advice: "write \(known.values.map { quoted($0) }.joined(separator: " or "))")
                continue
            }
            condition.device.append((member.name, valid))
        }
        condition.activity = stateCondition(object, at: path)
        return condition
    }

    /// Reads `state`, `guard` and `unless`.
    private mutating func stateCondition(_ object: JSONObject, at path: String) -> StateCondition {
        var condition = StateCondition()
        if StateCondition.names.contains(where: { object[$0] != nil }), !viewsHaveStates {
            error(
                path, "it asks for the state of an activity, and its content comes from elsewhere",
                advice:
                    "ask for circumstances of the device, or show an activity by a \"source\" with \"one\" or \"each\"")
        }
        if let json = object["state"] {
            let place = Self.join(path, "state")
            let names = texts(json, at: place).compactMap(\.self)
            if names.isEmpty {
                error(place, "\(json) names no state", advice: "write a state's key or path, or an array of them")
            }
            for name in names { namedStates.append((name, place)) }
            condition.states = names
        }
        condition.condition = viewGuard(object, "guard", at: path)
        condition.exception = viewGuard(object, "unless", at: path)
        return condition
    }

    private mutating func viewGuard(_ object: JSONObject, _ name: String, at path: String) -> Guard? {
        guard let text = string(object, name, at: path) else { return nil }
        let place = Self.join(path, name)
        checkLength(of: text, limit: Self.templateLimit, at: place)
        do throws(GuardSyntaxError) {
            let condition = try Guard(text, knowsLifecycle: true)
            if condition.paths.contains(where: { $0.root == .event }) {
                error(
                    place, "a view is drawn without an event",
                    advice: "read content.…, attributes.…, state or lifecycle")
            }
            for name in condition.stateNames { namedStates.append((name, place)) }
            return condition
        } catch {
            self.error(
                place,
                "the guard \(quoted(text)) does not parse at byte \(error.offset): \(error.expected) is expected",
                advice: "write for example \"content.cups > 1\"")
            return nil
        }
    }

    /// A text, or an array of texts; `nil` for each that is none.
    private func texts(_ json: JSON, at path: String) -> [String?] {
        json.array.map { $0.map(\.string) } ?? [json.string]
    }

    /// Reads the `when` of a button (E4).
    mutating func buttonCondition(_ object: JSONObject, at path: String) -> StateCondition {
        guard let json = object["when"] else { return StateCondition() }
        let place = Self.join(path, "when")
        guard let when = json.object else {
            wrongType(json, at: place, expected: "an object of \"state\", \"guard\" and \"unless\"")
            return StateCondition()
        }
        for member in when where ViewCondition.values.contains(where: { $0.name == member.name }) {
            error(
                Self.join(place, member.name),
                "\(quoted(member.name)) is of the device: a button's \"when\" takes \"state\", \"guard\" and \"unless\"",
                advice: "show other buttons in a variant of the view")
        }
        var plain = when
        for (name, _) in ViewCondition.values { plain[name] = nil }
        if self.object(.object(plain), at: place, knows: StateCondition.names)?.isEmpty == true,
            plain.count == when.count
        {
            error(place, "it holds always", advice: "name a state, as \"state\": \"ready\", or take it out")
        }
        return stateCondition(plain, at: place)
    }

    // MARK: Lint

    /// Reports states that the machine does not have.
    mutating func lintNamedStates(among known: Set<String>) {
        for (name, place) in namedStates where !known.contains(name) {
            error(
                place, "there is no state \(quoted(name))",
                advice: Spelling.nearest(to: name, among: known.sorted()).map { "did you mean \(quoted($0))?" }
                    ?? "name a state of the machine, by its key or its path")
        }
    }

    /// Reports variants that are never drawn, because an earlier one fits wherever they would.
    mutating func lintVariants(of views: ActivityViews, _ statechart: Statechart) {
        let named: [(String, ActivityView?)] = [
            ("compact", views.compact), ("minimal", views.minimal), ("lockScreen", views.lockScreen),
            ("expanded", views.expanded), ("small", views.small),
        ]
        for (name, view) in named {
            let variants = view?.variants ?? []
            for (index, variant) in variants.enumerated() {
                guard
                    let earlier = variants[..<index].firstIndex(where: {
                        $0.when.fits(wherever: variant.when, statechart)
                    })
                else { continue }
                warn(
                    "views.\(name).variants[\(index)]",
                    "variants[\(index)] never fits: variants[\(earlier)] fits wherever it would",
                    advice: "write it before variants[\(earlier)], or take it out")
            }
        }
    }
}

extension ViewCondition {
    /// Whether this one certainly holds where `other` does.
    fileprivate func fits(wherever other: ViewCondition, _ statechart: Statechart) -> Bool {
        let isDevice = device.allSatisfy { member in
            other.device.contains { $0.name == member.name && Set($0.values).isSubset(of: member.values) }
        }
        return isDevice && activity.fits(wherever: other.activity, statechart)
    }
}

extension StateCondition {
    fileprivate func fits(wherever other: StateCondition, _ statechart: Statechart) -> Bool {
        guard condition == nil || condition == other.condition, exception == nil || exception == other.exception else {
            return false
        }
        if states.isEmpty { return true }
        return !other.states.isEmpty && other.states.allSatisfy { isActive(whenever: $0, statechart) }
    }

    /// Whether a state of these is active whenever one of this name is: it is that state, or one around it.
    private func isActive(whenever name: String, _ statechart: Statechart) -> Bool {
        let named = statechart.states.indices.filter {
            statechart.states[$0].key == name || statechart.states[$0].path == name
        }
        return named.allSatisfy { index in
            var place: Int? = index
            while let current = place {
                let state = statechart.states[current]
                if states.contains(state.key) || states.contains(state.path) { return true }
                place = state.parent?.rawValue
            }
            return false
        }
    }
}
