internal import TelltaleModel
internal import TelltaleStatechart

/// What a kind file says of a state beside the machine: the raw form of ``StateTraits``.
struct StateNotes {
    var title: String?
    var progress: Double?
    var isMilestone = false
    var alert: AlertTemplate?
    var stale: Milliseconds?
    var dismiss: Milliseconds?
    var tags: [String] = []
}

/// `machine`, read: what the engine compiles, and what the rest of Telltale wants to know of each state.
struct MachineText {
    var description: MachineDescription
    /// By ``StateDescription/location``.
    var notes: [String: StateNotes] = [:]
}

extension KindReader {
    private static let commonNames = [
        "type", "title", "progress", "milestone", "alert", "stale", "dismiss", "tags", "entry", "exit", "rank",
    ]
    private static let transitionNames = ["on", "always", "after", "onDone", "defer"]
    private static let childNames = ["initial", "states", "regions"]

    mutating func machine(_ json: JSON, at path: String) -> MachineText? {
        var notes: [String: StateNotes] = [:]
        guard let root = state(json, key: "", at: path, notes: &notes) else { return nil }
        switch root.kind {
        case .compound, .parallel: break
        case .atomic:
            error(path, "the machine has no states", advice: "add \"initial\" and \"states\"")
            return nil
        case .final, .history:
            error(Self.join(path, "type"), "a machine cannot be one final or history state", advice: "add \"states\"")
            return nil
        }
        return MachineText(description: MachineDescription(root: root), notes: notes)
    }

    private mutating func state(
        _ json: JSON, key: String, at path: String, isRegion: Bool = false, notes: inout [String: StateNotes]
    ) -> StateDescription? {
        let type = json["type"]?.string
        if let other = json["type"], type == nil {
            wrongType(other, at: Self.join(path, "type"), expected: "\"final\", \"history\" or \"parallel\"")
        }
        let ownName = isRegion ? ["id"] : []
        if type == "history" {
            guard let object = object(json, at: path, knows: ownName + ["type", "history", "target", "title"]) else {
                return nil
            }
            return history(object, key: key, at: path)
        }
        let isFinal = type == "final"
        let knows = ownName + Self.commonNames + Self.transitionNames + (isFinal ? ["reopen"] : Self.childNames)
        guard let object = object(json, at: path, knows: knows) else { return nil }

        var state = StateDescription(key: key, kind: .atomic, location: path)
        switch type {
        case nil, "parallel"?, "final"?: break
        case let type?:
            error(
                Self.join(path, "type"), "\(quoted(type)) is not a type of state",
                advice: "write \"final\", \"history\" or \"parallel\", or leave it out")
        }
        if isFinal {
            state.kind = .final
            state.reopen = reopen(object, at: path)
        } else {
            children(object, of: &state, type: type, at: path, notes: &notes)
        }
        state.transitions = transitions(object, at: path)
        state.entry = actions(object, "entry", at: path)
        state.exit = actions(object, "exit", at: path)
        for (index, name) in (strings(object, "defer", at: path, of: "events' names") ?? []).enumerated() {
            if let name = eventName(name, at: "\(path).defer[\(index)]") { state.deferred.append(name) }
        }
        state.rank = integer(object, "rank", at: path)
        notes[path] = self.notes(object, at: path)
        return state
    }

    private mutating func notes(_ object: JSONObject, at path: String) -> StateNotes {
        var notes = StateNotes()
        notes.title = text(object, "title", at: path)
        if let value = object["progress"] {
            if let progress = value.double {
                if (0...1).contains(progress) {
                    notes.progress = progress
                } else {
                    error(
                        Self.join(path, "progress"), "\(JSON(progress)) is not a fraction",
                        advice: "write a number from 0 to 1, 0.5 for the half")
                }
            } else {
                wrongType(value, at: Self.join(path, "progress"), expected: "a number from 0 to 1")
            }
        }
        notes.isMilestone = bool(object, "milestone", at: path) ?? false
        notes.stale = duration(object, "stale", at: path)
        notes.dismiss = duration(object, "dismiss", at: path, canBeZero: true)
        notes.tags = strings(object, "tags", at: path, of: "texts") ?? []
        notes.alert = alert(object, at: path)
        return notes
    }

