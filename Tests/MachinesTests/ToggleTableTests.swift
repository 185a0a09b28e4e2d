import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

struct ToggleTableTests {
    @Test("Protocols/Machines/toggle.table", arguments: try TableFile("Machines/toggle.table").rows)
    func row(_ row: TableFile.Row) throws {
        let table = try TableFile("Machines/toggle.table")
        var script = ToggleScript()
        _ = try script.run(try #require(table.states[row[1]]))
        let outcome = try script.run(row[2])
        #expect(script.state == row[3])
        #expect(outcome == row[4])
        #expect(script.shown == row[5])

        // Every state that a row leads to survives the journal.
        var writer = BinaryWriter()
        script.toggle.encode(to: &writer)
        var reader = BinaryReader(writer.bytes)
        #expect(try Toggle(from: &reader) == script.toggle)
        #expect(reader.isAtEnd)
        for count in writer.bytes.indices {
            var reader = BinaryReader(Array(writer.bytes[..<count]))
            #expect(throws: BinaryError.self) { try Toggle(from: &reader) }
        }
    }

    @Test func `a row names the seven ends before the last one, and no more`() throws {
        var script = ToggleScript()
        _ = try script.run("serve 1; report off; tap on")
        for number in 1...12 { _ = try script.run("tap \(number % 2 == 0 ? "on" : "off"); done") }
        #expect(script.toggle.endedBefore.map(\.operation.number) == [5, 6, 7, 8, 9, 10, 11])
        #expect(script.toggle.last?.operation.number == 12)
    }

    @Test func `of those who tapped one operation the newest sixteen are shown what they want`() throws {
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
        let named = Set(table.rows.map { $0[0] }).union(table.skipped.keys)
        #expect(expected.filter { !named.contains($0) } == [])
        #expect(Set(table.skipped.keys) == ["K1", "K2", "K32", "K34", "K35"])
    }
}

/// A toggle and a clock, driven by the words of `toggle.table`.
struct ToggleScript {
    var toggle = Toggle()
    var kind = ToggleKind()
    var now = Timestamp(milliseconds: 1_000_000)
    var tapCount: Int64 = 0
    var isLocked = false

    /// - Returns: The outcome of the last input.
    mutating func run(_ script: String) throws -> String {
        var outcome = ""
        for input in ScriptInput.inputs(of: script) {
            do {
                outcome = try event(for: input).map { try toggle.apply($0, kind: kind, at: now).text } ?? "-"
            } catch let error as ControlRejection {
                outcome = "refused \(error.code)"
            }
        }
        return outcome
    }

    /// `nil` = nothing that the machine would hear of.
    private mutating func event(for input: ScriptInput) throws -> ToggleEvent? {
        switch input.verb {
        case "serve": return .providerChanged(to: Int64(input.words[0]))
        case "leave": return .providerChanged(to: nil)
        case "report":
            return .reported(input.value ?? false, observedAt: try input.seconds(after: "at").map { now + $0 })
        case "tap":
            tapCount += 1
            return .tapped(
                input.value ?? false, operation: OperationID(tapCount), connection: input.number(after: "by") ?? 7,
                isLocked: isLocked)
        case "done": return .done(operation(of: input), value: input.value, by: connection(of: input))
        case "fail": return .failed(operation(of: input), nil, by: connection(of: input))
        case "deadline": return .deadlineReached
        case "restart": return .restarted
        case "kind": return .kindChanged
        case "after":
            now = now + (try ScriptInput.seconds(input.words[0]))
            return nil
        case "lock", "unlock":
            isLocked = input.verb == "lock"
            return nil
        case "disconnect": return nil
        case "with":
            switch input.words[0] {
            case "requiresAuthentication": kind.requiresAuthentication = true
            case "optimisticEverywhere": kind.optimisticEverywhere = true
            case "restore=reissue": kind.restore = .reissue
            default: throw ScriptError(description: "no setting: \(input.words[0])")
            }
            return nil
        default: throw ScriptError(description: "no input: \(input.verb)")
        }
    }

    private func operation(of input: ScriptInput) -> OperationID {
        input.operation ?? toggle.flight?.operation.id ?? OperationID(0)
    }

    private func connection(of input: ScriptInput) -> ConnectionNumber {
        input.number(after: "by") ?? toggle.provider ?? 1
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
