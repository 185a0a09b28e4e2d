import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

struct ButtonTableTests {
    @Test("Protocols/Machines/button.table", arguments: try TableFile("Machines/button.table").rows)
    func row(_ row: TableFile.Row) throws {
        try ButtonScript.check(row, of: try TableFile("Machines/button.table"))
    }

    @Test func `a button that is pressed has cooled down`() throws {
        var script = ButtonScript()
        _ = try script.run("with cooldown; serve 1; press; done")
        #expect(script.button.coolingUntil != nil)
        _ = try script.run("after 5s; press")
        #expect(script.button.coolingUntil == nil)
    }

    @Test func `the table has every row of Apple's, or says why not`() throws {
        let table = try TableFile("Machines/button.table")
        #expect(table.missing(of: (1...23).map { "N\($0)" }) == [])
        #expect(Set(table.skipped.keys) == ["N3", "N4", "N16", "N17"])
    }
}

/// A button, driven by the words of `button.table`.
struct ButtonScript: ControlScript {
    var button = Button()
    var kind = ButtonKind()
    var circumstances = ScriptCircumstances()
    private let key = Key("log-coffee/desk")

    var machine: Button { button }
    var pendingOperation: OperationID? { button.flight?.operation }
    var provider: ConnectionNumber? { button.provider }

    mutating func apply(_ event: ButtonEvent) throws -> ControlOutcome {
        try button.apply(event, key: try #require(key), kind: kind, at: circumstances.now)
    }

    mutating func ownEvent(for input: ScriptInput) throws -> ButtonEvent? {
        switch input.verb {
        case "report": .reported
        case "press": .tapped(operation: circumstances.nextOperation(), isLocked: circumstances.isLocked)
        case "done": .done(operation(of: input), by: connection(of: input))
        case "refuse":
            .raiseRefused(operation(of: input), ProviderFailure(code: "limit_activities", message: nil))
        default: nil
        }
    }

    mutating func set(_ setting: String) -> Bool {
        switch setting {
        case "requiresAuthentication": kind.requiresAuthentication = true
        case "repeatable": kind.isRepeatable = true
        case "cooldown": kind.cooldown = .seconds(5)
        case "raises":
            kind.raises = ButtonKind.Raises(
                kind: "coffee-order", event: "start", id: nil, content: [:], attributes: [:])
        default: return false
        }
        return true
    }

    var state: String {
        var words = [button.phase.rawValue]
        if let until = button.coolingUntil, circumstances.now < until { words.append("cooling") }
        if !button.isAvailable(kind: kind) { words.append("unserved") }
        return words.joined(separator: " ")
    }
}
