internal import TelltaleModel

/// The distinct transitions of one microstep. Up to four are stored inline without allocation; most microsteps have
/// one.
struct TransitionList: Sequence {
    private var head: [4 of Int32] = [-1, -1, -1, -1]
    private var headCount = 0
    private var more: [Int] = []

    init() {}
    init(_ transition: Int) { insert(transition) }

    var isEmpty: Bool { headCount == 0 }
    var hasSeveral: Bool { headCount > 1 }

    mutating func insert(_ transition: Int) {
        guard !contains(transition) else { return }
        if headCount < 4, let index = Int32(exactly: transition) {
            head[headCount] = index
            headCount += 1
        } else {
            more.append(transition)
        }
    }

    func contains(_ transition: Int) -> Bool {
        for position in 0..<headCount where Int(head[position]) == transition { return true }
        return more.contains(transition)
    }

    mutating func removeAll(where isRemoved: (Int) -> Bool) {
        var rest = TransitionList()
        for transition in self where !isRemoved(transition) { rest.insert(transition) }
        self = rest
    }

    struct Iterator: IteratorProtocol {
        fileprivate let list: TransitionList
        fileprivate var position = 0

        mutating func next() -> Int? {
            defer { position += 1 }
            if position < list.headCount { return Int(list.head[position]) }
            let rest = position - list.headCount
            return rest < list.more.count ? list.more[rest] : nil
        }
    }

    func makeIterator() -> Iterator { Iterator(list: self) }
}

extension Step {
    struct Selection {
        var transitions = TransitionList()
        /// Whether a state defers the event and no transition takes it.
        var isDeferred = false
    }

    /// SCXML's selectTransitions: for every leaf, the innermost ancestor that takes or defers the event. A state that defers it
    /// then overrules the transitions of the states around it (``Deferral``).
    ///
    /// - Parameter event: −1 for an event that no state names; only wildcards take it.
    mutating func select(_ event: Int) -> Selection {
        var selection = Selection()
        let hears = event < 0 ? chart.tables.hasWildcard : chart.tables.hearers[event]
        guard hears.intersects(instance.configuration) else { return selection }
        var deferring: [Int] = []
        for leaf in instance.configuration.intersection(chart.tables.leaves) {
            var state = leaf
            while state >= 0 {
                defer { state = chart.tables.parents[state] }
                guard hears.contains(state) else { continue }
                guard let entry = chart.entry(for: event, in: chart.tables.stateTriggers[state]) else {
                    if let transition = firstEnabled(chart.tables.wildcardTransitions[state]) {
                        selection.transitions.insert(transition)
                        break
                    }
                    continue
                }
                if let transition = firstEnabled(entry.transitions) {
                    selection.transitions.insert(transition)
                    break
                }
                if entry.isDeferred {
                    selection.isDeferred = true
                    deferring.append(state)
                    break
                }
            }
        }
        if !deferring.isEmpty, !selection.transitions.isEmpty { overrule(&selection.transitions, by: deferring) }
        removeConflicts(&selection.transitions)
        return selection
    }

    /// - Parameter deferring: The states that defer the event.
    private mutating func overrule(_ transitions: inout TransitionList, by deferring: [Int]) {
        func isOverruled(_ transition: Int) -> Bool {
            let source = chart.tables.transitions[transition].source
            return deferring.contains { chart.tables.tree.isDescendant($0, of: source) }
        }
        guard transitions.contains(where: isOverruled) else { return }
        // Another deferral takes them.
        isCacheable = false
        if deferral == .overOuterTransitions { transitions.removeAll(where: isOverruled) }
    }

    /// SCXML's selectEventlessTransitions.
    mutating func selectAlways() -> TransitionList {
        var transitions = TransitionList()
        let hears = chart.tables.hasAlways
        guard hears.intersects(instance.configuration) else { return transitions }
        for leaf in instance.configuration.intersection(chart.tables.leaves) {
            var state = leaf
            while state >= 0 {
                defer { state = chart.tables.parents[state] }
                if hears.contains(state), let transition = firstEnabled(chart.tables.alwaysTransitions[state]) {
                    transitions.insert(transition)
                    break
                }
            }
        }
        removeConflicts(&transitions)
        return transitions
    }

