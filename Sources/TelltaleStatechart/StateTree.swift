/// The hierarchy of a machine's states, numbered in document order: the descendants of a state have the indices
/// directly after its own.
struct StateTree: Sendable {
    enum Kind: Hashable, Sendable {
        case atomic, compound, parallel, final
        case history(deep: Bool)
    }

    struct Node: Sendable {
        var kind: Kind
        /// −1 for the root.
        var parent: Int
        /// One past the last descendant.
        var end: Int
        /// The children without history states.
        var children: [Int] = []
        var histories: [Int] = []
        /// A compound state's `initial`; a history state's default, or the default that replaces a missing one.
        var initial: [Int] = []
        /// A history state's position in ``MachineInstance/history``; −1 for other states.
        var historySlot = -1
    }

    var nodes: [Node] = []

    func isDescendant(_ state: Int, of ancestor: Int) -> Bool {
        state > ancestor && state < nodes[ancestor].end
    }

    /// The innermost state that is or contains both states.
    func commonAncestor(_ left: Int, _ right: Int) -> Int {
        var ancestor = left
        while ancestor != right, !isDescendant(right, of: ancestor) { ancestor = nodes[ancestor].parent }
        return ancestor
    }

    /// SCXML's findLCCA: the innermost compound state that properly contains all states; the root if there is none.
    func leastCommonCompoundAncestor(of source: Int, and targets: StateSet) -> Int {
        var ancestor = nodes[source].parent
        while ancestor > 0 {
            if case .compound = nodes[ancestor].kind, targets.allSatisfy({ isDescendant($0, of: ancestor) }) {
                return ancestor
            }
            ancestor = nodes[ancestor].parent
        }
        return 0
    }

    /// SCXML's getTransitionDomain with the internal transitions of Protocols/Kinds/README.md: a transition to a
    /// descendant or to the source itself is internal unless it re-enters. `nil` if nothing is exited or entered.
    func domain(of source: Int, targets: StateSet, reenter: Bool) -> Int? {
        if targets.isEmpty { return nil }
        if !reenter {
            if targets.allSatisfy({ $0 == source }) { return nil }
            if targets.allSatisfy({ isDescendant($0, of: source) }) { return source }
        }
        return leastCommonCompoundAncestor(of: source, and: targets)
    }

    /// The proper descendants of `state`.
    func descendants(of state: Int) -> StateSet {
        var set = StateSet(stateCount: nodes.count)
        set.insert(state + 1..<nodes[state].end)
        return set
    }

    /// Whether two states can be active together: their paths part at a parallel state.
    func areOrthogonal(_ left: Int, _ right: Int) -> Bool {
        // Entering a history state is entering its parent in some way.
        let places = [left, right].map { state in
            if case .history = nodes[state].kind { nodes[state].parent } else { state }
        }
        let ancestor = commonAncestor(places[0], places[1])
        return ancestor != places[0] && ancestor != places[1] && nodes[ancestor].kind == .parallel
    }

    /// SCXML's isInFinalState.
    func isInFinalState(_ state: Int, configuration: StateSet) -> Bool {
        switch nodes[state].kind {
        case .compound: nodes[state].children.contains { nodes[$0].kind == .final && configuration.contains($0) }
        case .parallel: nodes[state].children.allSatisfy { isInFinalState($0, configuration: configuration) }
        case .atomic, .final, .history: false
        }
    }
}

/// The set of states to enter: SCXML's computeEntrySet and the procedures that it calls.
struct EntrySet {
    let tree: StateTree
    /// The recorded states of each history state; empty if none has recorded any.
    let history: [StateSet]
    var states: StateSet
    /// Whether the set depends on recorded history.
    private(set) var usesHistory = false

    init(tree: StateTree, history: [StateSet]) {
        self.tree = tree
        self.history = history
        states = StateSet(stateCount: tree.nodes.count)
    }

    /// Adds every state that a transition to `targets` enters below `domain`.
    mutating func add(targets: [Int], below domain: Int) {
        for target in targets { addWithDescendants(target) }
        for target in effectiveTargets(of: targets) { addAncestors(of: target, below: domain) }
        // Only a transition inside a parallel state, or in a parallel machine, has a parallel domain; all its regions
        // were exited.
        if tree.nodes[domain].kind == .parallel { addMissingRegions(of: domain) }
    }

    /// SCXML's getEffectiveTargetStates: replaces history states by their recorded states.
    mutating func effectiveTargets(of targets: [Int]) -> StateSet {
        var result = StateSet(stateCount: tree.nodes.count)
        for target in targets {
            guard case .history = tree.nodes[target].kind else {
                result.insert(target)
                continue
            }
            if let remembered = remembered(target) {
                result.formUnion(remembered)
            } else {
                result.formUnion(effectiveTargets(of: tree.nodes[target].initial))
            }
        }
        return result
    }

    private mutating func remembered(_ state: Int) -> StateSet? {
        usesHistory = true
        let slot = tree.nodes[state].historySlot
        guard history.indices.contains(slot), !history[slot].isEmpty else { return nil }
        return history[slot]
    }

    mutating func addWithDescendants(_ state: Int) {
        let node = tree.nodes[state]
        switch node.kind {
        case .history:
            let targets = remembered(state).map { Array($0) } ?? node.initial
            for target in targets { addWithDescendants(target) }
            for target in targets { addAncestors(of: target, below: node.parent) }
        case .compound:
            states.insert(state)
            for target in node.initial { addWithDescendants(target) }
            for target in node.initial { addAncestors(of: target, below: state) }
        case .parallel:
            states.insert(state)
            addMissingRegions(of: state)
        case .atomic, .final:
            states.insert(state)
        }
    }

    private mutating func addAncestors(of state: Int, below ancestor: Int) {
        var next = tree.nodes[state].parent
        while next > ancestor {
            states.insert(next)
            if tree.nodes[next].kind == .parallel { addMissingRegions(of: next) }
            next = tree.nodes[next].parent
        }
    }

    private mutating func addMissingRegions(of state: Int) {
        for region in tree.nodes[state].children {
            // SCXML tests proper descendants only. A region that is in the set already has its descendants in it, or is
            // atomic.
            if let first = states.first(from: region), first < tree.nodes[region].end { continue }
            addWithDescendants(region)
        }
    }
}
