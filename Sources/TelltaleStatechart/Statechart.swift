public import TelltaleModel

/// A state's place in a compiled ``Statechart``: 0 is the root, parents come before their children.
public struct StateIndex: Hashable, Comparable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    public static func < (left: StateIndex, right: StateIndex) -> Bool { left.rawValue < right.rawValue }
}

/// A compiled state machine: immutable, shared by every instance of it.
public final class Statechart: Sendable {
    /// Checks a description and makes it run.
    ///
    /// - Parameter isAdmitted: The machine was taken before, and things live by it: what can be lived with, and is refused
    ///   of a new machine all the same, is a warning.
    /// - Returns: The machine, or `nil` when a diagnostic is an error; and every diagnostic, errors first.
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
            states: bare.states, deadEnds: bare.deadEnds, tables: tables, plainSteps: TransitionCache(of: bare))
        return (chart, diagnostics)
    }

    /// The most states a machine may have, history states counted.
    public static let stateLimit = 4096

    /// Every state, in the order of its index.
    public let states: [StateInformation]
    /// Non-final states without children that nothing leaves: no transition of theirs, of a state around them or of a
    /// region beside them, and no `after`. Whoever knows of a `stale` decides whether that is a fault.
    public let deadEnds: [StateIndex]

    let tables: Tables
    /// ``Tables/leaves`` as a word: who reads it counts no references.
    let leafWord: UInt64?
    let plainSteps: TransitionCache

    init(
        states: [StateInformation], deadEnds: [StateIndex], tables: Tables,
        plainSteps: TransitionCache = TransitionCache()
    ) {
        self.plainSteps = plainSteps
        leafWord = tables.leaves.word
        self.states = states
        self.deadEnds = deadEnds
        self.tables = tables
    }
}

/// What people may want to know of a state of a compiled machine.
public struct StateInformation: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case atomic, compound, parallel, final, history
    }

    /// Its key, "" for the root.
    public var key: String
    /// Its keys joined by dots, from the root; "" for the root.
    public var path: String
    public var parent: StateIndex?
    public var kind: Kind
    /// Its place in the description's JSON.
    public var location: String

    public var isFinal: Bool { kind == .final }
}

/// What one step did.
public struct StepResult: Hashable, Sendable {
    /// `applied` where anything was exited, entered or carried out; `noop` where a transition was taken and nothing was
    /// to be done; `ignored` or `deferred`. A timer that fired is `applied`.
    public var verdict: Verdict
    /// The states entered, in the order of entry, repeats included; without the root.
    public var entries: StateList = []
    /// ``entries`` as an array, which costs memory.
    public var entered: [StateIndex] {
        get { Array(entries) }
        set { entries = StateList(newValue) }
    }
    /// The content changed.
    public var contentChanged = false
    /// The machine is in a top-level final state now, or all regions of a parallel machine are in final ones.
    public var isDone = false
    public var guardErrors: GuardErrors?

    public init(verdict: Verdict) {
        self.verdict = verdict
    }
}

/// Guards that failed to evaluate, and were false. An object, because hardly a step has any.
public final class GuardErrors: Hashable, Sendable {
    public let count: Int
    /// Where the first of them stands in the kind's file, for the log.
    public let location: String

    init(count: Int, location: String) {
        self.count = count
        self.location = location
    }

    /// Those of one step, then those of the next.
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

/// The event was refused; the instance and the values are as they were.
public enum MachineError: Error, Hashable, Sendable {
    /// More than 100 microsteps without an event, more than 100 events sent by the machine to itself, or more than 100
    /// timers at one moment: its `always` transitions, what it raises and sends, or its `after` of no time, do not settle.
    case alwaysLoop
    /// An assignment would break the limit of the content's size.
    case contentTooLarge(byteCount: Int, limit: Int)
    /// An event that is to be parked brings more than the content may hold.
    case parkedTooLarge(byteCount: Int, limit: Int)
    /// More parked or delayed events than an instance may hold.
    case tooManyPending(limit: Int)
}

extension Statechart {
    /// What the names of events begin with that only the machine itself may raise.
    public static let donePrefix = "done."

    /// Where `path` leads, or `nil`.
    public func index(ofPath path: String) -> StateIndex? {
        states.firstIndex { $0.path.utf8.elementsEqual(path.utf8) }.map { StateIndex(rawValue: $0) }
    }

