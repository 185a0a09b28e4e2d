public import TelltaleModel

/// A state's index in a compiled ``Statechart``: 0 is the root, parents come before their children.
public struct StateIndex: Hashable, Comparable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    public static func < (left: StateIndex, right: StateIndex) -> Bool { left.rawValue < right.rawValue }
}

/// A compiled state machine: immutable, and shared by all its instances.
public final class Statechart: Sendable {
    /// Checks and compiles a description.
    ///
    /// - Parameter isAdmitted: An earlier release accepted the machine and activities depend on it. Faults that are
    ///   tolerable at run time are then warnings instead of errors.
    /// - Returns: The machine, or `nil` if a diagnostic is an error; and all diagnostics, errors first.
    public static func compile(_ description: MachineDescription, isAdmitted: Bool = false) -> (
        statechart: Statechart?, diagnostics: [Diagnostic]
    ) {
        var compiler = Compiler(description, isAdmitted: isAdmitted)
        let tables = compiler.compile()
        let diagnostics =
            compiler.diagnostics.filter { $0.severity == .error }
            + compiler.diagnostics.filter { $0.severity == .warning }
        guard let tables, diagnostics.first?.severity != .error else { return (nil, diagnostics) }
        let bare = Statechart(states: compiler.states, deadEnds: compiler.deadEnds, tables: tables)
        let chart = Statechart(
            states: bare.states, deadEnds: bare.deadEnds, tables: tables, cachedSteps: TransitionCache(of: bare))
        return (chart, diagnostics)
    }

    /// The largest number of states in a machine, history states included.
    public static let stateLimit = 4096

    /// Every state, by index.
    public let states: [StateInformation]
    /// Non-final states without children that no transition and no `after` leaves: neither their own, nor an
    /// ancestor's, nor that of a parallel region. Whether that is a fault depends on `stale`, which the caller knows.
    public let deadEnds: [StateIndex]

    let tables: Tables
    /// ``Tables/leaves`` as a word, which is read without reference counting.
    let leafWord: UInt64?
    let cachedSteps: TransitionCache
    /// The legal configurations of one state and its ancestors, as words. Empty for a machine of more than 64 states.
    let plainConfigurations: [UInt64]

    init(
        states: [StateInformation], deadEnds: [StateIndex], tables: Tables,
        cachedSteps: TransitionCache = TransitionCache()
    ) {
        self.cachedSteps = cachedSteps
        leafWord = tables.leaves.word
        plainConfigurations =
            tables.stateCount > 64
            ? []
            : tables.tree.nodes.indices.compactMap { leaf in
                var (word, state) = (UInt64(0), leaf)
                while state >= 0 {
                    word |= 1 << UInt64(state)
                    state = tables.parents[state]
                }
                guard let set = StateSet(words: [word], stateCount: tables.stateCount) else { return nil }
                return tables.tree.isLegal(set, within: 0) ? word : nil
            }
        self.states = states
        self.deadEnds = deadEnds
        self.tables = tables
    }
}

/// The name, kind and location of a state of a compiled machine.
public struct StateInformation: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case atomic, compound, parallel, final, history
    }

    /// The state's key; empty for the root.
    public var key: String
    /// The keys from the root, joined by dots; empty for the root.
    public var path: String
    public var parent: StateIndex?
    public var kind: Kind
    /// The state's path in the description's JSON.
    public var location: String

    public var isFinal: Bool { kind == .final }
}

/// The effect of one step.
public struct StepResult: Hashable, Sendable {
    /// `applied` if a state was exited or entered or an action ran; `noop` if a transition was taken without effect;
    /// otherwise `ignored` or `deferred`. A step for a timer that fired is `applied`.
    public var verdict: Verdict
    /// The states entered, in the order of entry, repeats included, without the root.
    public var entries: StateList = []
    /// ``entries`` as an array, which is allocated.
    public var entered: [StateIndex] {
        get { Array(entries) }
        set { entries = StateList(newValue) }
    }
    /// Whether the content changed.
    public var contentChanged = false
    /// Whether the machine is in a top-level final state, or all regions of a parallel machine are in final ones.
    public var isDone = false
    public var guardErrors: GuardErrors?
}

/// Guards that could not be evaluated and counted as false. A class, because hardly any step has one and a reference
/// takes less room in the result.
public final class GuardErrors: Hashable, Sendable {
    public let count: Int
    /// The location of the first one in the kind's file, for the log.
    public let location: String

    init(count: Int, location: String) {
        self.count = count
        self.location = location
    }

