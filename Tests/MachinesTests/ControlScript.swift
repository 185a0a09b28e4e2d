import Machines
import TelltaleModel

/// A failure of a table to say something that can be run.
struct ScriptError: Error, CustomStringConvertible {
    var description: String
}

/// One input of a table's row, cut into words: `report on at -1s`.
struct ScriptInput {
    var verb: String
    var words: [String]

    static func inputs(of script: String) -> [ScriptInput] {
        script.split(separator: ";").map { input in
            let words = input.split(separator: " ").map(String.init)
            return ScriptInput(verb: words.first ?? "", words: Array(words.dropFirst()))
        }
    }

    /// The `on` or `off` among the words.
    var value: Bool? { words.contains("on") ? true : words.contains("off") ? false : nil }
    var operation: OperationID? { words.lazy.compactMap { OperationID($0) }.first }
    func number(after word: String) -> Int64? { self.word(after: word).flatMap { Int64($0) } }
    func seconds(after word: String) throws -> Milliseconds? { try self.word(after: word).map(Self.seconds) }

    private func word(after word: String) -> String? {
        guard let index = words.firstIndex(of: word), index + 1 < words.count else { return nil }
        return words[index + 1]
    }

    static func seconds(_ text: String) throws -> Milliseconds {
        guard text.hasSuffix("s"), let count = Int64(text.dropLast()) else {
            throw ScriptError(description: "no time: \(text)")
        }
        return .seconds(count)
    }
}

func onOff(_ value: Bool?) -> String { value.map { $0 ? "on" : "off" } ?? "-" }

extension ControlOutcome {
    /// As tables write it: `applied publish perform(o1 on) as o1`.
    var text: String {
        var words = [verdict.rawValue]
        if effects.contains(.publish) { words.append("publish") }
        for step in steps {
            switch step {
            case .perform(let performance):
                let value = performance.tap.value.map { " \(onOff($0))" } ?? ""
                words.append("perform(\(performance.operation)\(value))")
            case .ended(let end): words.append("\(end.result.reason?.rawValue ?? end.result.name)(\(end.operation))")
            case .raise(let event): words.append("raise(\(event.kind)/\(event.id) \(event.event))")
            }
        }
        if let operation { words.append("as \(operation)") }
        return words.joined(separator: " ")
    }
}