    /// A new run, as its initial states are entered, `always` transitions taken, until it is stable.
    ///
    /// - Parameter contentLimit: Bytes of compact JSON that the attributes and the content may have together after an
    ///   assignment; 4,096 on an activity (APNs).
    public func start(
        at time: Timestamp, values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> (instance: MachineInstance, result: StepResult) {
        var instance = MachineInstance(configuration: StateSet(stateCount: tables.stateCount))
        var step = Step(chart: self, instance: instance, values: values, time: time, contentLimit: contentLimit)
        try step.start()
        let result = step.hand(over: &instance, &values)
        return (instance, result)
    }

    /// Takes one event, and everything that it raises, to the end.
    ///
    /// The owner fires every deadline that is due at or before `time` first. What guards and assignments read under
    /// `event` is made of `name` and `content`. A name that begins with ``donePrefix`` is ignored, and so is everything
    /// once the machine is done.
    public func handle(
        event name: String, content: JSON, at time: Timestamp, instance: inout MachineInstance,
        values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> StepResult {
        if let result = plainStep(event: name, instance: &instance) { return result }
        return try wholeStep(
            event: name, content: content, at: time, instance: &instance, values: &values, contentLimit: contentLimit)
    }

    /// What ``TransitionCache`` knows of the event; `nil`, and nothing is changed, where a whole step is to be made.
    package func plainStep(event name: String, instance: inout MachineInstance) -> StepResult? {
        guard instance.parked.isEmpty, let leaf = instance.loneLeaf(in: self), !Self.isReserved(name),
            let outcome = plainSteps.outcome(of: tables.events.index(of: name), in: leaf.rawValue)
        else { return nil }
        instance.configuration.replaceAll(by: outcome.configuration)
        if outcome.isDone, !instance.timers.isEmpty { instance.timers.removeAll() }
        var result = StepResult(verdict: outcome.verdict)
        result.entries = StateList(packed: outcome.entries, count: outcome.entryCount)
        result.isDone = outcome.isDone
        return result
    }

    /// ``handle(event:content:at:instance:values:contentLimit:)`` by the whole of the algorithm, whatever the event does.
    package func wholeStep(
        event name: String, content: JSON, at time: Timestamp, instance: inout MachineInstance,
        values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> StepResult {
        if isDone(instance.configuration) {
            var result = StepResult(verdict: .ignored)
            result.isDone = true
            return result
        }
        guard !Self.isReserved(name) else { return StepResult(verdict: .ignored) }
        var step = Step(chart: self, instance: instance, values: values, time: time, contentLimit: contentLimit)
        try step.take(event: tables.events.index(of: name), name: name, content: content)
        return step.hand(over: &instance, &values)
    }

    /// Fires the earliest deadline, one of those that fell due at or before `time`; `nil` when there is none.
    ///
    /// The step happens at the deadline's own time, whenever it is carried out. Where it arms a timer that is due at that
    /// very time, an `after` of no time, everything that is due then belongs to the step: each call leaves fewer timers
    /// due at one time than there were, so that an owner who calls until it gives `nil` comes to an end.
    ///
    /// - Throws: ``MachineError``, ``MachineError/alwaysLoop`` where more than 100 timers follow each other at one time;
    ///   the instance and the values are as they were, and ``dropDeadline(dueBy:instance:)`` is the way on.
    public func fireDeadline(
        dueBy time: Timestamp, instance: inout MachineInstance, values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> StepResult? {
        guard let timer = instance.timers.first, timer.deadline <= time else { return nil }
        var step = Step(
            chart: self, instance: instance, values: values, time: timer.deadline, contentLimit: contentLimit)
        step.instance.timers.removeFirst()
        try step.fire(timer)
        var timerCount = 1
        while step.hasArmedDueTimer, let next = step.instance.timers.first, next.deadline <= timer.deadline {
            timerCount += 1
            guard timerCount <= Step.microstepLimit else { throw .alwaysLoop }
            step.instance.timers.removeFirst()
            try step.fire(next)
        }
        return step.hand(over: &instance, &values)
    }

    /// Drops the earliest deadline, if it fell due at or before `time`, unheard.
    ///
    /// For an owner whose ``fireDeadline(dueBy:instance:values:contentLimit:)`` threw: the timer would be due forever.
    public func dropDeadline(dueBy time: Timestamp, instance: inout MachineInstance) {
        guard let timer = instance.timers.first, timer.deadline <= time else { return }
        instance.timers.removeFirst()
    }

    /// Follows an edge of the `reopen` of the top-level final state that the instance is in.
    ///
    /// - Returns: `nil` when no edge of it takes the event.
    public func reopen(
        event name: String, content: JSON, at time: Timestamp, instance: inout MachineInstance,
        values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> StepResult? {
        guard !Self.isReserved(name) else { return nil }
        var step = Step(chart: self, instance: instance, values: values, time: time, contentLimit: contentLimit)
        let event = tables.events.index(of: name)
        guard try step.reopen(event: event, name: name, content: content) else { return nil }
        return step.hand(over: &instance, &values)
    }

    /// Whether a transition, a `defer` or a `reopen` names this event anywhere, wildcards not counted.
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

    /// What the state whose triggers are these says of `event`.
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
