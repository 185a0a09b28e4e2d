internal import TelltaleModel

/// The lint rules of Protocols/Kinds/README.md that concern a machine by itself.
extension Compiler {
    mutating func lint() {
        lintCycles()
        lintReachability()
        lintDeadEnds()
        for state in descriptions.indices {
            lintFinal(state)
            lintRanks(of: state)
            lintDone(of: state)
            lintDeferral(in: state)
            lintResets(by: state)
        }
    }

    /// Alternatives are tried in order, so none after an unguarded one is ever taken.
    mutating func lintAlternatives(_ transitions: [TransitionDescription]) {
        guard let first = transitions.firstIndex(where: { $0.condition == nil && !$0.skip }) else { return }
        for transition in transitions[(first + 1)...] {
            let isUnguarded = transition.condition == nil && !transition.skip
            warn(
                transition.location,
                isUnguarded
                    ? "a second alternative without a guard is never taken"
                    : "an alternative behind one without a guard is never taken",
                advice: "give the one before it a guard, or drop this one")
        }
    }

    mutating func checkRaised(_ name: String, at location: String) {
        guard name.utf8.starts(with: Statechart.donePrefix.utf8) else { return }
        warn(
            location, "\(quoted(name)) is what the machine says of a state that is done",
            advice: "raise an event with a name of its own")
    }

    // MARK: Cycles without an event

    /// The reason why a machine leaves a state immediately, without an event.
    private enum ImmediateTransition {
        /// The state's first `always` has no guard.
        case always(Int)
        /// The state's first `after` of zero delay has no guard.
        case after(Int)

        var transition: Int {
            switch self {
            case .always(let index), .after(let index): index
            }
        }
    }

    /// Reports cycles of states that the machine leaves immediately: it would never settle.
    private mutating func lintCycles() {
        var leaving: [Int: ImmediateTransition] = [:]
        for state in states.indices {
            leaving[state] =
                unguardedAlways(of: state).map { .always($0) } ?? unguardedTimer(of: state).map { .after($0) }
        }
        var next: [Int: [Int]] = [:]
        for (state, reason) in leaving { next[state] = statesInForce(after: reason) }
        var reported: Set<Int> = []
        for start in states.indices where !reported.contains(start) {
            guard let reason = leaving[start] else { continue }
            var seen: Set<Int> = []
            var waiting = next[start] ?? []
            while let state = waiting.popLast() {
                if state == start {
                    reported.formUnion(seen)
                    reported.insert(start)
                    warn(of: reason, at: start)
                    break
                }
                if seen.insert(state).inserted { waiting += next[state] ?? [] }
            }
        }
    }

    private mutating func warn(of reason: ImmediateTransition, at state: Int) {
        let location = tables.transitions[reason.transition].location
        switch reason {
        case .always:
            error(
                location, "an `always` without a guard leads \(name(of: state)) back to itself, without an end",
                advice: "give one on the way a guard")
        case .after:
            addFault(
                location, "an `after` of no time leads \(name(of: state)) back to itself, without an end",
                advice: "give one on the way a time, or a guard")
        }
    }

    private func unguardedAlways(of state: Int) -> Int? {
        guard let first = tables.alwaysTransitions[state].first, isUnguarded(first) else { return nil }
        return first
    }

    private func unguardedTimer(of state: Int) -> Int? {
        // Timers are sorted by delay, shortest first.
        guard let timer = tables.stateTimers[state].first, tables.timers[timer].delay <= .zero,
            let first = tables.timers[timer].transitions.first, isUnguarded(first)
        else { return nil }
        return first
    }

    private func hasTimerOfNoTime(_ state: Int) -> Bool {
        tables.stateTimers[state].first.map { tables.timers[$0].delay <= .zero } ?? false
    }

    private func isUnguarded(_ transition: Int) -> Bool {
        tables.transitions[transition].condition < 0 && !tables.transitions[transition].isSkip
    }

    /// The states that the machine leaves immediately after it has taken this transition: for each leaf that it enters,
    /// the state whose immediate transition takes precedence.
    private func statesInForce(after reason: ImmediateTransition) -> [Int] {
        let transition = tables.transitions[reason.transition]
        if transition.exitCandidates.isEmpty {
            // A targetless transition changes nothing: an `always` is taken again, while a timer has fired and is gone.
            if case .always = reason { return [transition.source] }
            return []
        }
        let entered = transition.entrySet
        // A machine that is done takes no further transition.
        if entered.intersects(tables.topLevelFinals) { return [] }
        if tables.isParallel, tree.isInFinalState(0, configuration: entered) { return [] }
        return entered.intersection(tables.leaves).compactMap { stateInForce(around: $0, entered: entered) }
    }

    private func stateInForce(around leaf: Int, entered: StateSet) -> Int? {
        var outermostTimer: Int?
        var state = leaf
        while state >= 0 {
            if unguardedAlways(of: state) != nil { return state }
            // A guarded alternative may end the cycle.
            if !tables.alwaysTransitions[state].isEmpty { return nil }
            if hasTimerOfNoTime(state) { outermostTimer = state }
            state = tree.nodes[state].parent
        }
        // Timers start on entry, and of timers that start together the outermost fires first. A timer of a state that
        // was not entered now may end the cycle.
        guard let outermostTimer, entered.contains(outermostTimer), unguardedTimer(of: outermostTimer) != nil else {
            return nil
        }
        return outermostTimer
    }

    // MARK: Reachability