    /// Combines the errors of two consecutive steps.
    public static func joined(_ first: GuardErrors?, _ second: GuardErrors?) -> GuardErrors? {
        guard let first, let second else { return first ?? second }
        return GuardErrors(count: first.count + second.count, location: first.location)
    }

    public static func == (left: GuardErrors, right: GuardErrors) -> Bool {
        left.count == right.count && left.location == right.location
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        hasher.combine(location)
    }
}

/// Whether an event is deferred that one active state defers and a transition of another state would take.
public enum Deferral: Hashable, Sendable {
    /// A state that defers an event hides it from the transitions of its ancestors. A transition of the same state, of
    /// a descendant or of another region takes the event.
    case overOuterTransitions
    /// Any transition that the event bubbles to in a region takes it. This is the rule of earlier releases, needed to
    /// replay their records.
    case behindAnyTransition
}

/// The reason why an event was refused. The instance and the values are unchanged.
public enum MachineError: Error, Hashable, Sendable {
    /// The machine does not settle: more than 100 microsteps without an external event, more than 100 events that it
    /// sends to itself, more than 100 timers at one time, or more than 10,000 actions. The causes are its `always`
    /// transitions, its `raise` and `send` actions, or its `after` of zero delay.
    case alwaysLoop
    /// An assignment would exceed the size limit of the content, in bytes.
    case contentTooLarge(byteCount: Int, limit: Int)
    /// The content of an event that would be deferred exceeds the size limit, in bytes.
    case parkedTooLarge(byteCount: Int, limit: Int)
    /// More deferred or delayed events than an instance may hold.
    case tooManyPending(limit: Int)
}

extension Statechart {
    /// The prefix of event names that only the machine itself may raise.
    public static let donePrefix = "done."

    /// The state at `path`, or `nil`.
    public func index(ofPath path: String) -> StateIndex? {
        states.firstIndex { $0.path.utf8.elementsEqual(path.utf8) }.map { StateIndex(rawValue: $0) }
    }

    /// Starts a new run: enters the initial states and takes `always` transitions until the machine is stable.
    ///
    /// - Parameter contentLimit: The largest size of the attributes and the content together after an assignment, in
    ///   bytes of compact JSON; 4,096 for an activity, as APNs limits it.
    /// - Throws: ``MachineError``.
    public func start(
        at time: Timestamp, values: inout MachineValues, contentLimit: Int, deferral: Deferral = .overOuterTransitions
    ) throws(MachineError) -> (instance: MachineInstance, result: StepResult) {
        var instance = MachineInstance(configuration: StateSet(stateCount: tables.stateCount))
        var step = Step(
            chart: self, instance: instance, values: values, time: time, contentLimit: contentLimit, deferral: deferral)
        try step.start()
        let result = step.commit(to: &instance, &values)
        return (instance, result)
    }

    /// Processes one event, and every event that it raises, to completion.
    ///
    /// The owner first fires every deadline that is due at or before `time`. Guards and assignments read `name` and
    /// `content` under `event`. An event whose name begins with ``donePrefix`` is ignored, and so is every event once
    /// the machine is done.
    ///
    /// - Throws: ``MachineError``; the instance and the values are then unchanged.
    public func handle(
        event name: String, content: JSON, at time: Timestamp, instance: inout MachineInstance,
        values: inout MachineValues, contentLimit: Int, deferral: Deferral = .overOuterTransitions
    ) throws(MachineError) -> StepResult {
        if let result = cachedStep(event: name, instance: &instance) { return result }
        return try uncachedStep(
            event: name, content: content, at: time, instance: &instance, values: &values, contentLimit: contentLimit,
            deferral: deferral)
    }

    /// Applies the event from ``TransitionCache``. Returns `nil` without a change if the step is not cacheable.
    package func cachedStep(event name: String, instance: inout MachineInstance) -> StepResult? {
        guard instance.parked.isEmpty, let leaf = instance.loneLeaf(in: self), !Self.isReserved(name),
            let outcome = cachedSteps.outcome(of: tables.events.index(of: name), in: leaf.rawValue)
        else { return nil }
        instance.configuration.replaceAll(by: outcome.configuration)
        if outcome.isDone, !instance.timers.isEmpty { instance.timers.removeAll() }
        var result = StepResult(verdict: outcome.verdict)
        result.entries = StateList(packed: outcome.entries, count: outcome.entryCount)
        result.isDone = outcome.isDone
        return result
    }

