import TelltaleModel
import TelltaleStatechart
import Testing

struct StepTests {
    @Test func `an order goes its way`() throws {
        var run = try Run(
            machine(
                "placed", on("cancel", "cancelled"),
                states: [
                    state("placed", on("confirm", "brewing"), after(300_000, "unattended")),
                    state("brewing", on("ready", "ready"), entry(copy("eta", from: "event.content.eta"))),
                    state("unattended", on("confirm", "brewing")),
                    state("ready", on("collect", "collected")),
                    final("collected"),
                    final("cancelled", reopen("confirm", "brewing")),
                ]))
        #expect(run.leaves == ["placed"])
        #expect(try run.step("ready") == .ignored)
        #expect(try run.step("confirm", ["eta": 5]) == .applied)
        #expect(run.values.content == ["eta": 5])
        #expect(run.last.contentChanged)
        try run.step("cancel")
        #expect(run.last.isDone)
        #expect(try run.step("confirm") == .ignored)
        #expect(run.last.isDone)
        #expect(try run.reopen("ready") == nil)
        #expect(try run.reopen("confirm") == .applied)
        #expect(run.leaves == ["brewing"])
        #expect(run.values.content == [:])
    }

    @Test func `a repeated status restarts no timer`() throws {
        var run = try Run(
            machine(
                "a",
                states: [
                    compound(
                        "a", "b", on("a", "a"), on("again", "a", reenter: true),
                        states: [state("b", after(100, "c")), state("c")])
                ]))
        try run.wait(60)
        #expect(try run.step("a") == .noop)
        try run.wait(40)
        #expect(run.leaves == ["a.c"])
        #expect(try run.step("again") == .applied)
        #expect(run.entered == ["a", "a.b"])
        try run.wait(99)
        #expect(run.leaves == ["a.b"])
    }

    @Test func `a failed step changes nothing`() throws {
        var run = try Run(
            machine(
                "a",
                states: [
                    state(
                        "a", on("loop", "b", do: set("x", 1)), on("grow", "b", do: set("x", "0123456789")),
                        after(5, "b")),
                    state("b", always("c", if: "content.x == 1"), always("d", if: "content.x == 2")),
                    state("c", always("b")), state("d"),
                ]), content: ["y": 1])
        let before = run
        #expect(throws: MachineError.alwaysLoop) { try run.step("loop") }
        #expect(run.instance == before.instance)
        #expect(run.values.content == before.values.content)
        run.contentLimit = 25
        #expect(throws: MachineError.contentTooLarge(byteCount: 26, limit: 25)) { try run.step("grow") }
        #expect(run.instance == before.instance)
        #expect(run.values.content == before.values.content)
        run.contentLimit = 26
        #expect(try run.step("grow") == .applied)
    }

    // MARK: Limits