    private mutating func lintReachability() {
        var reached = tables.initialEntry
        var usedHistories = StateSet(stateCount: states.count)
        for state in tree.nodes.indices {
            for target in tree.nodes[state].initial where isHistory(target) { usedHistories.insert(target) }
        }
        let leaving = Dictionary(grouping: tables.transitions.indices) { tables.transitions[$0].source }
        var fresh = reached
        while let state = fresh.first(from: 0) {
            fresh.remove(state)
            for index in leaving[state] ?? [] {
                let transition = tables.transitions[index]
                for target in transition.targets where isHistory(target) { usedHistories.insert(target) }
                var entered = transition.entrySet
                entered.subtract(reached)
                fresh.formUnion(entered)
                reached.formUnion(entered)
            }
        }
        for state in states.indices.dropFirst() {
            // For an unreachable subtree, its outermost state is reported and no inner one.
            let isInReached = reached.contains(tree.nodes[state].parent)
            guard isInReached, !reached.contains(state), !usedHistories.contains(state) else { continue }
            warn(
                states[state].location, "nothing leads to \(name(of: state))",
                advice: "add a transition to it, or drop it")
        }
    }

    private func isHistory(_ state: Int) -> Bool {
        if case .history = tree.nodes[state].kind { true } else { false }
    }

    private mutating func lintDeadEnds() {
        deadEnds = states.indices.filter { state in
            guard tree.nodes[state].kind == .atomic else { return false }
            var outer = state
            while outer >= 0 {
                if !tables.stateTimers[outer].isEmpty { return false }
                outer = tree.nodes[outer].parent
            }
            return !tables.transitions.contains { transition in
                guard transition.exitCandidates.contains(state) || transition.usesHistory else { return false }
                let source = transition.source
                return source == state || tree.isDescendant(state, of: source) || tree.areOrthogonal(source, state)
            }
        }.map { StateIndex(rawValue: $0) }
    }

    // MARK: Final states, ranks and completion

    private mutating func lintFinal(_ state: Int) {
        let description = descriptions[state]
        let isTopLevelFinal = tables.topLevelFinals.contains(state)
        if tree.nodes[state].kind == .final {
            for transition in description.transitions {
                warn(
                    transition.location, "\(name(of: state)) is final: its edges are never followed",
                    advice: isTopLevelFinal ? "move it to `reopen`" : "drop it, or the `final`")
            }
            if !description.deferred.isEmpty {
                warn(
                    description.location, "\(name(of: state)) is final: it parks nothing",
                    advice: "drop its `defer`")
            }
        }
        if !isTopLevelFinal, let first = description.reopen.first {
            warn(
                first.location, "\(name(of: state)) is not a top-level final state: it is never reopened",
                advice: "drop its `reopen`")
        }
    }

    private mutating func lintRanks(of state: Int) {
        let description = descriptions[state]
        for transition in description.transitions {
            let targets = transition.targets.compactMap { find($0) }
            if transition.skip {
                if targets.compactMap(rank).isEmpty, rank(of: state) != nil || !tables.hasRank.isEmpty {
                    warn(
                        transition.location,
                        "a `skip` to a state without a `rank` is never taken from one that has one",
                        advice: "give the target a `rank`")
                }
            } else if let own = rank(of: state), let target = targets.compactMap(rank).max(), target < own {
                warn(
                    transition.location, "leads back from rank \(own) to rank \(target)",
                    advice: "drop it, or correct the ranks, unless that is meant")
            }
        }
    }

    // MARK: Regions that surprise each other

    /// Warns of an event that one region defers and an ancestor of all regions handles.
    private mutating func lintDeferral(in state: Int) {
        let deferred = descriptions[state].deferred
        guard !deferred.isEmpty else { return }
        var outer = tree.nodes[state].parent
        var isInRegion = false
        while outer >= 0 {
            isInRegion = isInRegion || tree.nodes[outer].kind == .parallel
            defer { outer = tree.nodes[outer].parent }
            guard isInRegion else { continue }
            for transition in descriptions[outer].transitions {
                guard case .event(let name) = transition.trigger, deferred.contains(name) else { continue }
                warn(
                    transition.location,
                    "\(quoted(name)) is deferred by \(self.name(of: state)), which is in one region: it waits until that "
                        + "state is left, whatever the other regions do",
                    advice: "handle it in the regions, or drop the `defer`, unless that is meant")
            }
        }
    }

    /// Warns of a transition from a parallel state into some of its regions, because it exits all of them.
    private mutating func lintResets(by state: Int) {
        guard tree.nodes[state].kind == .parallel else { return }
        let regions = states.indices.filter { tree.nodes[$0].parent == state && !isHistory($0) }
        var reported: Set<String> = []
        for transition in tables.transitions where transition.source == state && !transition.targets.isEmpty {
            guard transition.targets.allSatisfy({ tree.isDescendant($0, of: state) }) else { continue }
            let reset = regions.filter { region in
                transition.exitCandidates.contains(region)
                    && !transition.targets.contains { $0 == region || tree.isDescendant($0, of: region) }
            }
            guard let first = reset.first, reported.insert(transition.location).inserted else { continue }
            warn(
                transition.location,
                "leaves every region of \(name(of: state)) and begins them anew, \(name(of: first)) too",
                advice: "write it in the region that it is for, unless that is meant")
        }
    }

    private mutating func lintDone(of state: Int) {
        for transition in descriptions[state].transitions {
            switch transition.trigger {
            case .done where !canComplete(state):
                warn(
                    transition.location, "\(name(of: state)) is never done",
                    advice: state == 0 ? "drop it: the machine's end is its owner's" : "drop its `onDone`")
            case .event(let name) where name.utf8.starts(with: Statechart.donePrefix.utf8):
                guard !states.indices.contains(where: { canComplete($0) && doneName(of: $0) == name }) else { continue }
                warn(
                    transition.location, "no state is done by the name of \(quoted(name))",
                    advice: "name a state with states or regions by its path, behind `done.`")
            case .event, .wildcard, .always, .after, .done: break
            }
        }
    }
}
