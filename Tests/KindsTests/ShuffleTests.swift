import Kinds
import TelltaleModel
import TelltaleStatechart
import TestSupport
import Testing

struct ShuffleTests {
    @Test("The kind is the same for any order of a file's members", arguments: 0..<20)
    func shuffled(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for file in try Shipped.files() {
            let (kind, diagnostics) = KindSet.read(file.bytes, file: file.name)
            let source = try #require(kind?.source)
            var text = ""
            write(source, to: &text, using: &random)
            let (other, otherDiagnostics) = KindSet.read(Array(text.utf8), file: file.name)
            #expect(other?.source == source)
            #expect(otherDiagnostics == diagnostics)
            if case .activity(let left)? = kind?.body, case .activity(let right)? = other?.body {
                #expect(left.statechart.states == right.statechart.states)
                #expect(left.states.map(\.title) == right.states.map(\.title))
                #expect(left.accept == right.accept)
            }
        }
    }

    private func write(_ json: JSON, to text: inout String, using random: inout SeededGenerator) {
        switch json {
        case .object(let object):
            text += "{"
            for (index, member) in object.shuffled(using: &random).enumerated() {
                text += (index > 0 ? ", " : "") + JSON.string(member.name).description + ": "
                write(member.value, to: &text, using: &random)
            }
            text += "}"
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                text += index > 0 ? ",\n" : ""
                write(element, to: &text, using: &random)
            }
            text += "]"
        case .null, .bool, .integer, .number, .string: text += json.description
        }
    }
}