    /// ``handle(event:content:at:instance:values:contentLimit:deferral:)`` by the full algorithm, without the cache.
    package func uncachedStep(
        event name: String, content: JSON, at time: Timestamp, instance: inout MachineInstance,
        values: inout MachineValues, contentLimit: Int, deferral: Deferral = .overOuterTransitions
    ) throws(MachineError) -> StepResult {
        if isDone(instance.configuration) {
            var result = StepResult(verdict: .ignored)
            result.isDone = true
            return result
        }
        guard !Self.isReserved(name) else { return StepResult(verdict: .ignored) }
        var step = Step(
            chart: self, instance: instance, values: values, time: time, contentLimit: contentLimit, deferral: deferral)
        try step.performEvent(event: tables.events.index(of: name), name: name, content: content)
        return step.commit(to: &instance, &values)
    }

    /// Fires the earliest deadline that is due at or before `time`; returns `nil` if there is none.
    ///
    /// The step's time is the deadline, whenever the call happens. If the step arms a timer that is due at the same
    /// time (an `after` of zero delay), the step includes every timer that is due then. Each call therefore leaves
    /// fewer timers due at one time, and an owner that calls until it gets `nil` terminates.
    ///
    /// - Throws: ``MachineError``; ``MachineError/alwaysLoop`` if more than 100 timers follow each other at one time.
    ///   The instance and the values are then unchanged, and the owner calls ``dropDeadline(dueBy:instance:)`` to go
    ///   on.
    public func fireDeadline(
        dueBy time: Timestamp, instance: inout MachineInstance, values: inout MachineValues, contentLimit: Int,
        deferral: Deferral = .overOuterTransitions
    ) throws(MachineError) -> StepResult? {
        guard let timer = instance.timers.first, timer.deadline <= time else { return nil }
        var step = Step(
            chart: self, instance: instance, values: values, time: timer.deadline, contentLimit: contentLimit,
            deferral: deferral)
        step.instance.timers.removeFirst()
        try step.fire(timer)
        var timerCount = 1
        while step.hasArmedDueTimer, let next = step.instance.timers.first, next.deadline <= timer.deadline {
            timerCount += 1
            guard timerCount <= Step.microstepLimit else { throw .alwaysLoop }
            step.instance.timers.removeFirst()
            try step.fire(next)
        }
        return step.commit(to: &instance, &values)
    }

    /// Drops the earliest deadline without a step, if it is due at or before `time`.
    ///
    /// For an owner whose call of ``fireDeadline(dueBy:instance:values:contentLimit:deferral:)`` threw: the timer would stay due
    /// for ever.
    public func dropDeadline(dueBy time: Timestamp, instance: inout MachineInstance) {
        guard let timer = instance.timers.first, timer.deadline <= time else { return }
        instance.timers.removeFirst()
    }

    /// Takes a `reopen` transition of the top-level final state that the instance is in.
    ///
    /// - Returns: `nil` if no such transition takes the event.
    public func reopen(
        event name: String, content: JSON, at time: Timestamp, instance: inout MachineInstance,
        values: inout MachineValues, contentLimit: Int, deferral: Deferral = .overOuterTransitions
    ) throws(MachineError) -> StepResult? {
        guard !Self.isReserved(name) else { return nil }
        var step = Step(
            chart: self, instance: instance, values: values, time: time, contentLimit: contentLimit, deferral: deferral)
        let event = tables.events.index(of: name)
        guard try step.reopen(event: event, name: name, content: content) else { return nil }
        return step.commit(to: &instance, &values)
    }

    /// Whether a transition, a `defer` or a `reopen` names this event anywhere; wildcards do not count.
    public func handles(event name: String) -> Bool {
        let event = tables.events.index(of: name)
        return event >= 0 && tables.triggers.contains { $0.event == event }
    }

    static func isReserved(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: "d") && name.utf8.starts(with: donePrefix.utf8)
    }

    func isDone(_ configuration: StateSet) -> Bool {
        if configuration.intersects(tables.topLevelFinals) { return true }
        return tables.isParallel && tables.tree.isInFinalState(0, configuration: configuration)
    }

    /// The entry for `event` among the triggers in `range`, which are those of one state.
    func entry(for event: Int, in range: Range<Int>) -> TriggerEntry? {
        guard event >= 0 else { return nil }
        var low = range.lowerBound
        var high = range.upperBound
        while low < high {
            let middle = (low + high) / 2
            if tables.triggers[middle].event < event { low = middle + 1 } else { high = middle }
        }
        return low < range.upperBound && tables.triggers[low].event == event ? tables.triggers[low] : nil
    }
}
