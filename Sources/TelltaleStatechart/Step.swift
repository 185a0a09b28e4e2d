internal import TelltaleModel

/// One step in progress. It works on copies of the instance and the values, which are discarded if it fails.
///
/// The procedures are those of the SCXML recommendation, appendix "Algorithm for SCXML Interpretation", without threads
/// and documents. Comments mark the departures.
struct Step {
    private let chart: Statechart
    var instance: MachineInstance
    private(set) var values: MachineValues
    /// The step's own time: that of its event, or of its deadline.
    private let time: Timestamp
    /// In bytes of compact JSON.
    private let contentLimit: Int
    private let deferral: Deferral
    private(set) var result = StepResult(verdict: .ignored)

    /// SCXML's internal queue.
    private var raised = EventQueue()
    /// Events of `send` actions without a delay.
    private var sent = EventQueue()
    private(set) var isDone = false
    /// Whether a state was entered or exited since the deferred events were last tried.
    private var hasMoved = false
    /// Whether a state was entered or exited, or an action ran.
    private var hasDoneAnything = false
    private var hasAssigned = false
    /// Whether the step armed a timer that is already due: an `after` of zero delay.
    private(set) var hasArmedDueTimer = false
    /// Whether the configuration and the event alone determine the step: see ``TransitionCache``.
    private(set) var isCacheable = true
    /// Whether the step only finds out if it is cacheable. Such a step throws before it runs an action.
    private let isDryRun: Bool

    /// The limit of microsteps after one event, and of macrosteps in one call: see ``MachineError/alwaysLoop``.
    static let microstepLimit = 100
    /// The limit of actions in one step: a loop of few microsteps may have thousands in each.
    static let actionLimit = 10_000
    private var actionCount = 0

    init(
        chart: Statechart, instance: MachineInstance, values: MachineValues, time: Timestamp, contentLimit: Int,
        deferral: Deferral = .overOuterTransitions, isDryRun: Bool = false
    ) {
        self.deferral = deferral
        self.isDryRun = isDryRun
        self.chart = chart
        self.instance = instance
        self.values = values
        self.time = time
        self.contentLimit = contentLimit
    }

    /// Moves the results to the owner. Swapped instead of copied, to avoid reference counting of each part.
    ///
    /// - Returns: The effect of the step, compared with the values that it began with.
    mutating func commit(to instance: inout MachineInstance, _ values: inout MachineValues) -> StepResult {
        var result = StepResult(verdict: .ignored)
        swap(&self.result, &result)
        result.contentChanged = hasAssigned && self.values.content != values.content
        swap(&self.instance, &instance)
        swap(&self.values, &values)
        return result
    }

    // MARK: Entry points

    mutating func start() throws(MachineError) {
        values.event = .null
        var entry = chart.tables.initialEntry
        if chart.tables.initialUsesHistory {
            var set = EntrySet(tree: chart.tables.tree, history: [])
            set.addWithDescendants(0)
            entry = set.states
        }
        try enter(entry)
        try complete(verdict: .applied)
    }

    mutating func performEvent(event: Int, name: String, content: JSON) throws(MachineError) {
        values.boundEvent = .named(name, content: content)
        let verdict = try dispatch(event, content: content)
        try complete(verdict: verdict)
    }

    mutating func fire(_ timer: MachineInstance.Timer) throws(MachineError) {
        switch timer.cause {
        case .after(let index):
            values.event = .null
            // The timer is cancelled when its state is exited, so the state is active.
            if let transition = firstEnabled(chart.tables.timers[Int(index)].transitions) {
                try microstep(TransitionList(transition))
            }
            try complete(verdict: .applied)
        case .send(let event, _):
            bind(Int(event), content: [:])
            let verdict = try dispatch(Int(event), content: [:])
            try complete(verdict: verdict)
        }
    }

    /// - Returns: `false` if no `reopen` transition takes the event.
    mutating func reopen(event: Int, name: String, content: JSON) throws(MachineError) -> Bool {
        let finals = instance.configuration.intersection(chart.tables.topLevelFinals)
        guard let final = finals.first(from: 0) else { return false }
        values.boundEvent = .named(name, content: content)
        let entry = chart.entry(for: event, in: chart.tables.reopenTriggers[final])
        let alternatives = entry?.transitions ?? chart.tables.reopenWildcards[final]
        guard let transition = firstEnabled(alternatives) else { return false }
        try microstep(TransitionList(transition))
        isDone = chart.isDone(instance.configuration)
        try complete(verdict: .noop)
        return true
    }