    private mutating func alert(_ parent: JSONObject, at parentPath: String) -> AlertTemplate? {
        guard let json = parent["alert"] else { return nil }
        let path = Self.join(parentPath, "alert")
        guard let object = object(json, at: path, knows: ["title", "body", "sound"]) else { return nil }
        if object["title"] == nil { missing("title", at: path, example: "\"{{state.title}}\"") }
        guard let title = template(object, "title", at: path) else { return nil }
        let body = object["body"] == nil ? Template(literal: "") : template(object, "body", at: path)
        guard let body else { return nil }
        return AlertTemplate(title: title, body: body, sound: text(object, "sound", at: path))
    }

    // MARK: - Children

    private mutating func children(
        _ object: JSONObject, of state: inout StateDescription, type: String?, at path: String,
        notes: inout [String: StateNotes]
    ) {
        let initial = targets(object, "initial", at: path)
        if object["regions"] != nil {
            state.kind = .parallel
            if object["states"] != nil {
                error(
                    Self.join(path, "states"), "a state has either \"states\" or \"regions\"",
                    advice: "put each region's states into its own object in \"regions\"")
            }
            if object["initial"] != nil {
                error(
                    Self.join(path, "initial"), "a parallel state has no \"initial\": all its regions are entered",
                    advice: "take it out, and give each region one")
            }
            regions(object, of: &state, at: path, notes: &notes)
            return
        }
        if type == "parallel" {
            state.kind = .parallel  // Without a region, which the engine tells.
            return
        }
        guard let json = object["states"] else {
            if object["initial"] != nil {
                error(
                    Self.join(path, "initial"), "\"initial\" without \"states\"",
                    advice: "add \"states\", or take \"initial\" out")
            }
            return
        }
        state.kind = .compound(initial: initial)
        guard let states = json.object else {
            wrongType(json, at: Self.join(path, "states"), expected: "an object of states by key")
            return
        }
        for member in states {
            let place = Self.join(Self.join(path, "states"), member.name)
            guard isStateKey(member.name, at: place) else { continue }
            if let child = self.state(member.value, key: member.name, at: place, notes: &notes) {
                state.children.append(child)
            }
        }
    }

    private mutating func regions(
        _ object: JSONObject, of state: inout StateDescription, at path: String,
        notes: inout [String: StateNotes]
    ) {
        guard let regions = array(object, "regions", at: path, of: "states with an \"id\" each") else { return }
        for (index, json) in regions.enumerated() {
            let place = "\(Self.join(path, "regions"))[\(index)]"
            guard let region = json.object else {
                wrongType(json, at: place, expected: "a state with an \"id\"")
                continue
            }
            guard let id = requiredString(region, "id", at: place, example: "kitchen") else { continue }
            guard isStateKey(id, at: Self.join(place, "id")) else { continue }
            if state.children.contains(where: { $0.key == id }) {
                error(Self.join(place, "id"), "two regions have the id \(quoted(id))", advice: "rename one")
                continue
            }
            if let child = self.state(json, key: id, at: place, isRegion: true, notes: &notes) {
                state.children.append(child)
            }
        }
    }

    private mutating func isStateKey(_ key: String, at path: String) -> Bool {
        let isValid =
            (1...64).contains(key.utf8.count)
            && key.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
        if !isValid {
            error(
                path, "\(quoted(key)) is not a state's key",
                advice: "use 1 to 64 of A-Z a-z 0-9 _ - (a dot separates the keys of a path)")
        }
        return isValid
    }

    private mutating func history(_ object: JSONObject, key: String, at path: String) -> StateDescription {
        enum Depth: String, CaseIterable { case shallow, deep }
        let isDeep = choice(object, "history", at: path, Depth.self) == .deep
        let target = targets(object, "target", at: path)
        return StateDescription(key: key, kind: .history(deep: isDeep, target: target), location: path)
    }

