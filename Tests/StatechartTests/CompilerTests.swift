import TelltaleModel
import TelltaleStatechart
import Testing

/// One rule each: the message, and its place.
struct CompilerTests {
    @Test(
        "Faults refuse a machine",
        arguments: [
            (
                "unknown target", machine("a", on("e", "nowhere"), states: [state("a")]), "event(\"e\")",
                "no state \"nowhere\""
            ),
            (
                "ambiguous target",
                machine(
                    "a", on("e", "x"),
                    states: [compound("a", "x", states: [state("x")]), compound("b", "x", states: [state("x")])]),
                "event(\"e\")", "may be any of \"a.x\", \"b.x\""
            ),
            ("unknown initial", machine("b", states: [state("a")]), "states..initial", "no state \"b\""),
            ("missing initial", without(machine("a", states: [state("a")])), "states.", "no `initial`"),
            (
                "initial outside",
                machine(
                    "a", states: [compound("a", "c", states: [state("b")]), compound("d", "c", states: [state("c")])]),
                "states.a.initial", "not inside"
            ),
            ("no states", machine("a", states: []), "states.", "has no states"),
            ("no regions", machine("p", states: [parallel("p", regions: [])]), "states.p", "has no regions"),
            ("a final region", parallelMachine(regions: [final("f")]), "states.f", "is a final state"),
            ("duplicate key", parallelMachine(regions: [state("a"), state("a")]), "states.a", "two states \"a\""),
            ("bad key", machine("a.b", states: [state("a.b")]), "states.a.b", "not a state's key"),
            (
                "unknown state in a guard", machine("a", on("e", "a", if: "in(x)"), states: [state("a")]),
                "event(\"e\")", "no state \"x\""
            ),
            (
                "targets that cannot be together",
                machine("a", on("e", "a", "b"), states: [state("a"), state("b")]), "event(\"e\")",
                "cannot be entered together"
            ),
            (
                "a target inside of another",
                machine("a", on("e", "a", "b"), states: [compound("a", "b", states: [state("b")])]), "event(\"e\")",
                "cannot be entered together"
            ),
            (
                "a history outside",
                machine("a", states: [state("a"), compound("b", "c", states: [state("c"), history("h", "a")])]),
                "states.h.target", "not inside"
            ),
            (
                "a history of a history",
                machine("b", states: [compound("b", "c", states: [state("c"), history("h", "k"), history("k", "c")])]),
                "states.h.target", "is the history state"
            ),
            (
                "a history that is its parent's beginning",
                machine("b", states: [compound("b", "h", states: [state("c"), history("h")])]), "states.h",
                "has no default"
            ),
            (
                "always in a circle", machine("a", states: [state("a", always("b")), state("b", always("a"))]),
                "always", "without an end"
            ),
            (
                "always to itself", machine("a", states: [state("a", always(do: set("x", 1)))]), "always",
                "without an end"
            ),
            (
                "always around a child",
                machine("a", states: [compound("a", "b", always("c"), states: [state("b"), state("c")])]),
                "always", "without an end"
            ),
            (
                "timers of no time in a circle",
                machine("a", states: [state("a", after(0, "b")), state("b", after(0, "a"))]), "\(Trigger.after(.zero))",
                "without an end"
            ),
            (
                "a timer of no time to itself",
                machine("a", states: [state("a", after(0, "a", reenter: true))]), "\(Trigger.after(.zero))",
                "without an end"
            ),
            (
                "a timer of no time and an always in a circle",
                machine("a", states: [state("a", after(0, "b")), state("b", always("a"))]), "\(Trigger.after(.zero))",
                "without an end"
            ),
            (
                "a timer of no time that enters all around it again",
                machine("a", states: [compound("a", "b", states: [state("b", after(0, "a"))])]),
                "\(Trigger.after(.zero))",
                "without an end"
            ),
        ] as [(String, MachineDescription, String, String)])
    func errors(rule: String, description: MachineDescription, path: String, message: String) throws {
        let (statechart, diagnostics) = Statechart.compile(description)
        #expect(statechart == nil)
        let first = try #require(diagnostics.first)
        #expect(first.severity == .error)
        #expect(first.path == path)
        #expect(first.message.contains(message), "\(first)")
        #expect(!first.advice.isEmpty)
    }

    @Test func `a circle of timers runs on where it ran before, and is reported`() throws {
        let description = machine("a", states: [state("a", after(0, "b")), state("b", after(0, "a"))])
        let (statechart, diagnostics) = Statechart.compile(description, isAdmitted: true)
        #expect(statechart != nil)
        #expect(diagnostics.map(\.severity) == [.warning])
        let loop = machine("a", states: [state("a", always("b")), state("b", always("a"))])
        #expect(Statechart.compile(loop, isAdmitted: true).statechart == nil)
    }

