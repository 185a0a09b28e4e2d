internal import TelltaleModel
internal import TelltaleStatechart

/// Buttons that a view shows in states where a press comes to nothing.
extension KindSet {
    /// Warns of a button that raises an event to the activity that shows it, in states that do not handle the event.
    ///
    /// A state counts only if the button is certainly shown in it: a condition that reads the content may hide it.
    static func lintUnhandled(
        _ button: JSON, at path: String, raising raises: ButtonKind.Raises, by name: String, in kind: Kind, file: String
    ) -> Diagnostic? {
        guard case .activity(let activity) = kind.body, raises.kind == kind.name, raises.id == "{{id}}",
            let machine = kind.source["machine"]
        else { return nil }
        let event = activity.accept[raises.event] ?? raises.event
        // Of every state nothing is said here: the event is misspelt, which is reported for the button.
        guard !EventName.lifecycle.contains(event), activity.handles(event) else { return nil }
        var scan = ShownStates(event: event, when: button["when"]?.object)
        scan.visit(machine, names: [], isHandled: false, isTop: true)
        guard !scan.unhandled.isEmpty else { return nil }
        let names = scan.unhandled
        let list =
            names.count == 1 ? names[0] : "\(names.dropLast().joined(separator: ", ")) and \(names[names.count - 1])"
        return Diagnostic(
            .warning, file: file, path: path, "\(name) is shown in \(list), where nothing handles \(quoted(event))",
            advice: "give the button a \"when\", or handle the event there")
    }
}

/// The states of a machine in which a button is certainly shown, and whose machine does not handle its event.
private struct ShownStates {
    let event: String
    let states: [String]
    let condition: Guard?
    let exception: Guard?
    private(set) var unhandled: [String] = []

    init(event: String, when: JSONObject?) {
        self.event = event
        let named = when?["state"]
        states = named?.array?.compactMap(\.string) ?? named?.string.map { [$0] } ?? []
        func read(_ name: String) -> Guard? { when?[name]?.string.flatMap { try? Guard($0, knowsLifecycle: true) } }
        (condition, exception) = (read("guard"), read("unless"))
    }

    /// - Parameters:
    ///   - names: The keys and paths of the active states around and including it.
    ///   - isHandled: Whether a state around it handles the event.
    ///   - isTop: It is the machine.
    mutating func visit(_ state: JSON, names: [String], path: String = "", isHandled: Bool, isTop: Bool = false) {
        var isHandled = isHandled || Self.handles(state, event)
        if let regions = state["regions"]?.array {
            // Any region may take it, and the states of the others are active too.
            isHandled = isHandled || regions.contains { handlesInside($0) }
            let others = regions.flatMap { Self.names(in: $0) }
            for region in regions {
                let key = region["id"]?.string ?? ""
                let own = path.isEmpty ? key : "\(path).\(key)"
                // A state of another region may be active: what names it is not certain.
                guard !mentions(others.filter { !Self.names(in: region).contains($0) }) else { continue }
                visit(region, names: names + [key, own], path: own, isHandled: isHandled)
            }
            return
        }
        if let children = state["states"]?.object {
            for child in children {
                if child.value["type"]?.string == "history" { continue }
                let own = path.isEmpty ? child.name : "\(path).\(child.name)"
                // What has ended takes no event but those of its `reopen`.
                let isEnd = isTop && child.value["type"]?.string == "final"
                visit(child.value, names: names + [child.name, own], path: own, isHandled: isEnd ? false : isHandled)
            }
            return
        }
        let isEnded = state["type"]?.string == "final" && !path.contains(".")
        guard !isHandled, isShown(names, lifecycle: isEnded ? "ended" : nil), !unhandled.contains(path) else { return }
        unhandled.append(path)
    }

    private func isShown(_ names: [String], lifecycle: String?) -> Bool {
        let subject = GuardSubject(activeStates: names, lifecycle: lifecycle)
        return (states.isEmpty || subject.isActive(anyOf: states))
            && (condition.map { $0.holds(for: subject) == true } ?? true)
            && (exception.map { $0.holds(for: subject) == false } ?? true)
    }

    private func mentions(_ names: [String]) -> Bool {
        let read = states + (condition?.stateNames ?? []) + (exception?.stateNames ?? [])
        return read.contains { names.contains($0) }
    }

    private static func handles(_ state: JSON, _ event: String) -> Bool {
        let named = [state["on"], state["reopen"]].compactMap(\.self)
        return named.contains { $0[event] != nil || $0["*"] != nil }
            || state["defer"]?.array?.contains(.string(event)) == true
    }

    private func handlesInside(_ state: JSON) -> Bool {
        if Self.handles(state, event) { return true }
        return Self.children(of: state).contains { handlesInside($0.state) }
    }

    private static func children(of state: JSON) -> [(key: String, state: JSON)] {
        let regions = (state["regions"]?.array ?? []).map { (key: $0["id"]?.string ?? "", state: $0) }
        return regions + (state["states"]?.object ?? JSONObject()).map { (key: $0.name, state: $0.value) }
    }

    /// The keys of a state's descendants.
    private static func names(in state: JSON) -> [String] {
        children(of: state).flatMap { [$0.key] + names(in: $0.state) }
    }
}