    // MARK: Run to completion

    /// Processes every event that the first one caused, until the machine is stable.
    private mutating func complete(verdict: Verdict) throws(MachineError) {
        try settle()
        try processWaiting()
        if isDone { discardWaiting() }
        result.verdict = hasDoneAnything ? .applied : verdict
        result.isDone = isDone
    }

    /// Takes the transitions of one event, or defers it.
    private mutating func dispatch(_ event: Int, content: JSON) throws(MachineError) -> Verdict {
        let selection = select(event)
        if !selection.transitions.isEmpty {
            try microstep(selection.transitions)
            return .noop
        }
        guard selection.isDeferred else { return .ignored }
        try park(event, content: content)
        return .deferred
    }

    private mutating func park(_ event: Int, content: JSON) throws(MachineError) {
        isCacheable = false
        guard instance.parked.count < MachineInstance.pendingLimit else {
            throw .tooManyPending(limit: MachineInstance.pendingLimit)
        }
        // The event's content is stored apart from the activity's content, so its size is limited on its own.
        let byteCount = content.textByteCount
        guard byteCount <= contentLimit else {
            throw .parkedTooLarge(byteCount: byteCount, limit: contentLimit)
        }
        instance.parked.append(.init(event: event, content: content))
    }

    /// Completes a macrostep: takes `always` transitions first, then raised and done events, until there are neither.
    private mutating func settle() throws(MachineError) {
        var microstepCount = 0
        while !isDone {
            var transitions = selectAlways()
            if transitions.isEmpty {
                guard let event = raised.popFirst() else { break }
                bind(event, content: [:])
                let selection = select(event)
                transitions = selection.transitions
                if transitions.isEmpty {
                    if selection.isDeferred { try park(event, content: [:]) }
                    continue
                }
            }
            microstepCount += 1
            guard microstepCount <= Self.microstepLimit else { throw .alwaysLoop }
            try microstep(transitions)
        }
        raised.removeAll()
    }

    /// Processes deferred events that are no longer deferred, oldest first, then sent events, each in a macrostep of
    /// its own.
    private mutating func processWaiting() throws(MachineError) {
        var macrostepCount = 0
        // No deferred event is tried before a state is entered or exited.
        var candidate = instance.parked.count
        while !isDone {
            if hasMoved {
                hasMoved = false
                candidate = 0
            }
            if candidate < instance.parked.count {
                let parked = instance.parked[candidate]
                bind(parked.event, content: parked.content)
                // The owner merges the content of an event that is taken at once. A deferred event brings its own
                // content.
                let before = values.content
                merge(parked.content)
                let selection = select(parked.event)
                if selection.transitions.isEmpty { values.content = before }
                guard !selection.transitions.isEmpty || !selection.isDeferred else {
                    candidate += 1
                    continue
                }
                instance.parked.remove(at: candidate)
                if !selection.transitions.isEmpty { try microstep(selection.transitions) }
            } else if let event = sent.popFirst() {
                bind(event, content: [:])
                _ = try dispatch(event, content: [:])
                candidate = instance.parked.count
            } else {
                break
            }
            macrostepCount += 1
            guard macrostepCount <= Self.microstepLimit else { throw .alwaysLoop }
            try settle()
        }
    }

    /// A machine that is done takes no further event.
    private mutating func discardWaiting() {
        if !instance.timers.isEmpty { instance.timers.removeAll() }
        if !instance.parked.isEmpty { instance.parked = [] }
    }

    private mutating func bind(_ event: Int, content: JSON) {
        values.boundEvent = .named(chart.tables.events.names[event], content: content)
    }

    // MARK: Microstep

    private mutating func microstep(_ transitions: TransitionList) throws(MachineError) {
        var exits = StateSet(stateCount: chart.tables.stateCount)
        var moving = TransitionList()
        for index in transitions {
            let own = exitSet(of: index)
            if own.isEmpty { continue }
            moving.insert(index)
            exits.formUnion(own)
        }
        if !moving.isEmpty { try exit(exits) }
        for index in transitions { try run(chart.tables.transitions[index].actions) }
        if moving.isEmpty { return }
        // After the exits, because history states record the states that were just exited.
        var entries = StateSet(stateCount: chart.tables.stateCount)
        for index in moving { addEntrySet(of: index, to: &entries) }
        try enter(entries)
    }

