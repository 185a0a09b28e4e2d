internal import TelltaleModel
internal import TelltaleStatechart

/// A drawing of a kind's machine for `telltale kinds draw`.
///
/// It is made from the kind file, not from the compiled machine, so that authors see the machine as they wrote it.
public struct MachineDrawing: Sendable {
    /// One state with the details that the drawing shows.
    struct Node: Sendable {
        let state: StateDescription
        let path: String
        let title: String
        let notes: StateNotes
        let parent: Int?
        var children: [Int] = []
        /// Whether it is the initial state of its parent or of the machine.
        var isInitial = false

        var isHistory: Bool {
            if case .history = state.kind { true } else { false }
        }
        var isComposite: Bool { !children.isEmpty }
    }

    struct Edge: Sendable {
        let source: Int
        /// Empty for a transition that only runs actions.
        let targets: [Int]
        let label: String
        /// The name of the event; empty where none takes it. A timer takes it so long after the entry.
        let event: String
        let delay: Milliseconds?
    }

    let name: String
    let title: String
    /// The root first, parents before their children.
    private(set) var nodes: [Node] = []
    private(set) var edges: [Edge] = []

    /// `nil` for a control, which has no machine.
    public init?(_ kind: Kind) {
        guard case .activity = kind.body, let machine = kind.source["machine"] else { return nil }
        var reader = KindReader(file: "")
        guard let text = reader.machine(machine, at: "machine") else { return nil }
        name = kind.name
        title = kind.title
        add(text.description.root, parent: nil, notes: text.notes)
        for index in nodes.indices {
            if case .compound(let initial) = nodes[index].state.kind {
                for target in initial.compactMap({ find($0) }) { nodes[target].isInitial = true }
            }
        }
        for index in nodes.indices {
            let state = nodes[index].state
            for transition in state.transitions { add(transition, source: index, prefix: "") }
            for transition in state.reopen { add(transition, source: index, prefix: "reopen: ") }
            if case .history(_, let targets) = state.kind, !targets.isEmpty {
                edges.append(
                    Edge(
                        source: index, targets: targets.compactMap { find($0) }, label: "", event: "", delay: nil))
            }
        }
        orderChildren()
    }

    /// Sorts children for display, because the order in the file has no meaning: by rank, then by distance from the
    /// initial state, final states last. Regions keep their order.
    private mutating func orderChildren() {
        var discovered: [Int: Int] = [:]
        var waiting = nodes.indices.filter { nodes[$0].isInitial || $0 == 0 }[...]
        while let node = waiting.popFirst() {
            guard discovered[node] == nil else { continue }
            discovered[node] = discovered.count
            for edge in edges where edge.source == node && node != 0 { waiting.append(contentsOf: edge.targets) }
        }
        for index in nodes.indices where nodes[index].state.kind != .parallel {
            let hasRanks = nodes[index].children.contains { nodes[$0].state.rank != nil }
            nodes[index].children = nodes[index].children.sorted { left, right in
                func place(_ child: Int) -> (Int, Int, Int, Int) {
                    let state = nodes[child].state
                    let rank = hasRanks ? state.rank ?? .max : 0
                    return (state.kind == .final ? 1 : 0, rank, discovered[child] ?? .max, child)
                }
                return place(left) < place(right)
            }
        }
    }

    private mutating func add(_ state: StateDescription, parent: Int?, notes: [String: StateNotes]) {
        let index = nodes.count
        let prefix = parent.map { nodes[$0].path } ?? ""
        let own = notes[state.location] ?? StateNotes()
        nodes.append(
            Node(
                state: state, path: prefix.isEmpty ? state.key : "\(prefix).\(state.key)",
                title: own.title?.text ?? state.key, notes: own, parent: parent))
        if let parent { nodes[parent].children.append(index) }
        for child in state.children { add(child, parent: index, notes: notes) }
    }

    private mutating func add(_ transition: TransitionDescription, source: Int, prefix: String) {
        let delay: Milliseconds? = if case .after(let delay) = transition.trigger { delay } else { nil }
        edges.append(
            Edge(
                source: source, targets: transition.targets.compactMap { find($0) },
                label: prefix + Self.label(transition), event: Self.event(transition.trigger), delay: delay))
    }

    /// Resolves a path, or a key if it is unique.
    func find(_ name: String) -> Int? {
        if let index = nodes.firstIndex(where: { $0.path == name }) { return index }
        let found = nodes.indices.filter { nodes[$0].state.key == name }
        return found.count == 1 ? found[0] : nil
    }

    func isInside(_ node: Int, _ ancestor: Int) -> Bool {
        var outer = nodes[node].parent
        while let current = outer {
            if current == ancestor { return true }
            outer = nodes[current].parent
        }
        return false
    }

    /// The leaf where a composite state begins. An arrow into the state can end there.
    func firstLeaf(of node: Int) -> Int {
        var node = node
        while nodes[node].isComposite {
            guard let first = nodes[node].children.first(where: { nodes[$0].isInitial }) ?? nodes[node].children.first
            else { break }
            node = first
        }
        return node
    }

    // MARK: - Labels

    static func label(_ transition: TransitionDescription) -> String {
        var label = event(transition.trigger)
        if let condition = transition.condition { label += " [\(condition.text)]" }
        if transition.skip { label += " (skip)" }
        if transition.reenter { label += " (reenter)" }
        if !transition.actions.isEmpty { label += " / " + transition.actions.map(text(of:)).joined(separator: ", ") }
        return label
    }

    private static func event(_ trigger: Trigger) -> String {
        switch trigger {
        case .event(let name): name
        case .wildcard: "*"
        case .always: "always"
        case .after(let delay): "after \(text(of: delay))"
        case .done: "done"
        }
    }

    private static func text(of action: ActionDescription) -> String {
        switch action.action {
        case .assign(let assignments): "set \(assignments.map(\.name).joined(separator: ", "))"
        case .raise(let event): "raise \(event)"
        case .send(let event, let delay, _):
            delay == .zero ? "send \(event)" : "send \(event) in \(text(of: delay))"
        case .cancel(let id): "cancel \(id)"
        }
    }

    /// The shortest notation of a kind file for this duration.
    static func text(of span: Milliseconds) -> String {
        for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")] as [(Int64, String)]
        where span.count >= unit && span.count % unit == 0 {
            return "\(span.count / unit)\(name)"
        }
        return "\(span.count)ms"
    }
}
