import TelltaleModel
import Testing

@testable import Hub

/// The storage of event ids.
struct IDLogTests {
    private static func item(_ number: Int) -> IDLog.Item {
        IDLog.Item(
            eid: "e\(number)", wall: Timestamp(milliseconds: Int64(number)), entry: .init(digest: 0, rev: Int64(number))
        )
    }

    private static func numbers(_ log: IDLog) -> [Int64] {
        var numbers: [Int64] = []
        log.forEach { numbers.append($0.entry.rev) }
        return numbers
    }

    /// From the beginning, and from where the numbers that an index holds begin again.
    @Test(arguments: [0, 1 << 32 - 2_000, 7 << 32 - 1])
    func `a log returns the entries in order, whatever was forgotten at either end`(first: Int) {
        var log = IDLog(firstNumber: first)
        var model: [Int] = []
        var next = first
        var random = UInt64(7)
        for step in 0..<40_000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            // Longer and longer, then down to nothing, time and again.
            switch (random >> 33) % 8 {
            case step / 5_000 % 2 == 0 ? 0..<6 : 0..<1:
                #expect(log.append(Self.item(next)) == next)
                model.append(next)
                next += 1
            case 6:
                // An entry that is taken back gives its number to the next one.
                let last = model.popLast()
                if let last { next = last }
                let popped = log.popLast()
                #expect(popped?.number == last && popped?.item.entry.rev == last.map(Int64.init))
            case _:
                let popped = log.popFirst()
                #expect(popped?.number == model.first && popped?.item.entry.rev == model.first.map(Int64.init))
                if !model.isEmpty { model.removeFirst() }
            }
            #expect(log.count == model.count && log.isEmpty == model.isEmpty)
            #expect(log.first?.entry.rev == model.first.map(Int64.init))
            if let some = model.randomElement() {
                #expect(log[UInt32(truncatingIfNeeded: some)].entry.rev == Int64(some))
            }
        }
        #expect(Self.numbers(log) == model.map(Int64.init))
    }

    @Test func `a copy stays as it was`() {
        var log = IDLog()
        for number in 0..<3_000 { _ = log.append(Self.item(number)) }
        let copy = log
        for number in 3_000..<5_000 { _ = log.append(Self.item(number)) }
        for _ in 0..<1_500 { _ = log.popFirst() }
        #expect(Self.numbers(copy) == Array(0..<3_000))
        #expect(Self.numbers(log) == Array(1_500..<5_000))
    }
}