    private mutating func exit(_ states: StateSet) throws(MachineError) {
        hasMoved = true
        hasDoneAnything = true
        // SCXML's exitStates: every history is recorded before the first exit action.
        if chart.tables.hasHistory.intersects(states) { recordHistory(exiting: states) }
        if chart.tables.hasExitActions.intersects(states) {
            var rest = chart.tables.stateCount
            while let state = states.last(before: rest) {
                try run(chart.tables.exitActions[state])
                rest = state
            }
        }
        if chart.tables.hasTimers.intersects(states) {
            isCacheable = false
            if !instance.timers.isEmpty {
                instance.timers.removeAll { timer in
                    guard case .after(let index) = timer.cause else { return false }
                    return states.contains(chart.tables.timers[Int(index)].state)
                }
            }
        }
        instance.configuration.subtract(states)
    }

    private mutating func recordHistory(exiting states: StateSet) {
        isCacheable = false
        if instance.history.isEmpty {
            instance.history = [StateSet](
                repeating: StateSet(stateCount: chart.tables.stateCount), count: chart.tables.historyStates.count)
        }
        for state in states.intersection(chart.tables.hasHistory) {
            for slot in chart.tables.histories[state] {
                instance.history[slot] = instance.configuration.intersection(
                    chart.tables.historyStates[slot].candidates)
            }
        }
    }

    private mutating func enter(_ states: StateSet) throws(MachineError) {
        hasMoved = true
        hasDoneAnything = true
        for state in states {
            if state > 0 { result.entries.append(StateIndex(rawValue: state)) }
            instance.configuration.insert(state)
            guard chart.tables.needsEntryWork.contains(state) else { continue }
            try run(chart.tables.entryActions[state])
            for index in chart.tables.stateTimers[state] {
                isCacheable = false
                let deadline = time + chart.tables.timers[index].delay
                if deadline <= time { hasArmedDueTimer = true }
                try instance.arm(.init(deadline: deadline, cause: .after(Int32(index))))
            }
            if chart.tables.finals.contains(state) { raiseDone(final: state) }
        }
        isDone = chart.isDone(instance.configuration)
    }

    /// Raises the done events of a final state that was entered. Departs from SCXML in one point: a completed parallel
    /// state directly inside another can complete that one, too.
    private mutating func raiseDone(final state: Int) {
        let tree = chart.tables.tree
        var ancestor = tree.nodes[state].parent
        guard ancestor > 0 else { return }
        raised.append(chart.tables.doneEvents[ancestor])
        ancestor = tree.nodes[ancestor].parent
        while ancestor > 0, tree.nodes[ancestor].kind == .parallel,
            tree.isInFinalState(ancestor, configuration: instance.configuration)
        {
            raised.append(chart.tables.doneEvents[ancestor])
            ancestor = tree.nodes[ancestor].parent
        }
    }

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

    // MARK: The actions of transitions and states

    mutating func run(_ range: Range<Int>) throws(MachineError) {
        if range.isEmpty { return }
        hasDoneAnything = true
        isCacheable = false
        // A dry run has no limits for content and timers, so it runs no action.
        guard !isDryRun else { throw .alwaysLoop }
        actionCount += range.count
        guard actionCount <= Self.actionLimit else { throw .alwaysLoop }
        for index in range {
            switch chart.tables.actions[index] {
            case .assign(let assignments): try assign(assignments)
            case .raise(let event): raised.append(event)
            case .send(let event, let delay, let id):
                if delay > .zero {
                    try instance.arm(
                        .init(deadline: time + delay, cause: .send(event: Int32(event), id: Int32(id))))
                } else {
                    sent.append(event)
                }
            case .cancel(let id):
                instance.timers.removeAll { timer in
                    guard case .send(_, let own) = timer.cause else { return false }
                    return own == Int32(id)
                }
            }
        }
    }

    /// Merges the content of a deferred event. A content that no longer fits is discarded, because an error would make
    /// every later event fail as well.
    mutating func merge(_ patch: JSON) {
        guard let members = patch.object, !members.isEmpty else { return }
        let merged = values.content.merging(patch)
        guard values.attributes.textByteCount + merged.textByteCount <= contentLimit else { return }
        values.content = merged
        hasAssigned = true
    }

