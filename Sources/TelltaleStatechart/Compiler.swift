internal import TelltaleModel

/// Compiles a description into tables and reports its faults.
struct Compiler {
    private(set) var diagnostics: [Diagnostic] = []
    let states: [StateInformation]
    /// See ``Statechart/deadEnds``.
    var deadEnds: [StateIndex] = []

    let root: StateDescription
    private let isAdmitted: Bool
    /// By state index.
    let descriptions: [StateDescription]
    var tree: StateTree
    private let names: StateNames
    var tables: Tables

    /// - Parameter isAdmitted: An earlier release accepted the machine, so faults reported by ``addFault(_:_:advice:)``
    ///   are warnings.
    init(_ description: MachineDescription, isAdmitted: Bool) {
        root = description.root
        self.isAdmitted = isAdmitted
        let numbering = StateNumbering(of: root)
        states = numbering.states
        descriptions = numbering.descriptions
        tree = numbering.tree
        names = numbering.names
        let none = StateSet(stateCount: 1)
        tables = Tables(
            tree: tree, leaves: none, finals: none, topLevelFinals: none, needsEntryWork: none, hasExitActions: none,
            hasTimers: none, hasHistory: none, hasAlways: none, hasWildcard: none, hasRank: none, initialEntry: none)
    }

    /// - Returns: The tables; `nil` if there are errors.
    mutating func compile() -> Tables? {
        guard states.count <= Statechart.stateLimit else {
            error(root.location, "a machine has at most \(Statechart.stateLimit) states", advice: "split the kind")
            return nil
        }
        for state in descriptions.indices { checkShape(of: state) }
        guard isComposite(0) else { return nil }
        resolveInitials()
        // Entry sets are defined for well-formed trees only.
        if hasErrors {
            for state in descriptions.indices { checkTargets(of: state) }
            return nil
        }
        internNames()
        makeSets()
        for state in descriptions.indices { compile(state: state) }
        guard !hasErrors else { return nil }
        makeHearers()
        lint()
        return hasErrors ? nil : tables
    }