    /// SCXML's removeConflictingTransitions: of two transitions that exit the same state, keeps that of the inner
    /// source, or else the earlier one.
    private func removeConflicts(_ transitions: inout TransitionList) {
        guard transitions.hasSeveral else { return }
        var kept = TransitionList()
        for candidate in transitions {
            let exits = exitSet(of: candidate)
            let source = chart.tables.transitions[candidate].source
            var preempted = TransitionList()
            var isPreempted = false
            for other in kept where exits.intersects(exitSet(of: other)) {
                guard chart.tables.tree.isDescendant(source, of: chart.tables.transitions[other].source) else {
                    isPreempted = true
                    break
                }
                preempted.insert(other)
            }
            guard !isPreempted else { continue }
            kept.removeAll { preempted.contains($0) }
            kept.insert(candidate)
        }
        transitions = kept
    }

    /// The first alternative whose guard holds.
    mutating func firstEnabled(_ range: Range<Int>) -> Int? {
        for index in range where isEnabled(index) { return index }
        return nil
    }

    private mutating func isEnabled(_ index: Int) -> Bool {
        if chart.tables.transitions[index].usesHistory { isCacheable = false }
        if chart.tables.transitions[index].isSkip, goesBack(index) { return false }
        let condition = chart.tables.transitions[index].condition
        guard condition >= 0 else { return true }
        isCacheable = false
        guard let holds = evaluate(chart.tables.guards[condition]) else {
            result.guardErrors = .joined(
                result.guardErrors, GuardErrors(count: 1, location: chart.tables.transitions[index].location))
            return false
        }
        return holds
    }
}

extension Step {
    /// Whether a skip would leave a state of higher rank than the target that replaces it.
    private func goesBack(_ index: Int) -> Bool {
        let targets = chart.tables.transitions[index].targets
        return exitSet(of: index).intersection(chart.tables.hasRank).contains { state in
            // Targets in regions beside this state do not replace it.
            let own = targets.filter { !chart.tables.tree.areOrthogonal($0, state) }
            let highest = (own.isEmpty ? targets : own).compactMap { chart.tables.ranks[$0] }.max() ?? .min
            return chart.tables.ranks[state] ?? .min > highest
        }
    }
}

extension Step {
    /// The value of a guard; `nil` if it is unknown.
    func evaluate(_ condition: CompiledGuard) -> Bool? {
        switch condition {
        case .any(let parts):
            var result: Bool? = false
            for part in parts {
                switch evaluate(part) {
                case true?: return true
                case false?: break
                case nil: result = nil
                }
            }
            return result
        case .all(let parts):
            var result: Bool? = true
            for part in parts {
                switch evaluate(part) {
                case true?: break
                case false?: return false
                case nil: result = nil
                }
            }
            return result
        case .not(let part): return evaluate(part).map { !$0 }
        case .isActive(let state): return instance.configuration.contains(state)
        case .isLeaf(let states): return instance.configuration.intersects(states)
        case .isLeafNamed(let path):
            guard let name = path.value(in: values) else { return nil }
            guard case .string(let text) = name else { return false }
            return instance.configuration.intersection(chart.tables.leaves).contains { isState($0, named: text) }
        case .isTrue(let operand): return value(of: operand)?.bool
        case .compares(let left, let comparison, let right):
            guard let left = value(of: left), let right = value(of: right) else { return nil }
            return comparison.holds(left, right)
        case .isOneOf(let operand, let list):
            guard let value = value(of: operand) else { return nil }
            var result: Bool? = false
            for element in list {
                guard let element = self.value(of: element) else {
                    result = nil
                    continue
                }
                if element == value { return true }
            }
            return result
        }
    }

    private func value(of operand: GuardOperand) -> JSON? {
        switch operand {
        case .literal(let literal): literal
        case .path(let path): path.value(in: values)
        case .state, .lifecycle: nil  // The first is compiled away, and no machine's guard has the second.
        }
    }

    private func isState(_ state: Int, named name: String) -> Bool {
        let information = chart.states[state]
        return information.key.utf8.elementsEqual(name.utf8) || information.path.utf8.elementsEqual(name.utf8)
    }
}
