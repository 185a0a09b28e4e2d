internal import TelltaleModel
internal import TelltaleStatechart

// Warnings that depend on the other kinds of the folder.
extension KindSet {
    /// - Parameters:
    ///   - all: Every kind of the folder.
    ///   - isWhole: Whether the folder was read without a fault, so that an absent kind does not exist.
    static func lintAcross(_ kind: Kind, file: String, all: [Kind], isWhole: Bool) -> [Diagnostic] {
        switch kind.body {
        case .activity: lintControls(of: kind, file: file, all: all, isWhole: isWhole)
        case .widget(let widget):
            lintControls(of: kind, file: file, all: all, isWhole: isWhole)
                + lintSource(of: widget, file: file, all: all, isWhole: isWhole)
        case .button(let button): button.raises.map { lint($0, file: file, all: all, isWhole: isWhole) } ?? []
        case .toggle: []
        }
    }

    /// W92: the kind of the activities that a widget shows must exist.
    private static func lintSource(of widget: WidgetKind, file: String, all: [Kind], isWhole: Bool) -> [Diagnostic] {
        guard let name = widget.activityKind else { return [] }
        let path = "source.\(widget.source.name)"
        guard let target = all.first(where: { $0.name == name }) else {
            guard isWhole else { return [] }
            return [
                Diagnostic(
                    .error, file: file, path: path, "no file here defines \(quoted(name))",
                    advice: "add its file, or correct the name")
            ]
        }
        guard case .activity(let activity) = target.body else {
            return [
                Diagnostic(
                    .error, file: file, path: path, "\(quoted(name)) is no live activity",
                    advice: "name a kind of type \"activity\"")
            ]
        }
        if let aggregate = widget.aggregate {
            return lint(aggregate, of: activity, named: name, file: file) + lintBounds(of: widget, file: file, all: all)
        }
        let unknown =
            (widget.condition?.stateNames ?? []).first { !activity.hasState(named: $0) }
            .map { [(name: $0, path: "source.where")] } ?? []
        return (unknown + widget.namedStates.filter { !activity.hasState(named: $0.name) }).map { state in
            Diagnostic(
                .error, file: file, path: state.path, "\(quoted(name)) has no state \(quoted(state.name))",
                advice: "name a state of its machine, by its key or its path")
        }
    }

    /// The states in the guards and tallies of an aggregate must exist in the activities' machine.
    private static func lint(
        _ aggregate: WidgetAggregate, of activity: ActivityKind, named name: String, file: String
    ) -> [Diagnostic] {
        var named = (aggregate.condition?.stateNames ?? []).map { (state: $0, path: "source.where") }
        for value in aggregate.values {
            let path = KindReader.join("source.values", value.name)
            switch value.measure {
            case .count(let condition): named += (condition?.stateNames ?? []).map { ($0, "\(path).count") }
            case .tally(let tally): named.append((tally.state, "\(path).on"))
            case .sum, .least, .most, .first: break
            }
        }
        return named.filter { !activity.hasState(named: $0.state) }.map { state, path in
            Diagnostic(
                .error, file: file, path: path, "\(quoted(name)) has no state \(quoted(state))",
                advice: "name a state of its machine, by its key or its path")
        }
    }

    /// The most aggregates over one kind of activity, and over all kinds together.
    static let aggregateLimit = (ofOneKind: 16, together: 64)

    private static func lintBounds(of widget: WidgetKind, file: String, all: [Kind]) -> [Diagnostic] {
        let kinds = all.compactMap { kind -> String? in
            if case .widget(let widget) = kind.body { widget.aggregate?.kind } else { nil }
        }
        let count = kinds.count { $0 == widget.activityKind }
        guard count > aggregateLimit.ofOneKind || kinds.count > aggregateLimit.together else { return [] }
        return [
            Diagnostic(
                .error, file: file, path: "source.over",
                "\(count) kinds are over \(quoted(widget.activityKind ?? "")), and \(kinds.count) over any kind",
                advice:
                    "have \(aggregateLimit.ofOneKind) over one kind, and \(aggregateLimit.together) together, at most")
        ]
    }

    /// Every control in a view must be of a kind of control.
    private static func lintControls(of kind: Kind, file: String, all: [Kind], isWhole: Bool) -> [Diagnostic] {
        var places: [(path: String, key: String, button: JSON)] = []
        appendControls(in: kind.source["views"] ?? .null, at: "views", to: &places)
        return places.compactMap { place in
            // A kind that is read from the content is unknown before there is content.
            guard let slash = place.key.firstIndex(of: "/"), !place.key[..<slash].contains("{{") else { return nil }
            let name = place.key[..<slash]
            guard let target = all.first(where: { $0.name == name }) else {
                guard isWhole else { return nil }
                return Diagnostic(
                    .warning, file: file, path: place.path,
                    "no file here defines \(quoted(String(name))): the room of this control stays empty",
                    advice: "add its file, or correct the name")
            }
            let what: String
            switch target.body {
            case .activity: what = "a live activity"
            case .widget: what = "a widget"
            case .toggle: return nil
            case .button(let button):
                guard place.key == "\(name)/{{id}}" else { return nil }
                return button.raises.flatMap {
                    lintUnhandled(
                        place.button, at: place.path, raising: $0, by: String(name), in: kind, file: file)
                }
            }
            return Diagnostic(
                .warning, file: file, path: place.path, "\(quoted(String(name))) is \(what), and no control",
                advice: "name a kind of type \"toggle\" or \"button\"")
        }
    }

    private static func appendControls(
        in json: JSON, at path: String, to places: inout [(path: String, key: String, button: JSON)]
    ) {
        guard case .object(let object) = json else { return }
        for member in object {
            let place = KindReader.join(path, member.name)
            if member.name == "variants", let variants = member.value.array {
                for (index, variant) in variants.enumerated() {
                    appendControls(in: variant["set"] ?? .null, at: "\(place)[\(index)].set", to: &places)
                }
                continue
            }
            guard member.name == "buttons", let buttons = member.value.array else {
                appendControls(in: member.value, at: place, to: &places)
                continue
            }
            for (index, button) in buttons.enumerated() {
                if let key = button.string { places.append(("\(place)[\(index)]", key, button)) }
                if let key = button["control"]?.string {
                    places.append(("\(place)[\(index)].control", key, button))
                }
            }
        }
    }

    private static func lint(
        _ raises: ButtonKind.Raises, file: String, all: [Kind], isWhole: Bool
    ) -> [Diagnostic] {
        guard let target = all.first(where: { $0.name == raises.kind }) else {
            guard isWhole else { return [] }
            return [
                Diagnostic(
                    .warning, file: file, path: "raises.kind",
                    "no file here defines \(quoted(raises.kind)): no press will raise anything",
                    advice: "add its file, or correct the name")
            ]
        }
        guard case .activity(let activity) = target.body else {
            return [
                Diagnostic(
                    .warning, file: file, path: "raises.kind", "\(quoted(raises.kind)) is not an activity",
                    advice: "name a kind of type \"activity\"")
            ]
        }
        let event = activity.accept[raises.event] ?? raises.event
        guard !EventName.lifecycle.contains(event), !activity.handles(event) else { return [] }
        return [
            Diagnostic(
                .warning, file: file, path: "raises.event", "\(quoted(raises.kind)) does not handle \(quoted(event))",
                advice: "name an event of its machine")
        ]
    }
}
