import Model
import Statechart
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
        #expect(try run.take("ready") == .ignored)
        #expect(try run.take("confirm", ["eta": 5]) == .applied)
        #expect(run.values.content == ["eta": 5])
        #expect(run.last.contentChanged)
        try run.take("cancel")
        #expect(run.last.isDone)
        #expect(try run.take("confirm") == .ignored)
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
        #expect(try run.take("a") == .noop)
        try run.wait(40)
        #expect(run.leaves == ["a.c"])
        #expect(try run.take("again") == .applied)
        #expect(run.entered == ["a", "a.b"])
        try run.wait(99)
        #expect(run.leaves == ["a.b"])
    }

    @Test func `what fails changes nothing`() throws {
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
        #expect(throws: MachineError.alwaysLoop) { try run.take("loop") }
        #expect(run.instance == before.instance)
        #expect(run.values.content == before.values.content)
        run.contentLimit = 25
        #expect(throws: MachineError.contentTooLarge(byteCount: 26, limit: 25)) { try run.take("grow") }
        #expect(run.instance == before.instance)
        #expect(run.values.content == before.values.content)
        run.contentLimit = 26
        #expect(try run.take("grow") == .applied)
    }
}
