public import TelltaleModel

/// The memory of one run of a ``Statechart``: its configuration, its history, its timers, its parked events.
///
/// It holds no machine: whoever owns it hands in the same ``Statechart`` every time.
public struct MachineInstance: Hashable, Sendable {
    /// Every active state, the root too.
    var configuration: StateSet
    /// By history state; no element at all until something is remembered.
    var history: [StateSet] = []
    var timers = TimerList()
    /// In the order of their arrival.
    var parked: [ParkedEvent] = []

    /// At most so many timers and delayed events, and so many parked events.
    static let pendingLimit = 64

    init(configuration: StateSet) {
        self.configuration = configuration
    }

    struct Timer: Hashable, Sendable {
        enum Cause: Hashable, Sendable {
            /// An index into ``Tables/timers``.
            case after(Int32)
            /// The id is −1 where it has none.
            case send(event: Int32, id: Int32)
        }

        var deadline: Timestamp
        var cause: Cause
    }

    struct ParkedEvent: Hashable, Sendable {
        var event: Int
        var content: JSON
    }

    /// Behind every timer that is due no later.
    mutating func arm(_ timer: Timer) throws(MachineError) {
        guard timers.count < Self.pendingLimit else { throw .tooManyPending(limit: Self.pendingLimit) }
        timers.insert(timer)
    }
}

extension MachineInstance {
    /// The next moment at which ``Statechart/fireDeadline(dueBy:instance:values:contentLimit:)`` has something to do.
    public var deadline: Timestamp? { timers.first?.deadline }

    /// Drops every timer and every delayed event: the activity ended.
    public mutating func cancelDeadlines() {
        timers.removeAll()
    }

    /// Every active state but the root, outermost first, regions in their order.
    public func configuration(in statechart: Statechart) -> StateList {
        StateList(configuration, from: 1)
    }

    /// The active states that have no active child, in the order of regions.
    public func leaves(in statechart: Statechart) -> StateList {
        // Asked several times with every event.
        guard let leaves = statechart.leafWord, let active = configuration.word else {
            return StateList(configuration.intersection(statechart.tables.leaves), from: 0)
        }
        return StateList(word: active & leaves)
    }

    /// The only one of ``leaves(in:)``; `nil` where there are several, or more than 64 states in the machine.
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

    /// Whether `state` is active.
    public func isActive(_ state: StateIndex, in statechart: Statechart) -> Bool {
        (0..<statechart.tables.stateCount).contains(state.rawValue) && configuration.contains(state.rawValue)
    }

    /// The machine is in a top-level final state, or all its regions are in final ones.
    public func isDone(in statechart: Statechart) -> Bool { statechart.isDone(configuration) }
}
