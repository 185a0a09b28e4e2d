internal import TelltaleModel
internal import TelltaleStatechart

// Where the content of a widget comes from, and what its templates may read.
extension KindReader {
    /// The members of each source, by the name of the source.
    private static let sources = [
        "schedule": ["schedule", "zone"], "each": ["each", "where"], "one": ["one"],
        "over": aggregateNames, "provider": ["provider"],
    ]

    /// `nil` for an invalid source.
    mutating func widgetSource(_ object: JSONObject, parameters: [WidgetParameter]) -> WidgetKind.Source? {
        if object["source"]?["provider"] == nil, object["timeout"] != nil {
            warn("timeout", "no provider is asked", advice: "take it out, or write \"source\": {\"provider\": true}")
        }
        guard let json = object["source"] else { return .pushed }
        guard json.object != nil else {
            wrongType(json, at: "source", expected: "an object")
            return nil
        }
        let named = Self.sources.keys.sorted().filter { json[$0] != nil }
        guard let name = named.first, let names = Self.sources[name] else {
            error(
                "source", "it names nothing that content comes from",
                advice:
                    "write \"each\", \"one\", \"over\", \"provider\" or \"schedule\", or take \"source\" out and post timelines"
            )
            return nil
        }
        guard named.count == 1 else {
            error("source", "it names \(named.joined(separator: " and "))", advice: "keep one of them")
            return nil
        }
        guard let source = self.object(json, at: "source", knows: names) else { return nil }
        if name != "schedule", name != "provider", object["stale"] != nil {
            let what = name == "over" ? "its values are kept up to date" : "it is stale when its activity is"
            warn("stale", what, advice: "take it out")
        }
        enum Audience: String, CaseIterable { case own, all }
        let audience = choice(object, "audience", at: "", Audience.self)
        if name != "over", object["audience"] != nil {
            let whose = name == "provider" ? "there is no activity that it could be of" : "it is that of the activity"
            error("audience", whose, advice: "take it out")
        }
        switch name {
        case "over":
            return over(source, parameters: parameters, isForAll: object["audience"] != nil && audience != .own)
        case "provider":
            if source["provider"] != true {
                error("source.provider", "it says nothing", advice: "write true")
            }
            return .refreshed
        case "each": return each(source, hasParameters: !parameters.isEmpty)
        case "one": return one(source, parameters: parameters)
        default: return schedule(source).map { .schedule($0) }
        }
    }

    private mutating func each(_ source: JSONObject, hasParameters: Bool) -> WidgetKind.Source? {
        guard let kind = requiredString(source, "each", at: "source", example: "coffee-order") else { return nil }
        guard Key.isSegment(kind.utf8) else {
            error("source.each", "\(quoted(kind)) is no kind's name", advice: "name a kind of type \"activity\"")
            return nil
        }
        if hasParameters {
            error(
                "parameters", "there is one widget for each activity, and nothing to choose",
                advice: "take them out, or write \"one\"")
        }
        guard let text = string(source, "where", at: "source") else { return .each(kind: kind, where: nil) }
        return condition(text, at: "source.where").map { .each(kind: kind, where: $0) }
    }

    private mutating func one(_ source: JSONObject, parameters: [WidgetParameter]) -> WidgetKind.Source? {
        guard let text = requiredString(source, "one", at: "source", example: "coffee-order/{{config.order}}") else {
            return nil
        }
        let parts = text.split(separator: "/", maxSplits: 1).map { String($0) }
        if parts.count == 2, Key.isSegment(parts[0].utf8) {
            if parameters.isEmpty, Key.isSegment(parts[1].utf8) { return .one(kind: parts[0], id: parts[1]) }
            if parameters.count == 1, parameters[0].type == .text, parts[1] == "{{config.\(parameters[0].name)}}" {
                return .one(kind: parts[0], id: nil)
            }
        }
        error(
            "source.one", "\(quoted(text)) names no activity",
            advice: "write KIND/ID, or KIND/{{config.NAME}} and NAME as the only parameter, of type text")
        return nil
    }

