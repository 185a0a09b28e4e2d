/// Numbers the states of a description in document order.
///
/// It stops after ``Statechart/stateLimit`` states and one more, so that the compiler can see that there are too many
/// without numbering all of them.
struct StateNumbering {
    private(set) var states: [StateInformation] = []
    private(set) var descriptions: [StateDescription] = []
    private(set) var tree = StateTree()
    private(set) var names = StateNames()

    init(of root: StateDescription) {
        number(root, parent: -1, path: "")
    }

    private mutating func number(_ description: StateDescription, parent: Int, path: String) {
        let index = states.count
        let kind: StateInformation.Kind
        var node = StateTree.Node(kind: .atomic, parent: parent, end: index + 1)
        switch description.kind {
        case .atomic: kind = .atomic
        case .compound:
            kind = .compound
            node.kind = .compound
        case .parallel:
            kind = .parallel
            node.kind = .parallel
        case .final:
            kind = .final
            node.kind = .final
        case .history(let deep, _):
            kind = .history
            node.kind = .history(deep: deep)
        }
        states.append(
            StateInformation(
                key: description.key, path: path, parent: parent < 0 ? nil : StateIndex(rawValue: parent), kind: kind,
                location: description.location))
        descriptions.append(description)
        tree.nodes.append(node)
        if index > 0 {
            // The compiler reports a duplicate path; the first state keeps the name.
            if names.byPath[path] == nil { names.byPath[path] = index }
            names.byKey[description.key, default: []].append(index)
        }
        var children = description.children
        if kind == .compound {
            // JSON members have no meaningful order, so the states are sorted to number them alike every time.
            children.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        }
        for child in children where states.count <= Statechart.stateLimit {
            let childIndex = states.count
            number(child, parent: index, path: index == 0 ? child.key : "\(path).\(child.key)")
            if case .history = child.kind {
                tree.nodes[index].histories.append(childIndex)
            } else {
                tree.nodes[index].children.append(childIndex)
            }
        }
        tree.nodes[index].end = states.count
    }
}

/// The indices of a machine's states by name.
struct StateNames {
    fileprivate(set) var byPath: [String: Int] = [:]
    fileprivate(set) var byKey: [String: [Int]] = [:]

    /// The state with this path, or with this key if no other state has it; `nil` for any other name.
    func find(_ name: String) -> Int? {
        if let index = byPath[name] { return index }
        guard let candidates = byKey[name], candidates.count == 1 else { return nil }
        return candidates[0]
    }
}
