public import TelltaleModel

/// The state of one run of a ``Statechart``: its configuration, history, timers and deferred events.
///
/// It does not store the statechart; its owner passes the same ``Statechart`` to every call.
public struct MachineInstance: Hashable, Sendable {
    /// Every active state, including the root.
    var configuration: StateSet
    /// By history slot; empty until a history state records something.
    var history: [StateSet] = []
    var timers = TimerList()
    /// The deferred events, in the order of their arrival.
    var parked: [ParkedEvent] = []

    /// The largest number of timers and delayed events together, and of deferred events.
    static let pendingLimit = 64

    init(configuration: StateSet) {
        self.configuration = configuration
    }

    struct Timer: Hashable, Sendable {
        enum Cause: Hashable, Sendable {
            /// An index into ``Tables/timers``.
            case after(Int32)
            /// The id is −1 if the send has none.
            case send(event: Int32, id: Int32)
        }

        var deadline: Timestamp
        var cause: Cause
    }

    struct ParkedEvent: Hashable, Sendable {
        var event: Int
        var content: JSON
    }

    /// Adds a timer after every timer that is due at the same time or earlier.
    mutating func arm(_ timer: Timer) throws(MachineError) {
        guard timers.count < Self.pendingLimit else { throw .tooManyPending(limit: Self.pendingLimit) }
        timers.insert(timer)
    }
}

extension MachineInstance {
    /// The time at which ``Statechart/fireDeadline(dueBy:instance:values:contentLimit:deferral:)`` is next due; `nil` if there
    /// is none.
    public var deadline: Timestamp? { timers.first?.deadline }

    /// A timer of an `after`, or a delayed event.
    public enum PendingTimer: Hashable, Sendable {
        /// The `after` of a state: the time from its entry, and when that is over.
        case after(StateIndex, delay: Milliseconds, deadline: Timestamp)
        case event(String, deadline: Timestamp)
    }

    public var hasTimers: Bool { !timers.isEmpty }

    /// Every timer and delayed event: the one that is due first comes first.
    public func forEachTimer(in statechart: Statechart, _ body: (PendingTimer) -> Void) {
        for timer in timers {
            switch timer.cause {
            case .after(let index):
                let entry = statechart.tables.timers[Int(index)]
                body(.after(StateIndex(rawValue: entry.state), delay: entry.delay, deadline: timer.deadline))
            case .send(let event, _):
                body(.event(statechart.tables.events.names[Int(event)], deadline: timer.deadline))
            }
        }
    }

    /// Cancels every timer and every delayed event, because the activity ended.
    public mutating func cancelDeadlines() {
        timers.removeAll()
    }

    /// Whether the same states are active.
    public func hasConfiguration(of other: MachineInstance) -> Bool { configuration == other.configuration }

    /// Every active state but the root, outermost first, regions in their order.
    public func configuration(in statechart: Statechart) -> StateList {
        StateList(configuration, from: 1)
    }

    /// The active states that have no active child, in the order of regions.
    public func leaves(in statechart: Statechart) -> StateList {
        // A word-sized fast path, because every event asks several times.
        guard let leaves = statechart.leafWord, let active = configuration.word else {
            return StateList(configuration.intersection(statechart.tables.leaves), from: 0)
        }
        return StateList(word: active & leaves)
    }

    /// The only one of ``leaves(in:)``; `nil` if there are several, or if the machine has more than 64 states.
    public func loneLeaf(in statechart: Statechart) -> StateIndex? {
        guard let leaves = statechart.leafWord, let active = configuration.word else { return nil }
        let leaf = active & leaves
        guard leaf != 0, leaf & (leaf &- 1) == 0 else { return nil }
        return StateIndex(rawValue: leaf.trailingZeroBitCount)
    }

    /// The first of ``leaves(in:)``.
    public func firstLeaf(in statechart: Statechart) -> StateIndex? {
        configuration.intersection(statechart.tables.leaves).first(from: 0).map { StateIndex(rawValue: $0) }
    }

    /// Whether the machine is in a top-level final state, or all its regions are in final ones.
    public func isDone(in statechart: Statechart) -> Bool { statechart.isDone(configuration) }
}
