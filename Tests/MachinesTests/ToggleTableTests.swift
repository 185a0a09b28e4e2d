import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

struct ToggleTableTests {
    @Test("Protocols/Machines/toggle.table", arguments: try TableFile("Machines/toggle.table").rows)
    func row(_ row: TableFile.Row) throws {
        let script = try ToggleScript.check(row, of: try TableFile("Machines/toggle.table"))
        #expect(script.shown == row[5], "\(row)")
    }

    @Test func `a row names the seven ends before the last one, and no more`() throws {
        var script = ToggleScript()
        _ = try script.run("serve 1; report off; tap on")
        for number in 1...12 { _ = try script.run("tap \(number % 2 == 0 ? "on" : "off"); done") }
        #expect(script.toggle.endedBefore.map(\.operation.number) == [5, 6, 7, 8, 9, 10, 11])
        #expect(script.toggle.last?.operation.number == 12)
    }

    @Test func `the newest sixteen clients that tapped one operation are shown the value they want`() throws {
        var script = ToggleScript()
        _ = try script.run("serve 1; report off; " + (1...17).map { "tap on by \($0)" }.joined(separator: "; "))
        let shown = (1...17).map { script.toggle.shown(to: $0, kind: script.kind) }
        #expect(shown == [false] + [Bool?](repeating: true, count: 16))
    }

    @Test func `a toggle at rest waits for nothing`() throws {
        var script = ToggleScript()
        _ = try script.run("serve 1; report off; tap on; done on")
        #expect(script.toggle.deadline == nil)
        _ = try script.run("report off")
        #expect(script.toggle.deadline != nil)
    }

    @Test func `the table has every row of Apple's, or says why not`() throws {
        let table = try TableFile("Machines/toggle.table")
        let expected = (1...48).map { "K\($0)" } + ["V26", "V27", "V28", "V29"]
        #expect(table.missing(of: expected) == [])
        #expect(Set(table.skipped.keys) == ["K1", "K2", "K32", "K34", "K35"])
    }
}

/// A toggle, driven by the words of `toggle.table`.
struct ToggleScript: ControlScript {
    var toggle = Toggle()
    var kind = ToggleKind()
    var circumstances = ScriptCircumstances()

    var machine: Toggle { toggle }
    var pendingOperation: OperationID? { toggle.flight?.operation.id }
    var provider: ConnectionNumber? { toggle.provider }

    mutating func apply(_ event: ToggleEvent) throws -> ControlOutcome {
        try toggle.apply(event, kind: kind, at: circumstances.now)
    }

    mutating func ownEvent(for input: ScriptInput) throws -> ToggleEvent? {
        switch input.verb {
        case "report":
            .reported(
                input.value ?? false, observedAt: try input.seconds(after: "at").map { circumstances.now + $0 })
        case "tap":
            .tapped(
                input.value ?? false, operation: circumstances.nextOperation(),
                connection: input.number(after: "by") ?? 7, isLocked: circumstances.isLocked)
        case "done": .done(operation(of: input), value: input.value, by: connection(of: input))
        default: nil
        }
    }

    mutating func set(_ setting: String) -> Bool {
        switch setting {
        case "requiresAuthentication": kind.requiresAuthentication = true
        case "optimisticEverywhere": kind.optimisticEverywhere = true
        case "restore=reissue": kind.restore = .reissue
        default: return false
        }
        return true
    }

    var state: String {
        var words: [String] = []
        switch toggle.phase {
        case .settled: words = ["settled", onOff(toggle.value)]
        case .unknown: words = [toggle.wasServed ? "unknown" : "loading"]
        case .pending: words = ["pending", onOff(toggle.value), "to", onOff(toggle.flight?.operation.wanted)]
        }
        if let queued = toggle.queued { words += ["then", onOff(queued.wanted)] }
        if toggle.isAssumed { words.append("assumed") }
        if let held = toggle.held { words += ["held", onOff(held.value)] }
        if toggle.wasServed, !toggle.isAvailable { words.append("unserved") }
        if !toggle.endedBefore.isEmpty { words += ["after"] + toggle.endedBefore.map { "\($0.operation)" } }
        return words.joined(separator: " ")
    }

    var shown: String {
        "\(onOff(toggle.shown(to: 7, kind: kind))) \(onOff(toggle.shown(to: 9, kind: kind)))"
    }
}