    /// Assigns all members at once: every path reads the values from before the first assignment.
    private mutating func assign(_ assignments: [ActionDescription.Assignment]) throws(MachineError) {
        var content = values.content.object ?? JSONObject()
        for assignment in assignments {
            switch assignment.source {
            case .literal(let literal): content[assignment.name] = literal
            case .path(let path): content[assignment.name] = path.value(in: values)
            }
        }
        values.content = .object(content)
        let byteCount = values.attributes.textByteCount + values.content.textByteCount
        guard byteCount <= contentLimit else {
            throw .contentTooLarge(byteCount: byteCount, limit: contentLimit)
        }
        hasAssigned = true
    }

    // MARK: Sets
    //
    // The states that a transition exits and enters, computed from the configuration and the history alone.

    /// SCXML's computeExitSet for one transition. It is empty exactly if the transition enters nothing.
    func exitSet(of index: Int) -> StateSet {
        if chart.tables.transitions[index].staysInRegions, let regions = regions(movedBy: index) {
            var exits = StateSet(stateCount: chart.tables.stateCount)
            for (region, _) in regions { exits.formUnion(chart.tables.tree.descendants(of: region)) }
            return instance.configuration.intersection(exits)
        }
        if chart.tables.transitions[index].usesHistory {
            guard let domain = domain(of: chart.tables.transitions[index]) else {
                return StateSet(stateCount: chart.tables.stateCount)
            }
            return instance.configuration.intersection(chart.tables.tree.descendants(of: domain))
        }
        // A skip to states that are all active changes nothing.
        if chart.tables.transitions[index].isSkip,
            chart.tables.transitions[index].targetSet.isSubset(of: instance.configuration)
        {
            return StateSet(stateCount: chart.tables.stateCount)
        }
        return instance.configuration.intersection(chart.tables.transitions[index].exitCandidates)
    }

    /// The regions in which a skip moves, each with its targets.
    ///
    /// A skip reports the progress of one region and says nothing about the others. While the parallel state around a
    /// target is active, the other regions stay as they are; SCXML would exit all regions and enter their defaults. The
    /// result is the same before and after the exits of the microstep, because the exited states are inside the
    /// regions.
    ///
    /// - Returns: `nil` if the parallel state is not active; the transition is then like any other.
    private func regions(movedBy index: Int) -> [(region: Int, targets: [Int])]? {
        let tree = chart.tables.tree
        guard let domain = domain(of: chart.tables.transitions[index]) else { return nil }
        var regions: [(region: Int, targets: [Int])] = []
        for target in chart.tables.transitions[index].targets {
            // A target that is active already moves nothing.
            if instance.configuration.contains(target) { continue }
            var region = target
            while tree.isDescendant(region, of: domain), !isActiveRegion(region) { region = tree.nodes[region].parent }
            guard tree.isDescendant(region, of: domain) else { return nil }
            if let position = regions.firstIndex(where: { $0.region == region }) {
                regions[position].targets.append(target)
            } else {
                regions.append((region, [target]))
            }
        }
        return regions
    }

    private func isActiveRegion(_ state: Int) -> Bool {
        let parent = chart.tables.parents[state]
        return chart.tables.tree.nodes[parent].kind == .parallel && instance.configuration.contains(parent)
    }

    func addEntrySet(of index: Int, to entries: inout StateSet) {
        if chart.tables.transitions[index].staysInRegions, let regions = regions(movedBy: index) {
            for (region, targets) in regions {
                var set = EntrySet(tree: chart.tables.tree, history: instance.history)
                set.add(targets: targets, below: region)
                entries.formUnion(set.states)
            }
            return
        }
        guard chart.tables.transitions[index].usesHistory else {
            return entries.formUnion(chart.tables.transitions[index].entrySet)
        }
        guard let domain = domain(of: chart.tables.transitions[index]) else { return }
        var set = EntrySet(tree: chart.tables.tree, history: instance.history)
        set.add(targets: chart.tables.transitions[index].targets, below: domain)
        entries.formUnion(set.states)
    }

    /// The domain of a transition that depends on history; `nil` if it leads to its own source without re-entering.
    private func domain(of transition: Transition) -> Int? {
        var set = EntrySet(tree: chart.tables.tree, history: instance.history)
        let targets = set.effectiveTargets(of: transition.targets)
        return chart.tables.tree.domain(of: transition.source, targets: targets, reenter: transition.reenter)
    }
}

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
