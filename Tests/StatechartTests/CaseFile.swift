import Foundation
import Kinds
import TelltaleModel
import TelltaleStatechart
import TestSupport
import Testing

/// One file of `Protocols/Machines/statechart/`; its README says how it is read.
struct CaseFile {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var attributes: JSON = [:]
        var content: JSON = [:]
        var contentLimit = 4096
        var machine: JSON = .null
        var rows: [Row] = []

        var testDescription: String { name }
    }

    struct Row: Sendable {
        var line: Int
        var input: String
        var outcome: String
    }

    struct Fault: Error {
        var line: Int
        var text: String
    }

    var cases: [Case] = []

    init(_ name: String) throws {
        let url = repositoryRoot.appending(path: "Protocols/Machines/statechart/\(name).cases")
        let lines = try String(contentsOf: url, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        var machine = ""
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("#") || line.allSatisfy({ $0 == " " }) { continue }
            if line.hasPrefix("case ") {
                cases.append(Case(name: String(line.dropFirst(5))))
                machine = ""
                continue
            }
            guard !cases.isEmpty else { throw Fault(line: index + 1, text: "no case") }
            let last = cases.count - 1
            if cases[last].machine == .null {
                if machine.isEmpty, !line.hasPrefix("{") {
                    try cases[last].read(setting: line, line: index + 1)
                    continue
                }
                machine += line + "\n"
                // A machine is over with the first line at which it is whole.
                if let json = try? JSONParser.parse(machine) { cases[last].machine = json }
                continue
            }
            guard let arrow = line.range(of: " => ") else { throw Fault(line: index + 1, text: String(line)) }
            cases[last].rows.append(
                Row(
                    line: index + 1, input: line[..<arrow.lowerBound].trimmingCharacters(in: .whitespaces),
                    outcome: line[arrow.upperBound...].trimmingCharacters(in: .whitespaces)))
        }
    }
}

extension CaseFile.Case {
    fileprivate mutating func read(setting line: Substring, line number: Int) throws {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2 else { throw CaseFile.Fault(line: number, text: String(line)) }
        switch words[0] {
        case "attributes": attributes = try JSONParser.parse(words[1])
        case "content": content = try JSONParser.parse(words[1])
        case "limit": contentLimit = Int(words[1]) ?? 0
        default: throw CaseFile.Fault(line: number, text: String(line))
        }
    }

    /// The machine, read as a kind's.
    func statechart() throws -> Statechart {
        let source: JSON = [
            "kind": "case", "type": "activity", "version": 1, "app": "com.example.case", "machine": machine,
        ]
        let (kind, diagnostics) = Kind.read(source, file: name)
        guard case .activity(let activity) = kind?.body else {
            throw CaseFile.Fault(line: 0, text: diagnostics.map(\.description).joined(separator: "\n"))
        }
        return activity.statechart
    }
}

/// A case as it runs.
struct CaseRun {
    let statechart: Statechart
    let contentLimit: Int
    var instance: MachineInstance?
    var values: MachineValues
    var time = Timestamp(milliseconds: 0)

    init(_ definition: CaseFile.Case) throws {
        statechart = try definition.statechart()
        contentLimit = definition.contentLimit
        values = MachineValues(attributes: definition.attributes, content: definition.content)
    }

    /// The outcome of a row, in the notation of the file.
    mutating func outcome(of row: CaseFile.Row) throws -> Outcome {
        let words = row.input.split(separator: " ", maxSplits: 1).map(String.init)
        let rest = words.count > 1 ? words[1] : ""
        do {
            switch words[0] {
            case "start":
                let (instance, result) = try statechart.start(at: time, values: &values, contentLimit: contentLimit)
                self.instance = instance
                return Outcome(result, self)
            case "restore":
                var writer = BinaryWriter()
                try #require(instance).encode(to: &writer)
                var reader = BinaryReader(writer.bytes)
                let restored = try MachineInstance(from: &reader, statechart: statechart)
                #expect(restored == instance)
                #expect(reader.isAtEnd)
                instance = restored
                return Outcome(nil, self)
            case "after":
                let span = try #require(Milliseconds(duration: rest))
                return Outcome(try wait(span), self)
            case "reopen":
                var running = try #require(instance)
                let result = try statechart.reopen(
                    event: rest, content: [:], at: time, instance: &running, values: &values,
                    contentLimit: contentLimit)
                instance = running
                return Outcome(result, self)
            default:
                var running = try #require(instance)
                let before = (running, values.content)
                do {
                    let result = try statechart.handle(
                        event: words[0], content: rest.isEmpty ? [:] : try JSONParser.parse(rest), at: time,
                        instance: &running, values: &values, contentLimit: contentLimit)
                    instance = running
                    return Outcome(result, self)
                } catch let error as MachineError {
                    #expect(running == before.0)
                    #expect(values.content == before.1)
                    throw error
                }
            }
        } catch let error as MachineError {
            var outcome = Outcome(nil, self)
            switch error {
            case .alwaysLoop: outcome.verdict = "refused alwaysLoop"
            case .contentTooLarge: outcome.verdict = "refused contentTooLarge"
            case .parkedTooLarge: outcome.verdict = "refused parkedTooLarge"
            case .tooManyPending: outcome.verdict = "refused tooManyPending"
            }
            return outcome
        }
    }

