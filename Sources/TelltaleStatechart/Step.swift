internal import TelltaleModel

/// One step in the making: copies of everything that it may change, thrown away whole when it fails.
///
/// The procedures are those of the SCXML recommendation, appendix "Algorithm for SCXML Interpretation", without
/// threads and documents; the departures are told where they are.
struct Step {
    let chart: Statechart
    var instance: MachineInstance
    var values: MachineValues
    /// The step's own time: of its event, or of its deadline.
    let time: Timestamp
    /// Bytes.
    let contentLimit: Int
    var result = StepResult(verdict: .ignored)

    /// SCXML's internal queue, from `raisedStart` on.
    private var raised: [Int] = []
    private var raisedStart = 0
    /// What `send` without a delay sent, from `sentStart` on.
    private var sent: [Int] = []
    private var sentStart = 0
    private(set) var isDone = false
    /// Something was entered or exited since the parked events were looked at.
    private var hasMoved = false
    /// Something was entered, exited or carried out.
    private var hasDoneAnything = false
    private var hasAssigned = false
    /// A timer was armed that is due already: an `after` of no time.
    private(set) var hasArmedDueTimer = false
    /// Nothing but the configuration and the event had a say in it: see ``TransitionCache``.
    var isPlain = true
    /// It is made to learn whether it is plain, and ends with an error before it carries out an action.
    private let isTrial: Bool

    /// What may follow one event without settling, and what may follow one call: see ``MachineError/alwaysLoop``.
    static let microstepLimit = 100

    init(
        chart: Statechart, instance: MachineInstance, values: MachineValues, time: Timestamp, contentLimit: Int,
        isTrial: Bool = false
    ) {
        self.isTrial = isTrial
        self.chart = chart
        self.instance = instance
        self.values = values
        self.time = time
        self.contentLimit = contentLimit
    }

    /// Makes what came of it the owner's. Changed over, not copied: what a step holds is counted, piece by piece.
    ///
    /// - Returns: What it did, beside the values that it began with.
    mutating func hand(over instance: inout MachineInstance, _ values: inout MachineValues) -> StepResult {
        var result = StepResult(verdict: .ignored)
        swap(&self.result, &result)
        result.contentChanged = hasAssigned && self.values.content != values.content
        swap(&self.instance, &instance)
        swap(&self.values, &values)
        return result
    }

    // MARK: The ways in

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

    mutating func take(event: Int, name: String, content: JSON) throws(MachineError) {
        values.boundEvent = .named(name, content: content)
        let verdict = try dispatch(event, content: content)
        try complete(verdict: verdict)
    }

