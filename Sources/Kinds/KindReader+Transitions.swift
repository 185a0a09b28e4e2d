internal import TelltaleModel
internal import TelltaleStatechart

/// Reads `on`, `always`, `after`, `onDone` and `reopen` of a state.
extension KindReader {
    mutating func transitions(_ object: JSONObject, at path: String) -> [TransitionDescription] {
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

    mutating func reopen(_ object: JSONObject, at path: String) -> [TransitionDescription] {
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
            // A done event consists of `done.` and a path, which may be longer than other event names.
            guard member.name.hasPrefix("done.") || eventName(member.name, at: place) != nil else { return [] }
            return alternatives(member.value, trigger: .event(member.name), at: place)
        }
    }

    /// Reads a target, a transition, or an array of alternatives.
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
}