    var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }

    mutating func error(_ location: String, _ message: String, advice: String) {
        diagnostics.append(Diagnostic(shortening: .error, path: location, message, advice: advice))
    }

    /// Reports an error, or a warning if the machine is admitted: a journal that holds it must stay readable, and the
    /// fault is tolerable at run time.
    mutating func addFault(_ location: String, _ message: String, advice: String) {
        if isAdmitted {
            warn(location, message, advice: advice)
        } else {
            error(location, message, advice: advice)
        }
    }

    mutating func warn(_ location: String, _ message: String, advice: String) {
        diagnostics.append(Diagnostic(shortening: .warning, path: location, message, advice: advice))
    }

    func name(of state: Int) -> String { state == 0 ? "the machine" : quoted(states[state].path) }

    // MARK: States and names

    private mutating func checkShape(of state: Int) {
        let location = descriptions[state].location
        let node = tree.nodes[state]
        if state > 0, !Self.isKey(states[state].key) {
            error(
                location, "\(quoted(states[state].key)) is not a state's key",
                advice: "use 1 to 64 of A-Z, a-z, 0-9, _ and -")
        }
        var keys: Set<String> = []
        for child in node.children + node.histories where !keys.insert(states[child].key).inserted {
            error(
                descriptions[child].location, "\(name(of: state)) has two states \(quoted(states[child].key))",
                advice: "give each a key of its own")
        }
        switch node.kind {
        case .compound:
            if node.children.isEmpty {
                error(location, "\(name(of: state)) has no states", advice: "add a state, or drop its `states`")
            }
        case .parallel:
            if node.children.isEmpty {
                error(location, "\(name(of: state)) has no regions", advice: "add a region to its `regions`")
            }
            for region in node.children where tree.nodes[region].kind == .final {
                error(
                    descriptions[region].location, "the region \(name(of: region)) is a final state",
                    advice: "make it a state with `states`, one of them final")
            }
        case .atomic, .final, .history:
            if state == 0 {
                error(location, "the machine has no states", advice: "give it `initial` and `states`, or `regions`")
            }
            if !node.children.isEmpty || !node.histories.isEmpty {
                error(
                    location, "\(name(of: state)) cannot have states of its own",
                    advice: "drop its `type`, or its `states`")
            }
        }
    }

    private static func isKey(_ text: String) -> Bool { text.isName(with: "_-") }

    /// Resolves a name: a path, or a key that only one state has. Reports an error and returns `nil` for an unknown or
    /// ambiguous name.
    ///
    /// - Parameter container: The state whose `initial` is resolved. Its children's keys take precedence, and a path
    ///   may start below it.
    mutating func resolve(_ name: String, in container: Int? = nil, at location: String) -> Int? {
        if let container {
            let children = tree.nodes[container].children + tree.nodes[container].histories
            if let child = children.first(where: { states[$0].key == name }) { return child }
        }
        if let index = find(name) { return index }
        let candidates = names.byKey[name] ?? []
        if let container, container > 0, let index = names.byPath["\(states[container].path).\(name)"] { return index }
        if candidates.isEmpty {
            error(location, "there is no state \(quoted(name))", advice: "name a state by its path, or by its key")
        } else {
            let paths = candidates.prefix(3).map { quoted(states[$0].path) }.joined(separator: ", ")
            let more = candidates.count > 3 ? ", or \(candidates.count - 3) more" : ""
            error(location, "\(quoted(name)) may be any of \(paths)\(more)", advice: "name the state by its path")
        }
        return nil
    }

    /// Resolves a name without reporting; `nil` if no state, or several, have it.
    func find(_ name: String) -> Int? { names.find(name) }

    // MARK: Initial and default states

    private mutating func resolveInitials() {
        for state in descriptions.indices {
            let location = descriptions[state].location
            switch descriptions[state].kind {
            case .compound(let initial):
                if initial.isEmpty {
                    error(
                        location, "\(name(of: state)) has no `initial`",
                        advice: "say which of its states is entered first")
                }
                let place = "\(location).initial"
                let targets = initial.compactMap { resolve($0, in: state, at: place) }
                tree.nodes[state].initial = targets
                for target in targets where !tree.isDescendant(target, of: state) {
                    error(
                        place, "\(name(of: target)) is not inside of \(name(of: state))",
                        advice: "name one of its own states")
                }
                checkOrthogonal(targets, at: place)
            case .history(_, let names):
                let place = "\(location).target"
                let parent = tree.nodes[state].parent
                let targets = names.compactMap { resolve($0, at: place) }
                for target in targets {
                    if case .history = tree.nodes[target].kind {
                        error(
                            place, "a history state's default is the history state \(name(of: target))",
                            advice: "name an ordinary state")
                    } else if !tree.isDescendant(target, of: parent) {
                        error(
                            place, "\(name(of: target)) is not inside of \(name(of: parent))",
                            advice: "name a state beside the history state, or inside of one")
                    }
                }
                checkOrthogonal(targets, at: place)
                tree.nodes[state].initial = targets
            case .atomic, .parallel, .final: break
            }
        }
        // A history state without a default enters the same states as its parent's `initial`.
        for state in descriptions.indices {
            guard case .history = tree.nodes[state].kind, tree.nodes[state].initial.isEmpty else { continue }
            let parent = tree.nodes[state].parent
            guard parent >= 0 else { continue }
            switch tree.nodes[parent].kind {
            case .parallel: tree.nodes[state].initial = tree.nodes[parent].children
            case .compound where !tree.nodes[parent].initial.contains(where: { isHistory($0, of: parent) }):
                tree.nodes[state].initial = tree.nodes[parent].initial
            case .compound, .atomic, .final, .history:
                error(
                    descriptions[state].location,
                    "\(name(of: state)) is what \(name(of: parent)) begins with, and has no default",
                    advice: "give it a `target`")
            }
        }
    }

    private func isHistory(_ state: Int, of parent: Int) -> Bool { tree.nodes[parent].histories.contains(state) }

    mutating func checkOrthogonal(_ targets: [Int], at location: String) {
        for (position, left) in targets.enumerated() {
            for right in targets[(position + 1)...] where !tree.areOrthogonal(left, right) {
                error(
                    location, "\(name(of: left)) and \(name(of: right)) cannot be entered together",
                    advice: "name states in different regions of one parallel state")
                return
            }
        }
    }

    /// Checks the names in a machine that will not be compiled, so that its author sees all errors at once.
    private mutating func checkTargets(of state: Int) {
        for transition in descriptions[state].transitions + descriptions[state].reopen {
            _ = resolveTargets(of: transition)
            if let condition = transition.condition { _ = compile(condition, at: transition.location) }
        }
    }

    mutating func resolveTargets(of transition: TransitionDescription) -> [Int] {
        var targets: [Int] = []
        for name in transition.targets {
            if let target = resolve(name, at: transition.location) { targets.append(target) }
        }
        if targets.count == transition.targets.count { checkOrthogonal(targets, at: transition.location) }
        return targets
    }

    // MARK: Events

    private mutating func internNames() {
        var events: Set<[UInt8]> = []
        var ids: Set<[UInt8]> = []
        func collect(_ actions: [ActionDescription]) {
            for action in actions {
                switch action.action {
                case .assign: break
                case .raise(let event): events.insert(Array(event.utf8))
                case .send(let event, _, let id):
                    events.insert(Array(event.utf8))
                    if let id { ids.insert(Array(id.utf8)) }
                case .cancel(let id): ids.insert(Array(id.utf8))
                }
            }
        }
        for (state, description) in descriptions.enumerated() {
            collect(description.entry)
            collect(description.exit)
            for transition in description.transitions + description.reopen {
                collect(transition.actions)
                if case .event(let name) = transition.trigger { events.insert(Array(name.utf8)) }
            }
            for name in description.deferred { events.insert(Array(name.utf8)) }
            if canComplete(state) { events.insert(Array(doneName(of: state).utf8)) }
        }
        func sorted(_ names: Set<[UInt8]>) -> [String] {
            names.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
        }
        tables.events = EventNames(sorted: sorted(events))
        tables.sendIDs = sorted(ids)
    }

    private func isComposite(_ state: Int) -> Bool {
        switch tree.nodes[state].kind {
        case .compound, .parallel: true
        case .atomic, .final, .history: false
        }
    }

    func canComplete(_ state: Int) -> Bool { state > 0 && isComposite(state) }

    func doneName(of state: Int) -> String { Statechart.donePrefix + states[state].path }

    func event(_ name: String) -> Int { tables.events.index(of: name) }

    func sendID(_ name: String?) -> Int {
        guard let name else { return -1 }
        return tables.sendIDs.firstIndex { $0.utf8.elementsEqual(name.utf8) } ?? -1
    }

    // MARK: The tables that hold sets of states, and the slots of history states

    mutating func makeSets() {
        let count = states.count
        var slot = 0
        for parent in tree.nodes.indices {
            let first = slot
            for state in tree.nodes[parent].histories {
                guard case .history(let deep) = tree.nodes[state].kind else { continue }
                var candidates = StateSet(stateCount: count)
                if deep {
                    for inner in parent + 1..<tree.nodes[parent].end where isLeaf(inner) { candidates.insert(inner) }
                } else {
                    for child in tree.nodes[parent].children { candidates.insert(child) }
                }
                tables.historyStates.append(HistoryTableEntry(isDeep: deep, candidates: candidates))
                tree.nodes[state].historySlot = slot
                slot += 1
            }
            tables.histories.append(first..<slot)
        }
        let none = StateSet(stateCount: count)
        tables.tree = tree
        tables.states = states
        tables.leaves = none
        tables.finals = none
        tables.topLevelFinals = none
        tables.needsEntryWork = none
        tables.hasExitActions = none
        tables.hasTimers = none
        tables.hasHistory = none
        tables.hasAlways = none
        tables.hasWildcard = none
        tables.hasRank = none
        tables.isParallel = tree.nodes[0].kind == .parallel
        for state in tree.nodes.indices {
            if isLeaf(state) { tables.leaves.insert(state) }
            if tree.nodes[state].kind == .final {
                tables.finals.insert(state)
                if tree.nodes[state].parent == 0 { tables.topLevelFinals.insert(state) }
            }
            if !tree.nodes[state].histories.isEmpty { tables.hasHistory.insert(state) }
            if rank(of: state) != nil { tables.hasRank.insert(state) }
            tables.ranks.append(rank(of: state))
            tables.parents.append(tree.nodes[state].parent)
            tables.doneEvents.append(canComplete(state) ? event(doneName(of: state)) : -1)
        }
        var entry = EntrySet(tree: tree, history: [])
        entry.addWithDescendants(0)
        tables.initialEntry = entry.states
        tables.initialUsesHistory = entry.usesHistory
    }

    func isLeaf(_ state: Int) -> Bool {
        switch tree.nodes[state].kind {
        case .atomic, .final: true
        case .compound, .parallel, .history: false
        }
    }

    mutating func makeHearers() {
        tables.hearers = [StateSet](repeating: tables.hasWildcard, count: tables.events.names.count)
        for state in tree.nodes.indices {
            for trigger in tables.stateTriggers[state] { tables.hearers[tables.triggers[trigger].event].insert(state) }
        }
    }

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
