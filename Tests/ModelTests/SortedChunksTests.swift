import TelltaleModel
import TestSupport
import Testing

struct SortedChunksTests {
    @Test func `what comes and goes in any order is reported as a sorted set reports it, from both ends`() {
        var random = SeededGenerator(seed: 7)
        var chunks = SortedChunks<Int>()
        var model: Set<Int> = []
        for step in 0..<20_000 {
            let number = Int.random(in: 0..<3_000, using: &random)
            // More come in the first half, and more go in the second.
            if Int.random(in: 0..<10, using: &random) < (step < 10_000 ? 8 : 2) {
                if model.insert(number).inserted { chunks.insert(number) }
            } else {
                model.remove(number)
                // A value that is not there changes nothing.
                chunks.remove(number)
            }
            guard step % 500 == 0 else { continue }
            let sorted = model.sorted()
            #expect(chunks.contains(number) == model.contains(number))
            #expect(
                chunks.first(64) == Array(sorted.prefix(64)) && chunks.last(300) == Array(sorted.reversed().prefix(300))
            )
            #expect(chunks.count == model.count && chunks.isEmpty == model.isEmpty)
            #expect(Array(chunks.elements) == sorted)
            for limit in [1, 64, 1_000] {
                let before = sorted.count { $0 < number }
                #expect(chunks.position(of: number, within: limit, by: <) == (before < limit ? before : nil))
            }
        }
        #expect(chunks.first(.max).count == chunks.count && chunks.last(.max).count == chunks.count)
        for number in model { chunks.remove(number) }
        #expect(chunks.isEmpty && chunks.count == 0 && chunks.first(1) == [])
    }
}