    @Test("A hundred steps may follow each other, and no more", arguments: ["always", "sent", "timers"])
    func steps(kind: String) throws {
        for count in [100, 101] {
            let states = (0...count).map { number in
                let next = "s\(number + 1)"
                if number == count { return state("s\(number)") }
                return switch kind {
                case "always": state("s\(number)", always(next))
                case "sent": state("s\(number)", on("next", next), entry(send("next")))
                default: state("s\(number)", after(0, next))
                }
            }
            var run = try Run(machine("idle", states: [state("idle", on("go", "s0"))] + states))
            if count == 100 {
                try run.step("go")
                try run.wait(0)
                #expect(run.leaves == ["s100"])
            } else {
                #expect(throws: MachineError.alwaysLoop) {
                    try run.step("go")
                    try run.wait(0)
                }
            }
        }
    }

    @Test("Ten thousand actions are one step's, and no more", arguments: [100, 101])
    func actions(count: Int) throws {
        let states = (0..<100).map { number in
            state(
                "s\(number)", edge(.always, ["s\(number + 1)"], nil, (0..<count).map { set("x", .integer(Int64($0))) }))
        }
        var run = try Run(machine("idle", states: [state("idle", on("go", "s0"))] + states + [state("s100")]))
        if count == 100 {
            try run.step("go")
            #expect(run.leaves == ["s100"])
        } else {
            #expect(throws: MachineError.alwaysLoop) { try run.step("go") }
        }
    }

    @Test("A machine that would grow without end is not precomputed", arguments: ["raise", "send"])
    func dryRun(kind: String) throws {
        // Each round has twice the content of the one before.
        let again: ActionDescription.Action = kind == "raise" ? .raise("go") : send("go")
        var run = try Run(
            machine(
                "a",
                states: [state("a", on("go", do: copy("x", from: "content"), copy("y", from: "content"), again))]),
            content: ["x": 1])
        #expect(throws: MachineError.self) { try run.step("go") }
        #expect(run.values.content == ["x": 1])
    }

    @Test func `64 events are parked, and 64 timers wait`() throws {
        var run = try Run(
            machine("a", states: [state("a", deferring("later"), on("arm", do: send("ring", after: 5)))]))
        for event in ["later", "arm"] {
            for _ in 0..<64 { try run.step(event) }
            #expect(throws: MachineError.tooManyPending(limit: 64)) { try run.step(event) }
        }
    }

    // MARK: Parked events

    @Test func `an event that the machine raises is parked where its state says so`() throws {
        var run = try Run(
            machine(
                "a",
                states: [
                    state("a", deferring("x"), on("go", do: .raise("x")), on("next", "b")),
                    state("b", on("x", "c")), state("c"),
                ]))
        try run.step("go")
        #expect(run.leaves == ["a"])
        try run.step("next")
        #expect(run.leaves == ["c"])
    }

    @Test func `an event that is parked when the machine is done is dropped when it is reopened`() throws {
        var run = try Run(
            machine(
                "a",
                states: [
                    state("a", deferring("x"), on("end", "done")), final("done", reopen("again", "b")),
                    state("b", on("x", "c")), state("c"),
                ]))
        #expect(try run.step("x") == .deferred)
        try run.step("end")
        #expect(try run.reopen("again") == .applied)
        #expect(run.leaves == ["b"])
    }

    @Test func `a parked event brings its content when it is taken, where that fits, and never else`() throws {
        func run(_ heard: Bool, contentLimit: Int) throws -> Run {
            let next = heard ? state("b", on("x", "c")) : state("b")
            var run = try Run(
                machine("a", states: [state("a", deferring("x"), on("next", "b")), next, state("c")]),
                content: ["y": 1])
            run.contentLimit = contentLimit
            #expect(try run.step("x", ["v": 2]) == .deferred)
            try run.step("next")
            return run
        }
        // With empty attributes, {} and {"v":2,"y":1} are 15 bytes.
        let fitting = try run(true, contentLimit: 15)
        #expect(fitting.values.content == ["v": 2, "y": 1] && fitting.leaves == ["c"])
        let large = try run(true, contentLimit: 14)
        #expect(large.values.content == ["y": 1] && large.leaves == ["c"])
        let unheard = try run(false, contentLimit: 15)
        #expect(unheard.values.content == ["y": 1] && unheard.leaves == ["b"])
    }

    @Test func `a parked event brings no more than an activity holds, members that it takes away included`() throws {
        var run = try Run(
            machine("a", states: [state("a", deferring("x"), on("next", "b")), state("b", on("x", "a"))]))
        run.contentLimit = 40
        func patch(_ count: Int) -> JSON {
            .object((0..<count).reduce(into: JSONObject()) { $0["member\($1)"] = .null })
        }
        #expect(throws: MachineError.parkedTooLarge(byteCount: 46, limit: 40)) { try run.step("x", patch(3)) }
        #expect(try run.step("x", patch(2)) == .deferred)
        try run.step("next")
        #expect(run.leaves == ["a"])
        // Taken at once, nothing of it is kept.
        #expect(try run.step("next") == .applied)
        #expect(try run.step("x", patch(3)) == .applied)
    }

    // MARK: Timers and guards

    @Test func `a timer knows of no event`() throws {
        var run = try Run(
            machine(
                "a",
                states: [state("a", on("go", do: set("x", 1)), after(5, "b", if: "event.type == 'go'")), state("b")]))
        try run.step("go")
        try run.wait(5)
        #expect(run.leaves == ["a"])
        #expect(run.last.guardErrors?.count == 1)
    }

    @Test func `of guards that cannot be sent the first is named`() throws {
        var run = try Run(
            machine(
                "a", states: [state("a", on("go", "b", if: "content.x")), state("b", always("a", if: "content.y"))]),
            content: ["x": "not a boolean"])
        #expect(try run.step("go") == .ignored)
        #expect(run.last.guardErrors?.count == 1 && run.last.guardErrors?.location == "event(\"go\")")
        // The second one is asked behind the first one's step.
        run = try Run(
            machine(
                "a",
                states: [
                    state("a", on("go", "b", if: "content.x"), on("go", "b")),
                    state("b", always("a", if: "content.y")),
                ]))
        #expect(try run.step("go") == .applied)
        #expect(run.last.guardErrors?.count == 2 && run.last.guardErrors?.location == "event(\"go\")")
    }

    @Test func `only a deadline that is due is dropped`() throws {
        var run = try Run(machine("a", states: [state("a", after(5, "b")), state("b")]))
        run.statechart.dropDeadline(dueBy: Timestamp(milliseconds: 4), instance: &run.instance)
        #expect(run.instance.deadline == Timestamp(milliseconds: 5))
        run.statechart.dropDeadline(dueBy: Timestamp(milliseconds: 5), instance: &run.instance)
        #expect(run.instance.deadline == nil)
    }

    @Test func `no client opens a machine again in the machine's own name`() throws {
        var run = try Run(
            machine(
                "a", states: [state("a", on("end", "done")), final("done", reopen("*", "a"))]))
        try run.step("end")
        #expect(try run.reopen("done.a") == nil)
        #expect(try run.reopen("anything") == .applied)
    }

    @Test func `an assignment of the present value changes nothing`() throws {
        var run = try Run(machine("a", states: [state("a", on("go", do: set("x", 1)))]), content: ["x": 1])
        #expect(try run.step("go") == .applied)
        #expect(!run.last.contentChanged)
    }
}