    private mutating func wait(_ span: Milliseconds) throws -> StepResult? {
        time = time + span
        var last: StepResult?
        var running = try #require(instance)
        let before = (running, values.content)
        do {
            while let result = try statechart.fireDeadline(
                dueBy: time, instance: &running, values: &values, contentLimit: contentLimit)
            {
                last = result
            }
        } catch {
            if last == nil {
                #expect(running == before.0)
                #expect(values.content == before.1)
            }
            // The owner of a machine does the same, or the deadline would be due for ever.
            statechart.dropDeadline(dueBy: time, instance: &running)
            instance = running
            throw error
        }
        instance = running
        return last
    }

    func path(_ state: StateIndex) -> String { statechart.states[state.rawValue].path }
}

struct Outcome {
    var verdict: String
    var leaves: String
    var entered: String
    var content: JSON
    var next: String

    init(_ result: StepResult?, _ run: CaseRun) {
        verdict = result?.verdict.rawValue ?? "-"
        leaves = run.instance.map { $0.leaves(in: run.statechart).map(run.path).joined(separator: ",") } ?? "-"
        if run.instance?.isDone(in: run.statechart) == true { leaves += " done" }
        entered = result?.entries.map(run.path).joined(separator: ",") ?? ""
        content = run.values.content
        next = run.instance?.deadline.map { "\($0.milliseconds)ms" } ?? "never"
    }

    /// Of the public cases, which say a verdict and leaves alone.
    func matches(_ row: CaseFile.Row) -> Bool {
        let words = row.outcome.split(separator: " ").map(String.init)
        guard words.count == 2 else { return false }
        return (words[0] == "*" || words[0] == verdict)
            && (words[1] == "*" || words[1] == leaves || words[1] + " done" == leaves)
    }

    /// Compares with the row; facts that the row does not give are free.
    func expect(_ row: CaseFile.Row) throws {
        var rest = row.outcome.split(separator: " ").map(String.init)[...]
        func word() -> String { rest.popFirst() ?? "" }
        var verdict = word()
        if verdict == "refused" { verdict += " " + word() }
        var leaves = word()
        if rest.first == "done" { leaves += " " + word() }
        let comment = Comment(rawValue: "line \(row.line): \(row.input) => \(row.outcome); here: \(self)")
        if verdict != "*" { #expect(self.verdict == verdict, comment) }
        if leaves != "*" { #expect(self.leaves == leaves || self.leaves == leaves + " done", comment) }
        if leaves.hasSuffix(" done") { #expect(self.leaves == leaves, comment) }
        while let name = rest.popFirst() {
            switch name {
            case "entered":
                let paths = word()
                #expect(entered == (paths == "-" ? "" : paths), comment)
            case "content":
                let end = rest.firstIndex(of: "next") ?? rest.endIndex
                let text = rest[..<end].joined(separator: " ")
                rest = rest[end...]
                #expect(content == (try JSONParser.parse(text)), comment)
            case "next": #expect(next == word(), comment)
            default: throw CaseFile.Fault(line: row.line, text: name)
            }
        }
    }
}

struct CaseFileTests {
    @Test("Protocols/Machines/statechart/semantics.cases", arguments: try CaseFile("semantics").cases)
    func semantics(_ definition: CaseFile.Case) throws { try run(definition) }

    @Test("Protocols/Machines/statechart/time.cases", arguments: try CaseFile("time").cases)
    func time(_ definition: CaseFile.Case) throws { try run(definition) }

    @Test("Protocols/Machines/statechart/scion.cases", arguments: try CaseFile("scion").cases)
    func scion(_ definition: CaseFile.Case) throws { try run(definition) }

    @Test("Protocols/Machines/statechart/w3c.cases", arguments: try CaseFile("w3c").cases)
    func w3c(_ definition: CaseFile.Case) throws { try run(definition) }

    /// Prints one line of counts. README.md beside the cases lists the left-out ones with their reasons.
    @Test func `the public cases are counted`() throws {
        var reported: [String] = []
        for suite in ["scion", "w3c"] {
            let cases = try CaseFile(suite).cases
            let passed = try cases.filter { try !$0.rows.isEmpty && passes($0) }
            #expect(passed.count == cases.count)
            reported.append("\(suite) \(passed.count) of \(cases.count)")
        }
        print("conformance: \(reported.joined(separator: ", "))")
    }

    private func passes(_ definition: CaseFile.Case) throws -> Bool {
        var run = try CaseRun(definition)
        for row in definition.rows where try !run.outcome(of: row).matches(row) { return false }
        return true
    }

    private func run(_ definition: CaseFile.Case) throws {
        var run = try CaseRun(definition)
        #expect(!definition.rows.isEmpty)
        for row in definition.rows {
            let outcome = try run.outcome(of: row)
            try outcome.expect(row)
        }
    }
}
