internal import TelltaleModel

/// One step in progress. It works on copies of the instance and the values, which are discarded if it fails.
///
/// The procedures are those of the SCXML recommendation, appendix "Algorithm for SCXML Interpretation", without threads
/// and documents. Comments mark the departures.
struct Step {
    let chart: Statechart
    var instance: MachineInstance
    var values: MachineValues
    /// The step's own time: that of its event, or of its deadline.
    let time: Timestamp
    /// In bytes of compact JSON.
    let contentLimit: Int
    let deferral: Deferral
    var result = StepResult(verdict: .ignored)

    /// SCXML's internal queue. Internal, as the state below is, because actions in Step+Actions.swift change it.
    var raised = EventQueue()
    /// Events of `send` actions without a delay.
    var sent = EventQueue()
    private(set) var isDone = false
    /// Whether a state was entered or exited since the deferred events were last tried.
    private var hasMoved = false
    /// Whether a state was entered or exited, or an action ran.
    var hasDoneAnything = false
    var hasAssigned = false
    /// Whether the step armed a timer that is already due: an `after` of zero delay.
    private(set) var hasArmedDueTimer = false
    /// Whether the configuration and the event alone determine the step: see ``TransitionCache``.
    var isCacheable = true
    /// Whether the step only finds out if it is cacheable. Such a step throws before it runs an action.
    let isDryRun: Bool

    /// The limit of microsteps after one event, and of macrosteps in one call: see ``MachineError/alwaysLoop``.
    static let microstepLimit = 100
    /// The limit of actions in one step: a loop of few microsteps may have thousands in each.
    static let actionLimit = 10_000
    var actionCount = 0

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
}
