import Testing

@testable import TelltaleWire

struct VerbTests {
    @Test func `every verb is described once`() {
        #expect(Set(VerbDescription.all.map(\.verb)) == Set(Verb.allCases))
        #expect(VerbDescription.all.count == Verb.allCases.count)
    }

    @Test func `every attribute has a slot of its own`() {
        #expect(Set(AttributeName.allCases.map(\.slot)) == Set(AttributeName.allCases.indices))
    }

    @Test("The example in HELP is understood", arguments: VerbDescription.all.map(\.example))
    func example(line: String) {
        if case .refused(let error) = parse(line).command { Issue.record("\(error)") }
    }

    @Test("HELP explains every verb", arguments: Verb.allCases)
    func help(verb: Verb) throws {
        let lines = try #require(Help.lines(verb: verb.rawValue.lowercased()))
        #expect(lines.first?.hasPrefix(verb.rawValue) == true)
        #expect(lines.allSatisfy { $0.utf8.allSatisfy(\.isPrintableASCII) })
        #expect(Help.lines(verb: nil)?.contains { $0.contains(verb.rawValue) } == true)
    }

    @Test func `HELP does not explain an unknown verb`() {
        #expect(Help.lines(verb: "NOPE") == nil)
        #expect(Help.lines(verb: "") == nil)
    }
}