    @Test(
        "Doubts are told, and refuse nothing",
        arguments: [
            (
                "unreachable",
                machine("a", on("e", "a"), states: [state("a"), compound("b", "c", states: [state("c")])]), "states.b",
                "nothing leads to \"b\""
            ),
            (
                "two unguarded alternatives",
                machine("a", on("e", "b"), on("e", "a"), states: [state("a"), state("b")]),
                "event(\"e\")", "never taken"
            ),
            (
                "a final state's edge", machine("a", states: [state("a", on("e", "f")), final("f", on("e", "a"))]),
                "event(\"e\")", "never followed"
            ),
            (
                "a nested final state's reopen",
                machine("a", on("e", "a"), states: [compound("a", "f", states: [final("f", reopen("e", "a"))])]),
                "reopen.e",
                "never reopened"
            ),
            (
                "falling rank",
                machine("a", states: [state("a", on("e", "b"), rank(1)), state("b", on("f", "a"), rank(2))]),
                "event(\"f\")",
                "from rank 2 to rank 1"
            ),
            (
                "a skip without a rank",
                machine("a", on("e", "b", skip: true), states: [state("a", rank(1)), state("b")]),
                "event(\"e\")", "never taken"
            ),
            (
                "raising done", machine("a", on("e", "a", do: .raise("done.a")), states: [state("a")]),
                "event(\"e\").actions", "is done"
            ),
            (
                "hearing of nothing done", machine("a", on("done.a", "a"), states: [state("a")]), "event(\"done.a\")",
                "no state is done"
            ),
            ("never done", machine("a", states: [state("a", onDone("b")), state("b")]), "done", "never done"),
        ] as [(String, MachineDescription, String, String)])
    func warnings(rule: String, description: MachineDescription, path: String, message: String) {
        let (statechart, diagnostics) = Statechart.compile(description)
        #expect(statechart != nil, "\(diagnostics)")
        #expect(
            diagnostics.contains {
                $0.severity == .warning && $0.path == path && $0.message.contains(message) && !$0.advice.isEmpty
            }, "\(diagnostics)")
    }

    @Test(
        "What is as it should be gives no word",
        arguments: [
            machine(
                "a", on("cancel", "f"),
                states: [
                    state("a", on("e", "b"), rank(1)), state("b", after(5, "f"), rank(2)), final("f", reopen("e", "a")),
                ]),
            machine(
                "a",
                states: [
                    compound(
                        "a", "b", always("c", if: "content.x == 1"), onDone("d"),
                        states: [state("b", always("g")), state("g", on("e", "c")), final("c")]),
                    state("d", on("back", "a"), on("e", "d", if: "true"), on("e", "a")),
                ]),
            // The child's way out goes before the parent's `always`.
            machine(
                "a",
                states: [
                    compound("a", "b", always("c"), states: [state("b"), state("c", always("d"))]),
                    state("d", on("e", "a")),
                ]),
            // A machine that is done follows nothing any more.
            machine("a", always("b"), states: [state("a"), final("b")]),
            parallelMachine(
                always("one.f", "two.g"),
                regions: [
                    compound("one", "x", states: [state("x"), final("f")]),
                    compound("two", "y", states: [state("y"), final("g")]),
                ]),
            // Timers of no time that end: by a guard, by one around them, by one that does not start anew.
            machine(
                "a", states: [state("a", after(0, "b", if: "content.x == 1"), on("e", "b")), state("b", after(0, "a"))]),
            machine(
                "a",
                states: [
                    compound("a", "b", after(0, "f"), states: [state("b", after(0, "c")), state("c", after(0, "b"))]),
                    final("f"),
                ]),
            machine("a", states: [state("a", after(0, "a"), after(5, "f")), final("f")]),
            machine(
                "a", on("e", "h"),
                states: [state("a"), compound("b", "x", on("e", "a"), states: [state("x"), history("h", "x")])]),
            parallelMachine(regions: [
                compound("one", "x", states: [state("x", on("e", "f")), final("f")]),
                compound("two", "y", states: [state("y", on("done.one", "g")), final("g")]),
            ]),
        ])
    func silence(description: MachineDescription) {
        let (statechart, diagnostics) = Statechart.compile(description)
        #expect(statechart != nil)
        #expect(diagnostics.isEmpty)
        #expect(statechart?.deadEnds == [])
    }

    @Test func `all faults are reported, errors first`() {
        let description = machine(
            "a", on("e", "nowhere"), on("f", "neither", if: "in(x)"),
            states: [state("a", on("done.q", "a")), compound("b", "c", states: [])])
        let messages = Statechart.compile(description).diagnostics.map { "\($0.severity.rawValue) \($0.message)" }
        #expect(messages.filter { $0.contains("no state \"") }.count == 4, "\(messages)")
        #expect(messages.contains { $0.contains("has no states") })
        #expect(messages.sorted { $0.hasPrefix("error") && !$1.hasPrefix("error") } == messages)
    }

    @Test func `states without an exit are reported to the caller that knows of staleness`() throws {
        let description = machine(
            "a",
            states: [
                state("a", on("e", "b"), on("t", "p")),
                state("b", on("note", do: set("x", 1)), on("b", "b")),
                parallel("p", regions: [state("stuck"), compound("r", "x", states: [state("x", on("e", "a"))])]),
                compound("c", "d", after(5, "d"), states: [state("d")]),
            ])
        let statechart = try #require(Statechart.compile(description).statechart)
        #expect(statechart.deadEnds.map { statechart.states[$0.rawValue].path } == ["b"])
    }

    @Test func `a machine reports its states and its events`() throws {
        let statechart = try #require(
            Statechart.compile(
                machine(
                    "a", on("*", "a"),
                    states: [
                        state("z", deferring("parked")),
                        compound("a", "b", on("x", "f"), states: [state("b", entry(.raise("raised")))]),
                        final("f", reopen("again", "a")),
                    ])
            ).statechart)
        #expect(statechart.states.map(\.path) == ["", "a", "a.b", "f", "z"])
        #expect(statechart.states.map(\.parent?.rawValue) == [nil, 0, 1, 0, 0])
        #expect(statechart.states.filter(\.isFinal).map(\.key) == ["f"])
        #expect(statechart.index(ofPath: "a.b")?.rawValue == 2)
        #expect(statechart.index(ofPath: "b") == nil)
        #expect(["x", "parked", "again"].allSatisfy(statechart.handles))
        #expect(!["raised", "unknown", "*", "done.a", ""].contains(where: statechart.handles))
    }

    private static func without(_ description: MachineDescription) -> MachineDescription {
        var description = description
        description.root.kind = .compound(initial: [])
        return description
    }
}
