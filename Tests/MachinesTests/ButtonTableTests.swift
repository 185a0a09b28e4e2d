import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

struct ButtonTableTests {
    @Test("Protocols/Machines/button.table", arguments: try TableFile("Machines/button.table").rows)
    func row(_ row: TableFile.Row) throws {
        let table = try TableFile("Machines/button.table")
        var script = ButtonScript()
        _ = try script.run(try #require(table.states[row[1]]))
        let outcome = try script.run(row[2])
        #expect(script.state == row[3])
        #expect(outcome == row[4])

        var writer = BinaryWriter()
        script.button.encode(to: &writer)
        var reader = BinaryReader(writer.bytes)
        #expect(try Button(from: &reader) == script.button)
        #expect(reader.isAtEnd)
        for count in writer.bytes.indices {
            var reader = BinaryReader(Array(writer.bytes[..<count]))
            #expect(throws: BinaryError.self) { try Button(from: &reader) }
        }
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
        let named = Set(table.rows.map { $0[0] }).union(table.skipped.keys)
        #expect((1...23).map { "N\($0)" }.filter { !named.contains($0) } == [])
        #expect(Set(table.skipped.keys) == ["N3", "N4", "N16", "N17"])
    }
}

/// A button and a clock, driven by the words of `button.table`.
struct ButtonScript {
    var button = Button()
    var kind = ButtonKind()
    var now = Timestamp(milliseconds: 1_000_000)
    var pressCount: Int64 = 0
    var isLocked = false

    /// - Returns: The outcome of the last input.
    mutating func run(_ script: String) throws -> String {
        var outcome = ""
        let key = try #require(Key("log-coffee/desk"))
        for input in ScriptInput.inputs(of: script) {
            do {
                outcome = try event(for: input).map { try button.apply($0, key: key, kind: kind, at: now).text } ?? "-"
            } catch let error as ControlRejection {
                outcome = "refused \(error.code)"
            }
        }
        return outcome
    }

    /// `nil` = nothing that the machine would hear of.
    private mutating func event(for input: ScriptInput) throws -> ButtonEvent? {
        switch input.verb {
        case "serve": return .providerChanged(to: Int64(input.words[0]))
        case "leave": return .providerChanged(to: nil)
        case "report": return .reported
        case "press":
            pressCount += 1
            return .pressed(operation: OperationID(pressCount), isLocked: isLocked)
        case "done": return .done(operation(of: input), by: connection(of: input))
        case "fail": return .failed(operation(of: input), nil, by: connection(of: input))
        case "refuse":
            return .raiseRefused(operation(of: input), ProviderFailure(code: "limit_activities", message: nil))
        case "deadline": return .deadlineReached
        case "restart": return .restarted
        case "kind": return .kindChanged
        case "after":
            now = now + (try ScriptInput.seconds(input.words[0]))
            return nil
        case "lock", "unlock":
            isLocked = input.verb == "lock"
            return nil
        case "with":
            switch input.words[0] {
            case "requiresAuthentication": kind.requiresAuthentication = true
            case "repeatable": kind.isRepeatable = true
            case "cooldown": kind.cooldown = .seconds(5)
            case "raises":
                kind.raises = ButtonKind.Raises(
                    kind: "coffee-order", event: "start", id: nil, content: [:], attributes: [:])
            default: throw ScriptError(description: "no setting: \(input.words[0])")
            }
            return nil
        default: throw ScriptError(description: "no input: \(input.verb)")
        }
    }

    private func operation(of input: ScriptInput) -> OperationID {
        input.operation ?? button.flight?.operation ?? OperationID(0)
    }

    private func connection(of input: ScriptInput) -> ConnectionNumber {
        input.number(after: "by") ?? button.provider ?? 1
    }

    var state: String {
        var words = [button.phase.rawValue]
        if let until = button.coolingUntil, now < until { words.append("cooling") }
        if !button.isAvailable(kind: kind) { words.append("unserved") }
        return words.joined(separator: " ")
    }
}
