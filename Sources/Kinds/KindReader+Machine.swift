internal import TelltaleModel
internal import TelltaleStatechart

/// The properties of a state in a kind file other than its transitions: the raw form of ``StateTraits``.
struct StateNotes {
    var title: Template?
    var progress: Double?
    var isMilestone = false
    var alert: AlertTemplate?
    var stale: Milliseconds?
    var dismiss: Milliseconds?
    var tags: [String] = []
}

/// The parsed `machine`: the description that the statechart compiler takes, and the notes on its states.
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
        notes.title = title(object, at: path)
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
        guard let object = object(json, at: path, knows: ["title", "body", "sound"] + Self.privacyNames) else {
            return nil
        }
        if object["title"] == nil { missing("title", at: path, example: "\"{{state.title}}\"") }
        guard let title = template(object, "title", at: path) else { return nil }
        let body = object["body"] == nil ? Template(literal: "") : template(object, "body", at: path)
        guard let body else { return nil }
        var alert = AlertTemplate(title: title, body: body, sound: text(object, "sound", at: path))
        let names = strings(object, "private", at: path, of: "parts") ?? []
        refuseUnknown(privateParts: names, among: ["title", "body"], at: path)
        alert.isPrivate = !names.isEmpty
        alert.summary = template(object, "summary", at: path)
        note(privateParts: names, of: path, at: path)
        return alert
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
            state.kind = .parallel  // Without regions, which the compiler reports.
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
        let isValid = key.isName(with: "_-")
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

    /// Each pair of them is looked at.
    private static let targetLimit = 64

    /// Reads a `target` or an `initial`: one text or an array of texts.
    mutating func targets(_ object: JSONObject, _ name: String, at path: String) -> [String] {
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
            if elements.count > Self.targetLimit {
                refuse(
                    path, "\(quoted(name)) names \(elements.count) states",
                    advice: "at most \(Self.targetLimit) are entered together")
                if !isAdmitted { return elements.first?.string.map { [$0] } ?? [] }
            }
            var known: Set<String> = []
            return elements.enumerated().compactMap { index, element in
                if let target = element.string, !known.insert(target).inserted {
                    error("\(path)[\(index)]", "\(quoted(target)) stands twice", advice: "name each state once")
                    return nil
                }
                if let target = element.string, !target.isEmpty { return target }
                wrongType(element, at: "\(path)[\(index)]", expected: "a state's key or path")
                return nil
            }
        case .null, .bool, .integer, .number, .object:
            wrongType(json, at: path, expected: "a state's key or path, or an array of these")
            return []
        }
    }
}
