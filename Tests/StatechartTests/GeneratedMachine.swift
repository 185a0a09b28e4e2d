import TelltaleModel
import TelltaleStatechart
import TestSupport

/// A machine made of random numbers: every part of the language, in places where it is legal.
struct GeneratedMachine {
    static let events = ["e0", "e1", "e2", "e3", "r0", "r1"]

    var random: SeededGenerator
    private(set) var description: MachineDescription
    private var paths: [String] = []
    private var composites: [String] = []

    init(seed: UInt64, timers: Bool = true) {
        random = SeededGenerator(seed: seed)
        description = MachineDescription(root: StateDescription(key: "", kind: .atomic, location: ""))
        var root = tree(key: "", path: "", depth: 0)
        fill(&root, path: "", timers: timers)
        description.root = root
    }

    // MARK: The tree

    private mutating func tree(key: String, path: String, depth: Int) -> StateDescription {
        var state = StateDescription(key: key, kind: .atomic, location: path)
        if !path.isEmpty { paths.append(path) }
        let isComposite = depth == 0 || (depth < 4 && random.chance(depth < 2 ? 55 : 30))
        guard isComposite else { return state }
        if !path.isEmpty { composites.append(path) }
        let isParallel = random.chance(30)
        let count = 1 + Int(random.below(3))
        for index in 0..<count {
            let childKey = "\(isParallel ? "r" : "s")\(index)"
            let childPath = path.isEmpty ? childKey : "\(path).\(childKey)"
            state.children.append(tree(key: childKey, path: childPath, depth: depth + 1))
        }
        if isParallel {
            state.kind = .parallel
        } else {
            state.kind = .compound(initial: ["s\(random.below(UInt64(count)))"])
            if depth > 0 || random.chance(20), random.chance(40) {
                state.children.append(StateDescription(key: "f", kind: .final, location: path))
                paths.append(path.isEmpty ? "f" : "\(path).f")
            }
        }
        if random.chance(30), depth > 0 {
            state.children.append(
                StateDescription(key: "h", kind: .history(deep: random.chance(50), target: []), location: path))
            paths.append("\(path).h")
        }
        return state
    }

    // MARK: The members of states

    private mutating func fill(_ state: inout StateDescription, path: String, timers: Bool) {
        for index in state.children.indices {
            let key = state.children[index].key
            fill(&state.children[index], path: path.isEmpty ? key : "\(path).\(key)", timers: timers)
        }
        switch state.kind {
        case .history: return
        case .final:
            if random.chance(50), !path.contains(".") {
                var edge = TransitionDescription(trigger: .event("e0"), location: path)
                edge.targets = [target()]
                state.reopen = [edge]
            }
            return
        case .atomic, .compound, .parallel: break
        }
        for event in Self.events where random.chance(25) { add(.event(event), to: &state, path: path) }
        if random.chance(8) { add(.wildcard, to: &state, path: path) }
        if random.chance(15) { add(.always, to: &state, path: path) }
        if random.chance(30) { add(.done, to: &state, path: path) }
        if timers {
            for delay in [10, 20] where random.chance(15) {
                add(.after(Milliseconds(Int64(delay))), to: &state, path: path)
            }
        }
        if random.chance(20) { state.entry = actions() }
        if random.chance(20) { state.exit = actions() }
        if random.chance(10) { state.deferred = [event()] }
        if random.chance(30) { state.rank = Int(random.below(4)) }
        if random.chance(10), case .compound = state.kind {
            let inner = paths.filter { $0.hasPrefix(path.isEmpty ? "" : "\(path).") }
            let deep = inner[Int(random.below(UInt64(inner.count)))]
            state.kind = .compound(initial: [deep])
        }
    }

    private mutating func add(_ trigger: Trigger, to state: inout StateDescription, path: String) {
        for index in 0...random.below(2) {
            var transition = TransitionDescription(trigger: trigger, location: path)
            if random.chance(85) { transition.targets = [target()] }
            if trigger == .always || random.chance(30) || index == 0 && random.chance(30) {
                transition.condition = condition()
            }
            if random.chance(30) { transition.actions = actions() }
            if case .after(let delay) = trigger {
                transition.actions.append(
                    ActionDescription(set("fired", .string("\(path) \(delay.count)")), location: path))
            }
            transition.reenter = random.chance(25)
            transition.skip = random.chance(10)
            state.transitions.append(transition)
        }
    }

    private mutating func target() -> String { paths[Int(random.below(UInt64(paths.count)))] }
    private mutating func event() -> String { Self.events[Int(random.below(UInt64(Self.events.count)))] }

    private mutating func condition() -> Guard? {
        let text =
            switch random.below(5) {
            case 0: "content.x == \(random.below(3))"
            case 1: "in(\(target()))"
            case 2: "not in(\(target())) and content.x < 2"
            case 3: "event.type in ['e1', 'r0']"
            default: "content.none or content.x != 1"
            }
        return try? Guard(text)
    }

    private mutating func actions() -> [ActionDescription] {
        (0...random.below(2)).map { _ in
            let action: ActionDescription.Action =
                switch random.below(6) {
                case 0: .raise("r\(random.below(2))")
                case 1: send("e3")
                case 2: send("r0", after: 15, id: random.chance(50) ? "id" : nil)
                case 3: .cancel(id: "id")
                case 4: copy("y", from: "event.content.n")
                default: set("x", .integer(Int64(random.below(4))))
                }
            return ActionDescription(action, location: "")
        }
    }

    /// The same machine as if its author had written it in another order, wherever order means nothing.
    mutating func shuffled() -> MachineDescription {
        MachineDescription(root: shuffle(description.root))
    }

    private mutating func shuffle(_ state: StateDescription) -> StateDescription {
        var result = state
        result.children = state.children.map { shuffle($0) }
        if case .compound = state.kind { result.children.shuffle(using: &random) }
        var triggers: [Trigger] = []
        for transition in state.transitions where !triggers.contains(transition.trigger) {
            triggers.append(transition.trigger)
        }
        triggers.shuffle(using: &random)
        result.transitions = triggers.flatMap { trigger in state.transitions.filter { $0.trigger == trigger } }
        return result
    }
}
