internal import TelltaleModel

extension Compiler {
    /// Compiles the transitions, timers, actions and deferred events of one state.
    mutating func compile(state: Int) {
        let description = descriptions[state]
        tables.entryActions.append(compile(description.entry))
        tables.exitActions.append(compile(description.exit))
        var groups = Groups()
        var reopens = Groups()
        // The transitions of a final state are dropped; the lint reports them.
        if tree.nodes[state].kind != .final, isState(state) {
            for transition in description.transitions {
                switch transition.trigger {
                case .event(let name): groups.add(transition, for: event(name))
                case .wildcard: groups.wildcard.append(transition)
                case .always: groups.always.append(transition)
                case .after(let delay): groups.add(transition, after: delay)
                // `onDone` comes before the transitions that `on` has for the same event.
                case .done: if canComplete(state) { groups.done.append(transition) }
                }
            }
            for name in description.deferred { groups.deferred.insert(event(name)) }
        } else if tables.topLevelFinals.contains(state) {
            for transition in description.reopen {
                switch transition.trigger {
                case .event(let name): reopens.add(transition, for: event(name))
                case .wildcard: reopens.wildcard.append(transition)
                case .always, .after, .done: break
                }
            }
        }
        if !groups.done.isEmpty {
            groups.events[tables.doneEvents[state], default: []].insert(contentsOf: groups.done, at: 0)
        }
        tables.stateTriggers.append(compileTriggers(of: groups, in: state))
        tables.wildcardTransitions.append(compile(groups.wildcard, in: state))
        tables.alwaysTransitions.append(compile(groups.always, in: state))
        let firstTimer = tables.timers.count
        for (delay, transitions) in groups.timers.sorted(by: { $0.key < $1.key }) {
            let range = compile(transitions, in: state)
            tables.timers.append(TimerEntry(state: state, delay: delay, transitions: range))
        }
        tables.stateTimers.append(firstTimer..<tables.timers.count)
        tables.reopenTriggers.append(compileTriggers(of: reopens, in: state))
        tables.reopenWildcards.append(compile(reopens.wildcard, in: state))
        note(state)
    }

    /// Transitions by their trigger; within one trigger, in their order.
    private struct Groups {
        var events: [Int: [TransitionDescription]] = [:]
        var timers: [Milliseconds: [TransitionDescription]] = [:]
        var wildcard: [TransitionDescription] = []
        var always: [TransitionDescription] = []
        var done: [TransitionDescription] = []
        var deferred: Set<Int> = []

        mutating func add(_ transition: TransitionDescription, for event: Int) {
            events[event, default: []].append(transition)
        }

        mutating func add(_ transition: TransitionDescription, after delay: Milliseconds) {
            timers[delay, default: []].append(transition)
        }
    }

    private func isState(_ state: Int) -> Bool {
        if case .history = tree.nodes[state].kind { false } else { true }
    }

    private mutating func note(_ state: Int) {
        if !tables.exitActions[state].isEmpty { tables.hasExitActions.insert(state) }
        if !tables.alwaysTransitions[state].isEmpty { tables.hasAlways.insert(state) }
        if !tables.wildcardTransitions[state].isEmpty { tables.hasWildcard.insert(state) }
        if !tables.stateTimers[state].isEmpty { tables.hasTimers.insert(state) }
        if !tables.entryActions[state].isEmpty || !tables.stateTimers[state].isEmpty || tables.finals.contains(state) {
            tables.needsEntryWork.insert(state)
        }
    }

    private mutating func compileTriggers(of groups: Groups, in state: Int) -> Range<Int> {
        let first = tables.triggers.count
        for event in Set(groups.events.keys).union(groups.deferred).sorted() {
            let transitions = compile(groups.events[event] ?? [], in: state)
            tables.triggers.append(
                TriggerEntry(event: event, transitions: transitions, isDeferred: groups.deferred.contains(event)))
        }
        return first..<tables.triggers.count
    }

    private mutating func compile(_ transitions: [TransitionDescription], in source: Int) -> Range<Int> {
        let first = tables.transitions.count
        for transition in transitions { compile(transition, source: source) }
        lintAlternatives(transitions)
        return first..<tables.transitions.count
    }