    /// The texts of a `target` or an `initial`: one, or an array.
    private mutating func targets(_ object: JSONObject, _ name: String, at path: String) -> [String] {
        guard let json = object[name] else { return [] }
        let path = Self.join(path, name)
        switch json {
        case .string(let target):
            if !target.isEmpty { return [target] }
            error(path, "\(quoted(name)) is empty", advice: "name a state by its key or its path, or take it out")
            return []
        case .array(let elements):
            if elements.isEmpty {
                error(path, "\(quoted(name)) is empty", advice: "name a state by its key or its path, or take it out")
            }
            return elements.enumerated().compactMap { index, element in
                if let target = element.string, !target.isEmpty { return target }
                wrongType(element, at: "\(path)[\(index)]", expected: "a state's key or path")
                return nil
            }
        case .null, .bool, .integer, .number, .object:
            wrongType(json, at: path, expected: "a state's key or path, or an array of these")
            return []
        }
    }

    // MARK: - Transitions

    private mutating func transitions(_ object: JSONObject, at path: String) -> [TransitionDescription] {
        var transitions: [TransitionDescription] = []
        if let json = object["on"] { transitions += events(json, at: Self.join(path, "on")) }
        if let json = object["always"] {
            transitions += alternatives(json, trigger: .always, at: Self.join(path, "always"))
        }
        if let json = object["after"] {
            let path = Self.join(path, "after")
            if let delays = json.object {
                for member in delays {
                    let place = Self.join(path, member.name)
                    guard let delay = duration(member.name, at: place) else { continue }
                    transitions += alternatives(member.value, trigger: .after(delay), at: place)
                }
            } else {
                wrongType(json, at: path, expected: "an object of transitions by duration")
            }
        }
        if let json = object["onDone"] {
            transitions += alternatives(json, trigger: .done, at: Self.join(path, "onDone"))
        }
        return transitions
    }

    private mutating func reopen(_ object: JSONObject, at path: String) -> [TransitionDescription] {
        guard let json = object["reopen"] else { return [] }
        return events(json, at: Self.join(path, "reopen"))
    }

    private mutating func events(_ json: JSON, at path: String) -> [TransitionDescription] {
        guard let events = json.object else {
            wrongType(json, at: path, expected: "an object of transitions by event")
            return []
        }
        return events.flatMap { member in
            let place = Self.join(path, member.name)
            if member.name == "*" { return alternatives(member.value, trigger: .wildcard, at: place) }
            // `done.` and a path is longer than an event's name may be where states lie deep.
            guard member.name.hasPrefix("done.") || eventName(member.name, at: place) != nil else { return [] }
            return alternatives(member.value, trigger: .event(member.name), at: place)
        }
    }

    /// A target, a transition, or an array of these: the first whose guard holds.
    private mutating func alternatives(_ json: JSON, trigger: Trigger, at path: String) -> [TransitionDescription] {
        guard let elements = json.array else {
            return transition(json, trigger: trigger, at: path).map { [$0] } ?? []
        }
        if elements.isEmpty {
            error(path, "the array of alternatives is empty", advice: "add a target, or take the event out")
        }
        return elements.enumerated().compactMap { index, element in
            transition(element, trigger: trigger, at: "\(path)[\(index)]")
        }
    }

    private mutating func transition(_ json: JSON, trigger: Trigger, at path: String) -> TransitionDescription? {
        var transition = TransitionDescription(trigger: trigger, location: path)
        if let target = json.string {
            guard !target.isEmpty else {
                error(path, "the target is empty", advice: "name a state by its key or its path")
                return nil
            }
            transition.targets = [target]
            return transition
        }
        guard json.object != nil else {
            wrongType(json, at: path, expected: "a target, an object, or an array of these")
            return nil
        }
        guard let object = object(json, at: path, knows: ["target", "guard", "actions", "reenter", "skip"]) else {
            return nil
        }
        transition.targets = targets(object, "target", at: path)
        if let text = string(object, "guard", at: path) {
            do throws(GuardSyntaxError) {
                transition.condition = try Guard(text)
            } catch {
                self.error(
                    Self.join(path, "guard"),
                    "the guard \(quoted(text)) does not parse at byte \(error.offset): \(error.expected) is expected",
                    advice: "use paths, literals, == != < <= > >=, and or not, in [..], in(STATE) and parentheses")
            }
        }
        transition.actions = actions(object, "actions", at: path)
        transition.reenter = bool(object, "reenter", at: path) ?? false
        transition.skip = bool(object, "skip", at: path) ?? false
        for (name, isSet) in [("reenter", transition.reenter), ("skip", transition.skip)]
        where isSet && object["target"] == nil {
            warn(
                Self.join(path, name), "without a \"target\" it means nothing",
                advice: "add a \"target\" (the state itself, to enter it again), or take it out")
        }
        return transition
    }

