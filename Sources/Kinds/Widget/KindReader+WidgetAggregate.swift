internal import TelltaleModel
internal import TelltaleStatechart

// The source `over`: values over many activities.
extension KindReader {
    static let aggregateNames = ["over", "by", "where", "values"]

    mutating func over(
        _ source: JSONObject, parameters: [WidgetParameter], isForAll: Bool
    ) -> WidgetKind.Source? {
        guard let kind = requiredString(source, "over", at: "source", example: "coffee-order") else { return nil }
        guard Key.isSegment(kind.utf8) else {
            error("source.over", "\(quoted(kind)) is no kind's name", advice: "name a kind of type \"activity\"")
            return nil
        }
        let groups = groups(source, parameters: parameters)
        var condition: Guard?
        if let text = string(source, "where", at: "source") { condition = self.condition(text, at: "source.where") }
        guard let values = values(source, isForAll: isForAll) else { return nil }
        return .over(
            WidgetAggregate(kind: kind, groups: groups, condition: condition, values: values, isForAll: isForAll))
    }

    /// A guard that selects activities.
    mutating func condition(_ text: String, at path: String) -> Guard? {
        do throws(GuardSyntaxError) {
            let condition = try Guard(text, knowsLifecycle: true)
            if let read = condition.paths.first(where: { $0.root == .event }) {
                error(
                    path, "\(read) has no value outside a machine",
                    advice: "read content.…, attributes.…, state or lifecycle")
            }
            return condition
        } catch {
            self.error(
                path, "the guard \(quoted(text)) does not parse at byte \(error.offset): \(error.expected) is expected",
                advice: "write for example \"lifecycle != \\\"ended\\\"\"")
            return nil
        }
    }

    private mutating func groups(
        _ source: JSONObject, parameters: [WidgetParameter]
    ) -> [(parameter: String, path: ValuePath)] {
        var groups: [(parameter: String, path: ValuePath)] = []
        if let json = source["by"] {
            guard let object = json.object else {
                wrongType(json, at: "source.by", expected: "an object of paths by the names of parameters")
                return []
            }
            for member in object {
                let path = Self.join("source.by", member.name)
                if !parameters.contains(where: { $0.name == member.name && $0.type == .text }) {
                    error(
                        path, "there is no parameter \(quoted(member.name)) of type text",
                        advice: "add it to \"parameters\", or take this out")
                }
                if let read = valuePath(member.value, at: path) { groups.append((member.name, read)) }
            }
        }
        for parameter in parameters where source["by"]?[parameter.name] == nil {
            error(
                Self.join("parameters", parameter.name), "nothing says which activities belong to a value of it",
                advice: "add it to \"by\", or take it out")
        }
        return groups
    }

    private mutating func valuePath(_ json: JSON, at place: String) -> ValuePath? {
        guard let text = json.string, let path = ValuePath(text), path.root != .event, !path.names.isEmpty else {
            error(place, "it is no path", advice: "write content.NAME or attributes.NAME")
            return nil
        }
        return path
    }

    private mutating func values(_ source: JSONObject, isForAll: Bool) -> [WidgetAggregate.Value]? {
        guard let object = source["values"]?.object, !object.isEmpty else {
            missing("values", at: "source", example: "{\"open\": \"count\"}")
            return nil
        }
        if object.count > WidgetAggregate.valueLimit {
            error(
                "source.values", "there are \(object.count), \(WidgetAggregate.valueLimit) are the limit",
                advice: "take some out, or make two kinds")
        }
        return object.compactMap { member in
            let path = Self.join("source.values", member.name)
            guard let measure = measure(member.value, at: path) else { return nil }
            if case .tally = measure, !isForAll {
                error(
                    path, "a tally is the same for every account",
                    advice: "write \"audience\": \"all\", or take it out")
            }
            if case .first = measure, isForAll {
                warn(
                    path, "every account is shown single activities, whoever they are for",
                    advice: "write \"audience\": \"own\", or make sure that nothing in them is private")
            }
            return WidgetAggregate.Value(name: member.name, measure: measure)
        }
    }

    private mutating func measure(_ json: JSON, at path: String) -> WidgetAggregate.Measure? {
        if json == "count" { return .count(nil) }
        let measures = ["count", "sum", "least", "most", "tally", "first"]
        guard let object = json.object, let name = measures.first(where: { object[$0] != nil }),
            let value = object[name]
        else {
            error(
                path, "it is no value of many activities",
                advice: "write \"count\", or an object with one of \(measures.joined(separator: ", "))")
            return nil
        }
        let names =
            switch name {
            case "tally": ["tally", "on", "per", "zone"]
            case "first": ["first", "by", "show"]
            default: [name]
            }
        guard let object = self.object(json, at: path, knows: names) else { return nil }
        let place = Self.join(path, name)
        switch name {
        case "count": return string(object, "count", at: path).flatMap { condition($0, at: place) }.map { .count($0) }
        case "sum": return valuePath(value, at: place).map { .sum($0) }
        case "least": return valuePath(value, at: place).map { .least($0) }
        case "most": return valuePath(value, at: place).map { .most($0) }
        case "tally": return tally(object, value, at: path)
        default: return list(object, value, at: path)
        }
    }

    private mutating func tally(_ object: JSONObject, _ value: JSON, at path: String) -> WidgetAggregate.Measure? {
        let amount = value == "count" ? nil : valuePath(value, at: Self.join(path, "tally"))
        let period = choice(object, "per", at: path, WidgetAggregate.Period.self)
        if object["per"] == nil { missing("per", at: path, example: "\"day\"") }
        var offset: Int64 = 0
        if let zone = string(object, "zone", at: path) {
            if let minutes = DateText.zoneOffset(zone.utf8) {
                offset = minutes
            } else {
                error(
                    Self.join(path, "zone"), "\(quoted(zone)) is no offset from UTC",
                    advice: "write \"+09:00\", or \"Z\"")
            }
        }
        guard let state = requiredString(object, "on", at: path, example: "collected"), let period else { return nil }
        guard value == "count" || amount != nil else { return nil }
        return .tally(WidgetAggregate.Tally(amount: amount, state: state, period: period, offset: offset))
    }

    private mutating func list(_ object: JSONObject, _ value: JSON, at path: String) -> WidgetAggregate.Measure? {
        guard let limit = value.integer, (1...Int64(WidgetAggregate.listLimit)).contains(limit) else {
            error(
                Self.join(path, "first"), "it is no number of entries",
                advice: "write 1 to \(WidgetAggregate.listLimit)")
            return nil
        }
        var order: ValuePath?
        if let by = object["by"], by != "startedAt" {
            order = valuePath(by, at: Self.join(path, "by"))
            if order == nil { return nil }
        }
        guard let show = object["show"]?.object, !show.isEmpty else {
            missing("show", at: path, example: "{\"item\": \"attributes.item\"}")
            return nil
        }
        let place = Self.join(path, "show")
        var shown: [(name: String, template: Template)] = []
        for member in show {
            guard let text = member.value.string, let template = try? Template("{{\(text)}}") else {
                error(
                    Self.join(place, member.name), "it is no path",
                    advice: "write attributes.NAME, content.NAME, state.title, progress or id")
                continue
            }
            shown.append((member.name, template))
        }
        return .first(WidgetAggregate.List(limit: Int(limit), order: order, show: shown))
    }
}
