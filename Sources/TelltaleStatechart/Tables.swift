internal import TelltaleModel

/// A compiled machine: everything by dense numbers.
///
/// States are numbered in document order, events and the ids of sends in the order of their bytes, transitions and
/// actions in the order of their states. What a list belongs to has its range in one flat array.
struct Tables: Sendable {
    var tree: StateTree
    var stateCount: Int { tree.nodes.count }

    // MARK: By state

    var parents: [Int] = []
    var entryActions: [Range<Int>] = []
    var exitActions: [Range<Int>] = []
    /// Into ``triggers``, sorted by event.
    var stateTriggers: [Range<Int>] = []
    /// Into ``transitions``.
    var wildcardTransitions: [Range<Int>] = []
    var alwaysTransitions: [Range<Int>] = []
    /// Into ``timers``, shortest first.
    var stateTimers: [Range<Int>] = []
    /// The edges of a top-level final state: into ``triggers``, and into ``transitions``.
    var reopenTriggers: [Range<Int>] = []
    var reopenWildcards: [Range<Int>] = []
    /// The event raised when it is done; −1 for what never is, and for the root.
    var doneEvents: [Int] = []
    /// Its own rank, or its nearest ancestor's.
    var ranks: [Int?] = []
    /// What a compound or parallel state's history states must remember when it is exited.
    var histories: [Range<Int>] = []

    // MARK: Sets of states

    var leaves: StateSet
    var finals: StateSet
    var topLevelFinals: StateSet
    /// Entering it is more than a bit: it has actions or timers, or is final.
    var needsEntryWork: StateSet
    var hasExitActions: StateSet
    var hasTimers: StateSet
    var hasHistory: StateSet
    var hasAlways: StateSet
    var hasWildcard: StateSet
    var hasRank: StateSet
    /// By event: the states with a key for it, deferring it, or with a wildcard.
    var hearers: [StateSet] = []

    // MARK: Flat

    var triggers: [TriggerEntry] = []
    var transitions: [Transition] = []
    var guards: [CompiledGuard] = []
    var actions: [Action] = []
    var timers: [TimerEntry] = []
    /// In the order of their parents.
    var historyStates: [HistoryEntry] = []
    var initialEntry: StateSet
    var initialUsesHistory = false
    /// The machine itself is parallel.
    var isParallel = false

    // MARK: Names

    var states: [StateInformation] = []

    var events = EventNames()
    var sendIDs: [String] = []
}

/// What one state says of one event.
struct TriggerEntry: Sendable {
    var event: Int
    var transitions: Range<Int>
    /// The event waits while the state is active, unless a transition takes it.
    var isDeferred: Bool
}

struct TimerEntry: Sendable {
    var state: Int
    var delay: Milliseconds
    var transitions: Range<Int>
}

struct HistoryEntry: Sendable {
    var isDeep: Bool
    /// The children, or the leaves, below its parent.
    var candidates: StateSet
}

struct Transition: Sendable {
    var source: Int
    /// An index into ``Tables/guards``, or −1.
    var condition: Int
    var actions: Range<Int>
    /// Resolved, history states among them; empty where nothing is exited or entered.
    var targets: [Int]
    /// Everything below the domain: what is exited of it is active.
    var exitCandidates: StateSet
    var entrySet: StateSet
    /// Both sets depend on what history states remember.
    var usesHistory: Bool
    var reenter: Bool
    var isSkip: Bool
    /// A skip that may lead into regions of a parallel state that is active: see ``Step/regions(movedBy:)``.
    var staysInRegions: Bool
    var targetSet: StateSet
    var location: String
}

enum Action: Sendable {
    case assign([ActionDescription.Assignment])
    case raise(event: Int)
    case send(event: Int, delay: Milliseconds, id: Int)
    case cancel(id: Int)
}

/// A ``GuardExpression`` whose states are known.
indirect enum CompiledGuard: Sendable {
    case any([CompiledGuard])
    case all([CompiledGuard])
    case not(CompiledGuard)
    case isActive(Int)
    /// One of these is an innermost active state.
    case isLeaf(StateSet)
    /// The value is the key or the path of an innermost active state.
    case isLeafNamed(ValuePath)
    case isTrue(GuardOperand)
    case compares(GuardOperand, GuardComparison, GuardOperand)
    case isOneOf(GuardOperand, [GuardOperand])
}

/// Event names ⇄ dense numbers. One lookup an event, at the boundary.
struct EventNames: Sendable {
    private(set) var names: [String] = []
    /// Open addressing over the names' bytes: −1, or an index into ``names``.
    private var slots: [Int32] = []

    init() {}

    /// - Parameter sorted: The names in the order of their bytes, each once.
    init(sorted names: [String]) {
        self.names = names
        var capacity = 4
        while capacity < names.count * 2 { capacity *= 2 }
        slots = [Int32](repeating: -1, count: capacity)
        for (index, name) in names.enumerated() {
            var slot = Self.hash(name) & (capacity - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (capacity - 1) }
            slots[slot] = Int32(index)
        }
    }

    /// −1 for a name that the machine does not know.
    func index(of name: String) -> Int {
        guard !slots.isEmpty else { return -1 }
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] >= 0 {
            // Bytes, not characters: Swift's own == takes two different byte strings for one.
            if names[Int(slots[slot])].hasSameBytes(as: name) { return Int(slots[slot]) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return -1
    }

    /// Nobody gains from collisions in their own kind file.
    private static func hash(_ name: String) -> Int { Int(truncatingIfNeeded: StableHash.of(name)) }
}