    // MARK: - Actions

    private mutating func actions(_ object: JSONObject, _ name: String, at path: String) -> [ActionDescription] {
        guard let elements = array(object, name, at: path, of: "actions") else { return [] }
        return elements.enumerated().compactMap { index, element in
            action(element, at: "\(Self.join(path, name))[\(index)]")
        }
    }

    private mutating func action(_ json: JSON, at path: String) -> ActionDescription? {
        let verbs = ["assign", "raise", "send", "cancel"]
        guard let members = json.object else {
            wrongType(json, at: path, expected: "an action")
            return nil
        }
        let given = verbs.filter { members[$0] != nil }
        guard let verb = given.first, given.count == 1 else {
            error(
                path, given.isEmpty ? "no action is named" : "\(given.joined(separator: " and ")) in one action",
                advice: given.isEmpty
                    ? "write one of {\"assign\": {…}}, {\"raise\": …}, {\"send\": …}, {\"cancel\": …}"
                    : "make an action of its own of each, in this order")
            return nil
        }
        guard let object = object(json, at: path, knows: verb == "send" ? ["send", "delay", "id"] : [verb]) else {
            return nil
        }
        switch verb {
        case "assign":
            return assignments(object, at: path).map { ActionDescription(.assign($0), location: path) }
        case "cancel":
            return requiredString(object, "cancel", at: path, example: "reminder")
                .map { ActionDescription(.cancel(id: $0), location: path) }
        case "raise":
            guard let name = requiredString(object, "raise", at: path, example: "retry") else { return nil }
            return eventName(name, at: Self.join(path, "raise"))
                .map { ActionDescription(.raise($0), location: path) }
        default:
            guard let name = requiredString(object, "send", at: path, example: "remind"),
                let event = eventName(name, at: Self.join(path, "send"))
            else { return nil }
            let delay = duration(object, "delay", at: path, canBeZero: true) ?? .zero
            let id = string(object, "id", at: path)
            return ActionDescription(.send(event: event, delay: delay, id: id), location: path)
        }
    }

    private mutating func assignments(_ action: JSONObject, at path: String) -> [ActionDescription.Assignment]? {
        let path = Self.join(path, "assign")
        guard let members = action["assign"]?.object else {
            wrongType(action["assign"] ?? .null, at: path, expected: "an object of members to set")
            return nil
        }
        return members.compactMap { member in
            let place = Self.join(path, member.name)
            if let text = member.value.string, let inner = Self.inside(text) {
                if let source = ValuePath(inner) { return .init(name: member.name, source: .path(source)) }
                error(
                    place, "\(quoted(inner)) is not a path that an assignment can read",
                    advice: "start it with content., attributes. or event., as in {{event.content.eta}}")
                return nil
            }
            if Self.holdsBraces(member.value) {
                error(
                    place, "an assignment copies a literal, or the whole value at one path",
                    advice: "write \"{{event.content.eta}}\" and nothing around it; build texts in the views")
                return nil
            }
            return .init(name: member.name, source: .literal(member.value))
        }
    }

    /// What stands between `{{` and `}}` where the text is nothing else.
    private static func inside(_ text: String) -> String? {
        guard text.hasPrefix("{{"), text.hasSuffix("}}"), text.utf8.count >= 4 else { return nil }
        var inner = text.dropFirst(2).dropLast(2)
        guard !inner.utf8.contains(UInt8(ascii: "{")), !inner.utf8.contains(UInt8(ascii: "}")) else { return nil }
        while inner.utf8.first == UInt8(ascii: " ") { inner.removeFirst() }
        while inner.utf8.last == UInt8(ascii: " ") { inner.removeLast() }
        return String(inner)
    }

    private static func holdsBraces(_ json: JSON) -> Bool {
        switch json {
        case .string(let text): text.contains("{{")
        case .array(let elements): elements.contains { holdsBraces($0) }
        case .object(let object): object.contains { holdsBraces($0.value) }
        case .null, .bool, .integer, .number: false
        }
    }
}
