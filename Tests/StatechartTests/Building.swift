import TelltaleModel
import TelltaleStatechart
import Testing

// Machines in Swift, for cases that a table in Protocols/Machines cannot express.

/// A part of a state between its braces.
struct Part {
    let apply: (inout StateDescription) -> Void
}

func machine(_ initial: String, _ parts: Part..., states: [StateDescription]) -> MachineDescription {
    MachineDescription(root: make("", .compound(initial: [initial]), parts, states))
}

func parallelMachine(_ parts: Part..., regions: [StateDescription]) -> MachineDescription {
    MachineDescription(root: make("", .parallel, parts, regions))
}

func state(_ key: String, _ parts: Part...) -> StateDescription { make(key, .atomic, parts, []) }
func final(_ key: String, _ parts: Part...) -> StateDescription { make(key, .final, parts, []) }

func compound(_ key: String, _ initial: String, _ parts: Part..., states: [StateDescription]) -> StateDescription {
    make(key, .compound(initial: [initial]), parts, states)
}

func parallel(_ key: String, _ parts: Part..., regions: [StateDescription]) -> StateDescription {
    make(key, .parallel, parts, regions)
}

func history(_ key: String, deep: Bool = false, _ target: String...) -> StateDescription {
    make(key, .history(deep: deep, target: target), [], [])
}

private func make(
    _ key: String, _ kind: StateDescription.Kind, _ parts: [Part], _ children: [StateDescription]
) -> StateDescription {
    var state = StateDescription(key: key, kind: kind, location: "states.\(key)")
    state.children = children
    for part in parts { part.apply(&state) }
    return state
}

func on(
    _ event: String, _ targets: String..., if condition: String? = nil, do actions: ActionDescription.Action...,
    reenter: Bool = false, skip: Bool = false
) -> Part {
    edge(event == "*" ? .wildcard : .event(event), targets, condition, actions, reenter: reenter, skip: skip)
}

func always(_ targets: String..., if condition: String? = nil, do actions: ActionDescription.Action...) -> Part {
    edge(.always, targets, condition, actions)
}

func after(
    _ delay: Int64, _ targets: String..., if condition: String? = nil, do actions: ActionDescription.Action...,
    reenter: Bool = false
) -> Part {
    edge(.after(Milliseconds(delay)), targets, condition, actions, reenter: reenter)
}

func onDone(_ targets: String..., do actions: ActionDescription.Action...) -> Part {
    edge(.done, targets, nil, actions)
}

func edge(
    _ trigger: Trigger, _ targets: [String], _ condition: String?, _ actions: [ActionDescription.Action],
    reenter: Bool = false, skip: Bool = false
) -> Part {
    var transition = TransitionDescription(trigger: trigger, location: "\(trigger)")
    transition.targets = targets
    if let condition {
        do { transition.condition = try Guard(condition) } catch { Issue.record("\(condition): \(error)") }
    }
    transition.actions = actions.map { ActionDescription($0, location: "\(trigger).actions") }
    transition.reenter = reenter
    transition.skip = skip
    return Part { $0.transitions.append(transition) }
}

func reopen(_ event: String, _ target: String) -> Part {
    var transition = TransitionDescription(
        trigger: event == "*" ? .wildcard : .event(event), location: "reopen.\(event)")
    transition.targets = [target]
    return Part { $0.reopen.append(transition) }
}

func entry(_ actions: ActionDescription.Action...) -> Part {
    Part { $0.entry = actions.map { ActionDescription($0, location: "entry") } }
}

func exit(_ actions: ActionDescription.Action...) -> Part {
    Part { $0.exit = actions.map { ActionDescription($0, location: "exit") } }
}

func deferring(_ events: String...) -> Part { Part { $0.deferred = events } }
func rank(_ rank: Int) -> Part { Part { $0.rank = rank } }

func set(_ name: String, _ value: JSON) -> ActionDescription.Action {
    .assign([.init(name: name, source: .literal(value))])
}

func copy(_ name: String, from path: String) -> ActionDescription.Action {
    guard let path = ValuePath(path) else {
        Issue.record("not a path: \(path)")
        return .assign([])
    }
    return .assign([.init(name: name, source: .path(path))])
}

func send(_ event: String, after delay: Int64 = 0, id: String? = nil) -> ActionDescription.Action {
    .send(event: event, delay: Milliseconds(delay), id: id)
}

/// A machine that runs, with its values and a clock that the test moves.
struct Run {
    let statechart: Statechart
    var instance: MachineInstance
    var values: MachineValues
    var time = Timestamp(milliseconds: 0)
    var contentLimit = 4096
    var last: StepResult

    init(_ description: MachineDescription, attributes: JSON = [:], content: JSON = [:]) throws {
        let compiled = Statechart.compile(description)
        statechart = try #require(compiled.statechart, "\(compiled.diagnostics)")
        values = MachineValues(attributes: attributes, content: content)
        (instance, last) = try statechart.start(at: time, values: &values, contentLimit: contentLimit)
    }

    /// The paths of the innermost active states.
    var leaves: [String] { instance.leaves(in: statechart).map { statechart.states[$0.rawValue].path } }
    var configuration: [String] { instance.configuration(in: statechart).map { statechart.states[$0.rawValue].path } }
    var entered: [String] { last.entered.map { statechart.states[$0.rawValue].path } }

    /// Fires due timers, then takes the event.
    @discardableResult
    mutating func step(_ event: String, _ content: JSON = [:]) throws -> Verdict {
        try wait(0)
        last = try statechart.handle(
            event: event, content: content, at: time, instance: &instance, values: &values, contentLimit: contentLimit)
        return last.verdict
    }

    mutating func wait(_ span: Int64) throws {
        time = time + Milliseconds(span)
        while let result = try statechart.fireDeadline(
            dueBy: time, instance: &instance, values: &values, contentLimit: contentLimit)
        {
            last = result
        }
    }

    mutating func reopen(_ event: String) throws -> Verdict? {
        let result = try statechart.reopen(
            event: event, content: [:], at: time, instance: &instance, values: &values, contentLimit: contentLimit)
        if let result { last = result }
        return result?.verdict
    }
}
