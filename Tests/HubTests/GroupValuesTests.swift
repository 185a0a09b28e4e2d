import TelltaleModel
import TestSupport
import Testing

@testable import Hub

struct GroupValuesTests {
    private func configuration(_ value: Int, _ other: Int) -> JSON {
        ["shop": .string("s\(10_000 + value)"), "desk": .string("d\(other)")]
    }

    @Test("Values that come and go in any order are told as a sorted set tells them", arguments: [true, false])
    func model(isAlone: Bool) {
        var random = SeededGenerator(seed: 7)
        var values = GroupValues(of: "shop", isAlone: isAlone)
        // Of several parameters a value may be of many groups.
        var groups: [Int: Set<Int>] = [:]
        for step in 0..<20_000 {
            let (value, other) = (
                Int.random(in: 0..<3_000, using: &random), isAlone ? 0 : Int.random(in: 0..<3, using: &random)
            )
            // More come in the first half, and more go in the second.
            let comes = Int.random(in: 0..<10, using: &random) < (step < 10_000 ? 8 : 2)
            if comes, groups[value]?.contains(other) != true {
                groups[value, default: []].insert(other)
                values.count(configuration(value, other), by: 1)
            } else if !comes, groups[value]?.remove(other) != nil {
                if groups[value]?.isEmpty == true { groups[value] = nil }
                values.count(configuration(value, other), by: -1)
            }
            guard step % 500 == 0 else { continue }
            let expected = groups.keys.sorted().prefix(64).map { "s\(10_000 + $0)" }
            #expect(values.first(64) == expected && values.total == groups.count)
        }
        #expect(values.first(.max).count == values.total)
    }

    @Test("Texts that Unicode takes for equal are values of their own", arguments: [true, false])
    func unicode(isAlone: Bool) {
        var values = GroupValues(of: "shop", isAlone: isAlone)
        let (composed, between, decomposed) = ("caf\u{E9}", "cafez", "cafe\u{301}")
        for text in [composed, between, decomposed] { values.count(["shop": .string(text)], by: 1) }
        #expect(values.total == 3)
        values.count(["shop": .string(composed)], by: -1)
        #expect(values.first(9).map { Array($0.utf8) } == [between, decomposed].map { Array($0.utf8) })
        values.count(["shop": .string(decomposed)], by: -1)
        #expect(values.first(9) == [between] && values.total == 1)
    }
}