    private mutating func schedule(_ source: JSONObject) -> WidgetSchedule? {
        guard let slots = array(source, "schedule", at: "source", of: "times of day") else { return nil }
        if slots.isEmpty || slots.count > WidgetSchedule.slotLimit {
            error(
                "source.schedule", "it has \(slots.count) times of day",
                advice: "write 1 to \(WidgetSchedule.slotLimit)")
        }
        var offset: Int64 = 0
        if let zone = string(source, "zone", at: "source") {
            if let minutes = DateText.zoneOffset(zone.utf8) {
                offset = minutes
            } else {
                error("source.zone", "\(quoted(zone)) is no offset from UTC", advice: "write \"+09:00\", or \"Z\"")
            }
        }
        var read: [WidgetSchedule.Slot] = []
        for (index, json) in slots.enumerated() {
            let path = "source.schedule[\(index)]"
            guard let slot = slot(json, at: path) else { continue }
            let isTaken = read.contains { other in
                other.minute == slot.minute && zip(other.days, slot.days).contains { $0 && $1 }
            }
            if isTaken {
                error(path, "another one is at the same time of the same day", advice: "take one out")
            }
            read.append(slot)
        }
        return WidgetSchedule(slots: read, offset: offset)
    }

    private mutating func slot(_ json: JSON, at path: String) -> WidgetSchedule.Slot? {
        guard let object = object(json, at: path, knows: ["at", "days", "set"]) else { return nil }
        var minute: Int64?
        if let text = requiredString(object, "at", at: path, example: "07:00") {
            minute = Self.minute(of: text)
            if minute == nil {
                error(Self.join(path, "at"), "\(quoted(text)) is no time of day", advice: "write 00:00 to 23:59")
            }
        }
        var days = [Bool](repeating: true, count: 7)
        if let names = strings(object, "days", at: path, of: "days") {
            days = WidgetSchedule.dayNames.map { names.contains($0) }
            for (index, name) in names.enumerated() where !WidgetSchedule.dayNames.contains(name) {
                error(
                    "\(Self.join(path, "days"))[\(index)]", "\(quoted(name)) is no day",
                    advice: "write \(WidgetSchedule.dayNames.joined(separator: ", "))")
            }
            if names.isEmpty { error(Self.join(path, "days"), "it is on no day", advice: "name one, or take it out") }
        }
        guard let set = object["set"] else {
            missing("set", at: path, example: "{\"is\": \"open\"}")
            return nil
        }
        guard set.object != nil else {
            wrongType(set, at: Self.join(path, "set"), expected: "an object")
            return nil
        }
        if set.textByteCount > 4_096 {
            error(Self.join(path, "set"), "it has \(set.textByteCount) bytes, 4096 are the limit", advice: "shorten it")
        }
        return minute.map { WidgetSchedule.Slot(minute: $0, days: days, content: set) }
    }

    /// Minutes since midnight of `HH:MM`.
    private static func minute(of text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        var digits: [Int64] = []
        for index in [0, 1, 3, 4] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) else { return nil }
            digits.append(Int64(bytes[index] - UInt8(ascii: "0")))
        }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        return hour < 24 && minute < 60 ? hour * 60 + minute : nil
    }

    /// Reports paths that no widget can read, and unknown parameters.
    mutating func lintWidget(
        templates: [(template: Template, path: String)], parameters: [WidgetParameter], source: JSON?
    ) {
        let isDerived = source?["each"] != nil || source?["one"] != nil
        let aggregate = source?["over"] == nil ? nil : source?["values"] ?? [:]
        let known =
            isDerived
            ? "read content.…, attributes.…, state.title, progress, lifecycle, config.…, id or kind"
            : aggregate == nil ? "read content.…, config.…, id or kind" : "read values.…, config.…, id or kind"
        for (template, place) in templates {
            for case .value(let path, let filters) in template.parts {
                switch path {
                case .widget(.configuration(let names)):
                    guard let name = names.first, !parameters.contains(where: { $0.name == name }) else { break }
                    let close = Spelling.nearest(to: name, among: parameters.map(\.name))
                    warn(
                        place, "config.\(name) is always empty: there is no parameter \(quoted(name))",
                        advice: close.map { "did you mean \(quoted($0))?" } ?? "add it to \"parameters\"")
                case .unknown(let text):
                    warn(
                        place, "{{\(text)}} is always empty: there is nothing of this name", advice: known)
                case .attributes, .stateTitle, .stateKey, .region, .progress, .widget(.lifecycle):
                    if isDerived { break }
                    warn(place, "{{\(path)}} is always empty: this source has none", advice: known)
                case .widget(.values(let names)):
                    if let name = names.first, aggregate?[name] != nil || aggregate == [:] { break }
                    warn(place, "{{\(path)}} is always empty: this source has none", advice: known)
                case .content:
                    if aggregate == nil { break }
                    warn(place, "{{\(path)}} is always empty: this source has none", advice: known)
                case .id, .kind: break
                }
                for case .unknown(let name) in filters {
                    warn(place, "there is no filter \(quoted(name))", advice: "there are \(TemplateFilter.names)")
                }
            }
        }
    }
}
