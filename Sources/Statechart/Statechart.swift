public import Model

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
    /// - Returns: The machine, or `nil` when a diagnostic is an error; and every diagnostic, errors first.
    public static func compile(_ description: MachineDescription) -> (
        statechart: Statechart?, diagnostics: [Diagnostic]
    ) {
        (nil, [])
    }

    /// Every state, in the order of its index.
    public let states: [StateInformation]

    init(states: [StateInformation]) {
        self.states = states
    }
}

/// What people may want to know of a state of a compiled machine.
public struct StateInformation: Hashable, Sendable {
    /// Its key, "" for the root.
    public var key: String
    /// Its keys joined by dots, from the root; "" for the root.
    public var path: String
    public var parent: StateIndex?
    public var isFinal: Bool
    /// Its place in the description's JSON.
    public var location: String
}

/// The memory of one run of a ``Statechart``: its configuration, its history, its timers, its parked events.
///
/// It holds no machine: whoever owns it hands in the same ``Statechart`` every time.
public struct MachineInstance: Hashable, Sendable {
}

/// What one step did.
public struct StepResult: Hashable, Sendable {
    /// `applied`, `noop`, `ignored` or `deferred`; a timer that fired is `applied`.
    public var verdict: Verdict
    /// The states entered, in the order of entry, repeats included.
    public var entered: [StateIndex] = []
    /// The content changed.
    public var contentChanged = false
    /// The machine is in a top-level final state now.
    public var isDone = false
    /// Guards that failed to evaluate, and were false.
    public var guardErrorCount = 0
}

/// The event was refused; the instance and the values are as they were.
public enum MachineError: Error, Hashable, Sendable {
    /// More than 100 microsteps without an event: the machine's `always` transitions or raised events do not settle.
    case alwaysLoop
    /// An assignment would break the limit of the content's size.
    case contentTooLarge(byteCount: Int, limit: Int)
    /// More parked or sent events than an instance may hold.
    case tooManyPending(limit: Int)
}

extension Statechart {
    /// Where `path` leads, or `nil`.
    public func index(ofPath path: String) -> StateIndex? { nil }

    /// A new run, as its initial states are entered, `always` transitions taken, until it is stable.
    public func start(
        at time: Timestamp, values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> (instance: MachineInstance, result: StepResult) {
        (MachineInstance(), StepResult(verdict: .applied))
    }

    /// Takes one event, and everything that it raises, to the end.
    ///
    /// The owner fires every deadline that is due at or before `time` first. `values.event` is set by this call from
    /// `name` and `content`.
    public func handle(
        event name: String, content: JSON, at time: Timestamp, instance: inout MachineInstance,
        values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> StepResult {
        StepResult(verdict: .ignored)
    }

    /// Fires the earliest deadline, one of those that fell due at or before `time`; `nil` when there is none.
    ///
    /// The step happens at the deadline's own time, whenever it is carried out.
    public func fireDeadline(
        dueBy time: Timestamp, instance: inout MachineInstance, values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> StepResult? {
        nil
    }

    /// Follows an edge of the `reopen` of the top-level final state that the instance is in.
    ///
    /// - Returns: `nil` when no edge of it takes the event.
    public func reopen(
        event name: String, content: JSON, at time: Timestamp, instance: inout MachineInstance,
        values: inout MachineValues, contentLimit: Int
    ) throws(MachineError) -> StepResult? {
        nil
    }

    /// Whether a transition, a `defer` or a `reopen` names this event anywhere, wildcards not counted.
    public func handles(event name: String) -> Bool { false }
}

extension MachineInstance {
    /// The next moment at which ``Statechart/fireDeadline(dueBy:instance:values:contentLimit:)`` has something to do.
    public var deadline: Timestamp? { nil }

    /// Drops every timer and every delayed event: the activity ended.
    public mutating func cancelDeadlines() {}

    /// Every active state, outermost first, regions in their order.
    public func configuration(in statechart: Statechart) -> [StateIndex] { [] }

    /// The active states that have no active child, in the order of regions.
    public func leaves(in statechart: Statechart) -> [StateIndex] { [] }

    public func encode(to writer: inout BinaryWriter) {}

    /// Reads what ``encode(to:)`` wrote for an instance of the same machine, and checks that it is a legal configuration.
    public init(from reader: inout BinaryReader, statechart: Statechart) throws(BinaryError) {}
}
