import TelltaleModel
import TelltaleStatechart

/// A machine of one coffee order, built in Swift: it waits, is brewed, and is late when nobody begins within five minutes.
///
/// A machine is compiled once, and shared by all its instances. An instance is a value: it has no clock and no timer of
/// its own. Its owner passes the time in, and fires its deadline when that is due.
struct OrderMachine {
    let statechart: Statechart

    /// - Throws: ``Faults``, with every fault of the description and its place in it.
    init() throws {
        var placed = StateDescription(key: "placed", kind: .atomic, location: "states.placed")
        placed.transitions = [
            Self.edge(.event("brew"), to: "brewing"),
            Self.edge(.after(.minutes(5)), to: "late"),
        ]
        var late = StateDescription(key: "late", kind: .atomic, location: "states.late")
        late.transitions = [Self.edge(.event("brew"), to: "brewing")]

        // A guard reads the event, the attributes and the content.
        var brewing = StateDescription(key: "brewing", kind: .atomic, location: "states.brewing")
        var isReady = Self.edge(.event("ready"), to: "ready")
        isReady.condition = try Guard("event.content.cups >= attributes.cups")
        brewing.transitions = [isReady]
        let ready = StateDescription(key: "ready", kind: .final, location: "states.ready")

        var root = StateDescription(key: "", kind: .compound(initial: ["placed"]), location: "machine")
        root.children = [brewing, late, placed, ready]
        let (statechart, diagnostics) = Statechart.compile(MachineDescription(root: root))
        guard let statechart else { throw Faults(diagnostics: diagnostics) }
        self.statechart = statechart
    }

    struct Faults: Error {
        let diagnostics: [Diagnostic]
    }

    private static func edge(_ trigger: Trigger, to target: String) -> TransitionDescription {
        var edge = TransitionDescription(trigger: trigger, location: target)
        edge.targets = [target]
        return edge
    }
}

/// One order, and its machine's state.
struct Order {
    private let machine: OrderMachine
    private var instance: MachineInstance
    private var values: MachineValues

    /// Bytes that attributes and content may have together, as compact JSON.
    private static let contentLimit = 4_096

    init(_ machine: OrderMachine, cups: Int64, at time: Timestamp) throws {
        self.machine = machine
        values = MachineValues(attributes: ["cups": .integer(cups)])
        instance = try machine.statechart.start(at: time, values: &values, contentLimit: Self.contentLimit).instance
    }

    /// The keys of the innermost active states: one, as this machine has no regions.
    var state: String {
        instance.leaves(in: machine.statechart).map { machine.statechart.states[$0.rawValue].key }.joined(
            separator: ",")
    }

    /// When to call ``advance(to:)`` next; `nil` while no timer runs.
    var deadline: Timestamp? { instance.deadline }

    /// Takes one event, and all that follows from it. Deadlines that are due come first.
    mutating func handle(_ event: String, _ content: JSON = [:], at time: Timestamp) throws -> Verdict {
        try advance(to: time)
        return try machine.statechart.handle(
            event: event, content: content, at: time, instance: &instance, values: &values,
            contentLimit: Self.contentLimit
        ).verdict
    }

    /// Fires the due timers, each at its own time.
    mutating func advance(to time: Timestamp) throws {
        while try machine.statechart.fireDeadline(
            dueBy: time, instance: &instance, values: &values, contentLimit: Self.contentLimit) != nil
        {}
    }
}
