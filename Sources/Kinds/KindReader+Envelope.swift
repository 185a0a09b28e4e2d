internal import TelltaleModel
internal import TelltaleStatechart

extension KindReader {
    private enum KindType: String, CaseIterable { case activity, toggle, button, widget }

    private static let envelopeNames = ["$schema", "kind", "type", "version", "app", "title"]
    private static let activityNames = [
        "symbol", "supplementalFamilies", "accept", "startsOn", "stale", "dismiss", "maxActive", "maxLinger",
        "attributes", "content", "machine", "views", "url", "privacySensitive",
    ]

    /// Reads the whole file; `nil` if there is an error.
    mutating func kind(_ source: JSON) -> Kind? {
        guard source.object != nil else {
            wrongType(source, at: "", expected: "one object")
            return nil
        }
        let type: KindType?
        if source["type"] == nil {
            missing("type", at: "", example: "\"activity\"")
            type = nil
        } else {
            type = choice(source.object ?? JSONObject(), "type", at: "", KindType.self)
        }
        let own =
            switch type {
            case .activity: Self.activityNames
            case .toggle: Self.toggleNames
            case .button: Self.buttonNames
            // An alert is refused with a specific reason.
            case .widget: Self.widgetNames + ["alert"]
            // Without a type the set of valid members is unknown, so no other member is reported.
            case nil: (source.object ?? JSONObject()).map(\.name)
            }
        guard let object = object(source, at: "", knows: Self.envelopeNames + own) else { return nil }

        let name = requiredString(object, "kind", at: "", example: "coffee-order")
        if let name, !Key.isSegment(name.utf8) {
            error("kind", "\(quoted(name)) is not a kind's name", advice: "use 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
        } else if name?.utf8.first == UInt8(ascii: "@") {
            refuse("kind", "a name that begins with @ is kept for boards of widgets", advice: "begin it with a letter")
        }
        if object["version"] == nil { missing("version", at: "", example: "1") }
        let version = integer(object, "version", at: "")
        if let version, version < 1 {
            error("version", "version \(version)", advice: "count versions from 1")
        }
        let app = requiredString(object, "app", at: "", example: "com.example.coffee")
        if let app { lint(app: app) }
        let title = text(object, "title", at: "") ?? name ?? ""
        _ = string(object, "$schema", at: "")

        let body: Kind.Body?
        switch type {
        case .activity: body = activity(object, title: title).map { .activity($0) }
        case .toggle: body = .toggle(toggle(object))
        case .button: body = .button(button(object))
        case .widget: body = widget(object).map { .widget($0) }
        case nil: body = nil
        }
        guard let name, let version, let app, let body, !diagnostics.contains(where: { $0.severity == .error }) else {
            return nil
        }
        return Kind(name: name, version: version, app: app, title: title, body: body, source: source)
    }

    /// Warns of an app name that an attribute of the protocol cannot carry: a device reports the app in front by this
    /// name (Protocols/Line/line-protocol.md §2).
    private mutating func lint(app: String) {
        checkLength(of: app, limit: Self.textLimit, at: "app")
        guard app.utf8.contains(where: { !(0x21...0x7E).contains($0) }) || app == "none" else { return }
        warn(
            "app", "no device can say that \(quoted(app)) is in front of it",
            advice:
                "use an identifier of visible ASCII, without spaces, as com.example.coffee; people read the \"title\"")
    }

    private mutating func activity(_ object: JSONObject, title: String) -> ActivityKind? {
        let declared = DeclaredNames(
            attributes: strings(object, "attributes", at: "", of: "names"),
            content: strings(object, "content", at: "", of: "names"))
        let accept = self.accept(object)
        let startsOn = (strings(object, "startsOn", at: "", of: "events' names") ?? []).enumerated()
            .compactMap { index, event in eventName(event, at: "startsOn[\(index)]") }
        let stale = duration(object, "stale", at: "")
        let maxActive = duration(object, "maxActive", at: "") ?? .hours(8)
        let maxLinger = duration(object, "maxLinger", at: "", canBeZero: true) ?? .hours(4)
        let dismiss = duration(object, "dismiss", at: "", canBeZero: true)
        let families = self.families(object)
        let url = template(object, "url", at: "")
        let isPrivacySensitive = bool(object, "privacySensitive", at: "") ?? false
        let views = self.views(
            object["views"], plain: DefaultViews(title: title, symbol: text(object, "symbol", at: "")),
            isWhole: isPrivacySensitive)

        var machine: MachineText?
        if let json = object["machine"] {
            machine = self.machine(json, at: "machine")
        } else {
            missing("machine", at: "", example: "{\"initial\": …, \"states\": {…}}")
        }
        if families.contains(.small), views.small == nil {
            error(
                "supplementalFamilies", "the small family is declared, and there is no small view",
                advice: "add \"small\" to \"views\", or take it out here")
        }
        lint(views: views, families: families)
        lint(
            templates: templates, declared: declared,
            regions: machine.map { Self.regions(in: $0.description.root) } ?? [])
        if !isPrivacySensitive { lintPrivacy() }
        guard let machine else { return nil }
        if let dismiss { lint(dismiss: dismiss, limit: maxLinger, at: "dismiss") }
        lint(machine, accept: accept, startsOn: startsOn, maxLinger: maxLinger, declared: declared)

        // Compiled even if the file has other faults, so that its author sees all faults at once.
        let (statechart, faults) = Statechart.compile(machine.description, isAdmitted: isAdmitted)
        for var fault in faults {
            fault.file = file
            diagnostics.append(fault)
        }
        guard let statechart else { return nil }
        lintNamedStates(among: Set(statechart.states.flatMap { [$0.key, $0.path] }))
        lintVariants(of: views, statechart)
        lintPaths(of: statechart)
        if stale == nil { lintDeadEnds(of: statechart, notes: machine.notes) }
        return ActivityKind(
            statechart: statechart, states: Self.traits(of: statechart, notes: machine.notes, maxLinger: maxLinger),
            accept: accept, startsOn: Set(startsOn), stale: stale,
            dismiss: min(dismiss ?? .hours(4), maxLinger), maxActive: maxActive, maxLinger: maxLinger,
            hasSmallFamily: families.contains(.small), views: views, url: url,
            isPrivacySensitive: isPrivacySensitive)
    }

    private mutating func accept(_ object: JSONObject) -> [String: String] {
        guard let json = object["accept"] else { return [:] }
        guard let renames = json.object else {
            wrongType(json, at: "accept", expected: "an object of events' new names by the names that come in")
            return [:]
        }
        var accept: [String: String] = [:]
        for rename in renames {
            let place = Self.join("accept", rename.name)
            guard eventName(rename.name, at: place) != nil else { continue }
            guard let name = rename.value.string else {
                wrongType(rename.value, at: place, expected: "an event's name")
                continue
            }
            accept[rename.name] = eventName(name, at: place)
        }
        return accept
    }

    private mutating func families(_ object: JSONObject) -> Set<SupplementalFamily> {
        var families: Set<SupplementalFamily> = []
        let names = strings(object, "supplementalFamilies", at: "", of: "families") ?? []
        for (index, name) in names.enumerated() {
            if let family = SupplementalFamily(rawValue: name) {
                families.insert(family)
            } else {
                error(
                    "supplementalFamilies[\(index)]", "\(quoted(name)) is not a supplemental family",
                    advice: "write \"small\" or \"medium\"")
            }
        }
        return families
    }

    /// By ``StateIndex``. Parents come before their children, so inherited values are already present.
    private static func traits(
        of statechart: Statechart, notes: [String: StateNotes], maxLinger: Milliseconds
    ) -> [StateTraits] {
        var traits: [StateTraits] = []
        for state in statechart.states {
            let notes = notes[state.location] ?? StateNotes()
            var own = StateTraits(title: notes.title ?? Template(literal: state.key))
            let parent = state.parent.flatMap { traits.indices.contains($0.rawValue) ? traits[$0.rawValue] : nil }
            own.progress = notes.progress ?? parent?.progress
            own.isMilestone = notes.isMilestone
            own.alert = notes.alert
            own.stale = notes.stale ?? parent?.stale
            own.dismiss = notes.dismiss.map { min($0, maxLinger) } ?? parent?.dismiss
            own.tags = notes.tags
            traits.append(own)
        }
        return traits
    }
}

/// The families besides the mandatory presentations (Protocols/Surfaces/rules.md C2). `small` is shown on the watch and
/// in CarPlay; `medium` declares that the Lock Screen view adapts to larger places.
enum SupplementalFamily: String, Hashable {
    case small, medium
}

/// The member names that `attributes` and `content` declare; `nil` if the kind does not declare them.
struct DeclaredNames {
    var attributes: [String]?
    var content: [String]?
}
