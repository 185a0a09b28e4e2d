internal import TelltaleModel

/// A compiled machine in terms of dense numbers.
///
/// States are numbered in document order, events and send ids in the order of their bytes, transitions and actions in
/// the order of their states. A list that belongs to an item is a range in one flat array.
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
    /// The `reopen` transitions of a top-level final state: into ``triggers``, and into ``transitions``.
    var reopenTriggers: [Range<Int>] = []
    var reopenWildcards: [Range<Int>] = []
    /// The event raised on completion; −1 for the root and for states that cannot complete.
    var doneEvents: [Int] = []
    /// The state's own rank, or else that of its nearest ancestor.
    var ranks: [Int?] = []
    /// The slots of the history states that record when this compound or parallel state is exited.
    var histories: [Range<Int>] = []

    // MARK: Sets of states

    var leaves: StateSet
    var finals: StateSet
    var topLevelFinals: StateSet
    /// States whose entry has actions or timers, or that are final.
    var needsEntryWork: StateSet
    var hasExitActions: StateSet
    var hasTimers: StateSet
    var hasHistory: StateSet
    var hasAlways: StateSet
    var hasWildcard: StateSet
    var hasRank: StateSet
    /// By event: the states that have a transition for it, defer it, or have a wildcard.
    var hearers: [StateSet] = []

    // MARK: Flat

    var triggers: [TriggerEntry] = []
    var transitions: [Transition] = []
    var guards: [CompiledGuard] = []
    var actions: [CompiledAction] = []
    var timers: [TimerEntry] = []
    /// In the order of their parents.
    var historyStates: [HistoryTableEntry] = []
    var initialEntry: StateSet
    var initialUsesHistory = false
    /// Whether the machine itself is parallel.
    var isParallel = false

    // MARK: Names

    var states: [StateInformation] = []

    var events = EventNames()
    var sendIDs: [String] = []
}

/// The reaction of one state to one event.
struct TriggerEntry: Sendable {
    var event: Int
    var transitions: Range<Int>
    /// Whether the event is deferred while the state is active, unless a transition takes it.
    var isDeferred: Bool
}

struct TimerEntry: Sendable {
    var state: Int
    var delay: Milliseconds
    var transitions: Range<Int>
}

struct HistoryTableEntry: Sendable {
    var isDeep: Bool
    /// The children of its parent, or for a deep history the leaves below it.
    var candidates: StateSet
}

struct Transition: Sendable {
    var source: Int
    /// An index into ``Tables/guards``, or −1.
    var condition: Int
    var actions: Range<Int>
    /// The resolved targets, history states included; empty if nothing is exited or entered.
    var targets: [Int]
    /// All descendants of the domain. The active ones among them are exited.
    var exitCandidates: StateSet
    var entrySet: StateSet
    /// Whether both sets depend on recorded history.
    var usesHistory: Bool
    var reenter: Bool
    var isSkip: Bool
    /// A skip that may lead into regions of an active parallel state: see ``Step/regions(movedBy:)``.
    var staysInRegions: Bool
    var targetSet: StateSet
    var location: String
}

enum CompiledAction: Sendable {
    case assign([ActionDescription.Assignment])
    case raise(event: Int)
    case send(event: Int, delay: Milliseconds, id: Int)
    case cancel(id: Int)
}

/// A ``GuardExpression`` with resolved states.
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

/// Maps event names to dense numbers and back, with one lookup an event.
struct EventNames: Sendable {
    private(set) var names: [String] = []
    /// Open addressing over the names' bytes: −1, or an index into ``names``.
    private var slots: [Int32] = []

    init() {}

    /// - Parameter sorted: The distinct names, sorted by their bytes.
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

    /// −1 for an unknown name.
    func index(of name: String) -> Int {
        guard !slots.isEmpty else { return -1 }
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] >= 0 {
            // Compared by bytes: Swift's `==` treats different byte strings as equal.
            if names[Int(slots[slot])].hasSameBytes(as: name) { return Int(slots[slot]) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return -1
    }

    /// The hash need not resist attacks: the names come from the operator's own kind file.
    private static func hash(_ name: String) -> Int { Int(truncatingIfNeeded: StableHash.of(name)) }
}