    private mutating func compile(_ description: TransitionDescription, source: Int) {
        var targets = resolveTargets(of: description)
        var condition = -1
        if let written = description.condition, let compiled = compile(written, at: description.location) {
            condition = tables.guards.count
            tables.guards.append(compiled)
        }
        var exitCandidates = StateSet(stateCount: states.count)
        var entry = EntrySet(tree: tree, history: [])
        var targetSet = StateSet(stateCount: states.count)
        var staysInRegions = false
        if !hasErrors {
            for target in targets { targetSet.insert(target) }
            let effective = entry.effectiveTargets(of: targets)
            if let domain = tree.domain(of: source, targets: effective, reenter: description.reenter) {
                entry.add(targets: targets, below: domain)
                exitCandidates = tree.descendants(of: domain)
                staysInRegions =
                    description.skip && !description.reenter && targets.contains { isInRegion($0, below: domain) }
            } else if !entry.usesHistory {
                targets = []
            }
        }
        tables.transitions.append(
            Transition(
                source: source, condition: condition, actions: compile(description.actions), targets: targets,
                exitCandidates: exitCandidates, entrySet: entry.states, usesHistory: entry.usesHistory,
                reenter: description.reenter, isSkip: description.skip, staysInRegions: staysInRegions,
                targetSet: targetSet, location: description.location))
    }

    /// Whether `state` has a parallel ancestor that is `domain` or inside it.
    private func isInRegion(_ state: Int, below domain: Int) -> Bool {
        var outer = tree.nodes[state].parent
        while outer >= domain {
            if tree.nodes[outer].kind == .parallel { return true }
            outer = tree.nodes[outer].parent
        }
        return false
    }

    /// The state's own rank, or else that of its nearest ancestor.
    func rank(of state: Int) -> Int? {
        var next = state
        while next >= 0 {
            if let rank = descriptions[next].rank { return rank }
            next = tree.nodes[next].parent
        }
        return nil
    }

    private mutating func compile(_ actions: [ActionDescription]) -> Range<Int> {
        let first = tables.actions.count
        for action in actions {
            switch action.action {
            case .assign(let assignments): tables.actions.append(.assign(assignments))
            case .raise(let name):
                checkRaised(name, at: action.location)
                tables.actions.append(.raise(event: event(name)))
            case .send(let name, let delay, let id):
                checkRaised(name, at: action.location)
                tables.actions.append(.send(event: event(name), delay: delay, id: sendID(id)))
            case .cancel(let id): tables.actions.append(.cancel(id: sendID(id)))
            }
        }
        return first..<tables.actions.count
    }

    // MARK: Guards

    /// Compiles a guard; `nil` if it names an unknown state.
    mutating func compile(_ condition: Guard, at location: String) -> CompiledGuard? {
        compile(condition.expression, at: location)
    }

    private mutating func compile(_ expression: GuardExpression, at location: String) -> CompiledGuard? {
        switch expression {
        case .any(let parts):
            let compiled = parts.compactMap { compile($0, at: location) }
            return compiled.count == parts.count ? .any(compiled) : nil
        case .all(let parts):
            let compiled = parts.compactMap { compile($0, at: location) }
            return compiled.count == parts.count ? .all(compiled) : nil
        case .not(let part): return compile(part, at: location).map { .not($0) }
        case .isActive(let name):
            guard let state = resolve(name, at: location) else { return nil }
            return .isActive(state)
        case .isTrue(let operand): return .isTrue(operand)
        case .compares(.state, let comparison, let value), .compares(let value, let comparison, .state):
            let isLeaf = isLeafNamed(value)
            return comparison == .equal ? isLeaf : .not(isLeaf)
        case .compares(let left, let comparison, let right): return .compares(left, comparison, right)
        case .isOneOf(.state, let values): return .any(values.map { isLeafNamed($0) })
        case .isOneOf(let value, let values): return .isOneOf(value, values)
        }
    }

    private func isLeafNamed(_ value: GuardOperand) -> CompiledGuard {
        switch value {
        case .path(let path): return .isLeafNamed(path)
        case .literal(let literal):
            var named = StateSet(stateCount: states.count)
            for state in states.indices where isLeaf(state) {
                if literal == .string(states[state].key) || literal == .string(states[state].path) {
                    named.insert(state)
                }
            }
            return .isLeaf(named)
        case .state, .lifecycle: return .any([])  // The parser refuses them.
        }
    }
}
