internal import ArgumentParser
internal import Kinds
internal import TelltaleEventLoop
internal import TelltaleModel
internal import TelltaleStatechart

/// `telltale-bench statechart-traces`: traces of machines, to be compared with another engine (Tools/fuzz/statechart).
///
/// Reads an object a line: `machine`, as in a kind file, `content` and `events`. Writes one a line: `refused`, a text, or
/// `steps`, each with `leaves` and `content`: after the start and after every event, up to one that the engine refuses.
struct StatechartTracesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statechart-traces", abstract: "What machines do, a JSON object a line.", shouldDisplay: false)

    func run() throws {
        var output: [UInt8] = []
        while let line = readLine(strippingNewline: true) {
            output += try trace(JSONParser.parse(line)).text
            output.append(UInt8(ascii: "\n"))
        }
        guard StandardStream.output.write(output.span) == 0 else { throw ExitCode.failure }
    }

    private func trace(_ test: JSON) throws -> JSON {
        let source: JSON = [
            "kind": "fuzz", "type": "activity", "version": 1, "app": "com.example.fuzz",
            "machine": test["machine"] ?? .null,
        ]
        let (kind, diagnostics) = Kind.read(source, file: "")
        guard case .activity(let activity) = kind?.body else {
            let errors = diagnostics.filter { $0.severity == .error }.map(\.description)
            return ["refused": .string(errors.joined(separator: "; "))]
        }
        let statechart = activity.statechart
        let time = Timestamp(milliseconds: 0)
        var values = MachineValues(content: test["content"] ?? [:])
        var steps: [JSON] = []
        do throws(MachineError) {
            var (instance, _) = try statechart.start(at: time, values: &values, contentLimit: 4096)
            steps.append(step(instance, values, statechart))
            for event in test["events"]?.array ?? [] {
                _ = try statechart.handle(
                    event: event.string ?? "", content: [:], at: time, instance: &instance, values: &values,
                    contentLimit: 4096)
                steps.append(step(instance, values, statechart))
            }
        } catch {
            // A refused event changed nothing; the steps before it count.
        }
        return ["steps": .array(steps)]
    }

    private func step(_ instance: MachineInstance, _ values: MachineValues, _ statechart: Statechart) -> JSON {
        let leaves = instance.leaves(in: statechart).map { JSON.string(statechart.states[$0.rawValue].path) }
        return ["leaves": .array(leaves), "content": values.content]
    }
}