    mutating func fire(_ timer: MachineInstance.Timer) throws(MachineError) {
        switch timer.cause {
        case .after(let index):
            values.event = .null
            // It is cancelled when its state is exited, so the state is active.
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

    /// - Returns: `false` when no edge takes the event.
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

    /// Takes everything that the event set off, to the end.
    private mutating func complete(verdict: Verdict) throws(MachineError) {
        try settle()
        try takeWaiting()
        if isDone { forgetWaiting() }
        result.verdict = hasDoneAnything ? .applied : verdict
        result.isDone = isDone
    }

    /// One event: its transitions, or its parking.
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
        isPlain = false
        guard instance.parked.count < MachineInstance.pendingLimit else {
            throw .tooManyPending(limit: MachineInstance.pendingLimit)
        }
        // The members that it takes away are in no content that was measured, and are kept with it.
        let byteCount = content.textByteCount
        guard byteCount <= contentLimit else {
            throw .parkedTooLarge(byteCount: byteCount, limit: contentLimit)
        }
        instance.parked.append(.init(event: event, content: content))
    }

    /// The rest of a macrostep: `always` transitions first, then raised and done events, until there are neither.
    private mutating func settle() throws(MachineError) {
        var microstepCount = 0
        while !isDone {
            var transitions = selectAlways()
            if transitions.isEmpty {
                guard raisedStart < raised.count else { break }
                let event = raised[raisedStart]
                raisedStart += 1
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
        raised = []
        raisedStart = 0
    }

    /// Parked events that may go on, oldest first, then sent ones, each a macrostep of its own.
    private mutating func takeWaiting() throws(MachineError) {
        var macrostepCount = 0
        // Nothing parked goes on before something moves.
        var candidate = instance.parked.count
        while !isDone {
            if hasMoved {
                hasMoved = false
                candidate = 0
            }
            if candidate < instance.parked.count {
                let parked = instance.parked[candidate]
                bind(parked.event, content: parked.content)
                // The owner merges the content of an event that is taken at once; that of a parked one comes with it.
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
            } else if sentStart < sent.count {
                let event = sent[sentStart]
                sentStart += 1
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

    /// A machine that is done hears of nothing any more.
    private mutating func forgetWaiting() {
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
        for index in transitions { try carryOut(chart.tables.transitions[index].actions) }
        if moving.isEmpty { return }
        // Behind the exits, because history states remember what was just exited.
        var entries = StateSet(stateCount: chart.tables.stateCount)
        for index in moving { addEntrySet(of: index, to: &entries) }
        try enter(entries)
    }

    /// SCXML's computeExitSet for one transition. It is empty exactly where nothing will be entered.
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
        // A status that repeats, or one that was skipped to already, changes nothing.
        if chart.tables.transitions[index].isSkip,
            chart.tables.transitions[index].targetSet.isSubset(of: instance.configuration)
        {
            return StateSet(stateCount: chart.tables.stateCount)
        }
        return instance.configuration.intersection(chart.tables.transitions[index].exitCandidates)
    }

    /// The regions that a skip moves, each with its targets in it.
    ///
    /// A skip tells how far along something is, and nothing of the regions beside: while the parallel state around a
    /// target is active they stay as they are. SCXML would leave them all, and enter them at their beginnings. It holds
    /// as well behind the exits of the microstep as before: what is left lies inside of the regions.
    ///
    /// - Returns: `nil` where the parallel state is not active, and the transition is like any other.
    private func regions(movedBy index: Int) -> [(region: Int, targets: [Int])]? {
        let tree = chart.tables.tree
        guard let domain = domain(of: chart.tables.transitions[index]) else { return nil }
        var regions: [(region: Int, targets: [Int])] = []
        for target in chart.tables.transitions[index].targets {
            // One that is there already is no news.
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

    private func addEntrySet(of index: Int, to entries: inout StateSet) {
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

    /// Of a transition that depends on history. `nil` where it leads to its own source, and stays.
    private func domain(of transition: Transition) -> Int? {
        var set = EntrySet(tree: chart.tables.tree, history: instance.history)
        let targets = set.effectiveTargets(of: transition.targets)
        return chart.tables.tree.domain(of: transition.source, targets: targets, reenter: transition.reenter)
    }

    private mutating func exit(_ states: StateSet) throws(MachineError) {
        hasMoved = true
        hasDoneAnything = true
        // All of them remember before the first exit action: SCXML's exitStates.
        if chart.tables.hasHistory.intersects(states) { remember(exiting: states) }
        if chart.tables.hasExitActions.intersects(states) {
            var rest = chart.tables.stateCount
            while let state = states.last(before: rest) {
                try carryOut(chart.tables.exitActions[state])
                rest = state
            }
        }
        if chart.tables.hasTimers.intersects(states) {
            isPlain = false
            if !instance.timers.isEmpty {
                instance.timers.removeAll { timer in
                    guard case .after(let index) = timer.cause else { return false }
                    return states.contains(chart.tables.timers[Int(index)].state)
                }
            }
        }
        instance.configuration.subtract(states)
    }

    private mutating func remember(exiting states: StateSet) {
        isPlain = false
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
            try carryOut(chart.tables.entryActions[state])
            for index in chart.tables.stateTimers[state] {
                isPlain = false
                let deadline = time + chart.tables.timers[index].delay
                if deadline <= time { hasArmedDueTimer = true }
                try instance.arm(.init(deadline: deadline, cause: .after(Int32(index))))
            }
            if chart.tables.finals.contains(state) { raiseDone(final: state) }
        }
        isDone = chart.isDone(instance.configuration)
    }

    /// Departs from SCXML in one thing: a parallel state directly inside of another completes that one too.
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

    // MARK: Actions

    private mutating func carryOut(_ range: Range<Int>) throws(MachineError) {
        if range.isEmpty { return }
        hasDoneAnything = true
        isPlain = false
        // Actions may go on for as long as their limits let them, and those are not a trial's.
        guard !isTrial else { throw .alwaysLoop }
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

    /// The content that a parked event brings. One that no longer fits stays behind: refusing it would refuse every
    /// later event too.
    private mutating func merge(_ patch: JSON) {
        guard let members = patch.object, !members.isEmpty else { return }
        let merged = values.content.merging(patch)
        guard values.attributes.textByteCount + merged.textByteCount <= contentLimit else { return }
        values.content = merged
        hasAssigned = true
    }

    /// All at once: what one member reads is not what another has just been set to, whatever their names.
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
}
