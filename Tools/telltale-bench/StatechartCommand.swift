internal import ArgumentParser
internal import TelltaleModel
internal import TelltaleStatechart

/// `telltale-bench statechart`: the cost of one event in a machine.
struct StatechartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statechart", abstract: "The cost of an event in machines of several shapes.")

    @Option(help: "Events of each measurement.") var events = 1_000_000
    @Option(help: "This machine alone, by its name in the output.") var shape: String?
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard events > 0 else { throw ValidationError("events must be above 0") }
    }

    func run() throws {
        var results = JSONObject()
        for shape in try Self.shapes() where self.shape ?? shape.name == shape.name {
            let nanoseconds = try measure(shape)
            if json {
                results[shape.name] = JSON((nanoseconds * 10).rounded() / 10)
            } else {
                print("\(shape.name.padded(to: 34)) \(nanoseconds.rounded()) ns/step")
            }
        }
        if json { print(JSON.object(results)) }
    }

    /// A machine, and the events that lead it round and round.
    private struct Shape {
        var name: String
        var statechart: Statechart
        var events: [String]
        var content: JSON = [:]
    }

    /// Nanoseconds an event, in the quickest of some slices, in which no other process used the processor.
    private func measure(_ shape: Shape) throws -> Double {
        let statechart = shape.statechart
        var values = MachineValues(attributes: ["shop": "Corner"], content: shape.content)
        let time = Timestamp(milliseconds: 1_763_719_200_000)
        var (instance, _) = try statechart.start(at: time, values: &values, contentLimit: 4096)
        let slice = max(shape.events.count, events / 20)
        var quickest = Double.infinity
        var entered = 0
        let clock = ContinuousClock()
        for _ in 0..<20 {
            let took = try clock.measure {
                for index in 0..<slice {
                    let result = try statechart.handle(
                        event: shape.events[index % shape.events.count], content: [:], at: time, instance: &instance,
                        values: &values, contentLimit: 4096)
                    entered &+= result.entries.count
                }
            }
            quickest = min(quickest, took / .nanoseconds(1) / Double(slice))
        }
        // Nothing may be optimised away.
        guard entered >= 0 else { throw ExitCode.failure }
        return quickest
    }

    // MARK: Machines

    private static func shapes() throws -> [Shape] {
        [
            Shape(
                name: "flat", statechart: try compile(compound("", "a", [state("a", to: "b"), state("b", to: "a")])),
                events: ["next"]),
            Shape(name: "nested", statechart: try compile(nested(depth: 4)), events: ["next", "outer"]),
            Shape(
                name: "nested, with a timer", statechart: try compile(nested(depth: 4, timer: true)), events: ["next"]),
            Shape(
                name: "nested, guarded",
                statechart: try compile(nested(depth: 4, guard: "content.n >= 3 and in(s0.s0)")),
                events: ["next"], content: ["n": 3]),
            Shape(name: "nested, ignored", statechart: try compile(nested(depth: 4)), events: ["unknown"]),
            Shape(name: "parallel, four regions at once", statechart: try compile(parallel(4)), events: ["next"]),
            Shape(name: "a hundred states", statechart: try compile(wide(100)), events: ["next"]),
        ]
    }

    private static func compile(_ root: StateDescription) throws -> Statechart {
        let (statechart, diagnostics) = Statechart.compile(MachineDescription(root: root))
        guard let statechart else { throw ValidationError(diagnostics.map(\.description).joined(separator: "\n")) }
        return statechart
    }

    private static func compound(_ key: String, _ initial: String, _ children: [StateDescription]) -> StateDescription {
        var state = StateDescription(key: key, kind: .compound(initial: [initial]), location: key)
        state.children = children
        return state
    }

    private static func state(_ key: String, to target: String, on event: String = "next") -> StateDescription {
        var state = StateDescription(key: key, kind: .atomic, location: key)
        state.transitions = [edge(event, to: target)]
        return state
    }

    private static func edge(_ event: String, to target: String) -> TransitionDescription {
        var transition = TransitionDescription(trigger: .event(event), location: event)
        transition.targets = [target]
        return transition
    }

    /// `s0.s0.s0.a` and `.b`, to and fro; `outer` is heard at the outermost state.
    private static func nested(depth: Int, timer: Bool = false, guard text: String? = nil) throws -> StateDescription {
        var leaves = [state("a", to: "b"), state("b", to: "a")]
        for index in leaves.indices {
            if let text { leaves[index].transitions[0].condition = try Guard(text) }
            if timer {
                var after = TransitionDescription(trigger: .after(.minutes(5)), location: "after")
                after.targets = ["a"]
                leaves[index].transitions.append(after)
            }
        }
        var inner = compound("s0", "a", leaves)
        for _ in 2..<depth { inner = compound("s0", "s0", [inner]) }
        var root = compound("", "s0", [inner])
        root.transitions = [edge("outer", to: "s0")]
        return root
    }

    private static func parallel(_ count: Int) -> StateDescription {
        var root = StateDescription(key: "", kind: .parallel, location: "")
        root.children = (0..<count).map { region in
            compound(
                "r\(region)", "a\(region)",
                [state("a\(region)", to: "b\(region)"), state("b\(region)", to: "a\(region)")])
        }
        return root
    }

    private static func wide(_ count: Int) -> StateDescription {
        compound("", "s0", (0..<count).map { state("s\($0)", to: "s\(($0 + 1) % count)") })
    }
}
