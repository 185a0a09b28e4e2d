import Testing

@testable import Hub

struct HashIndexTests {
    /// An index of names, each at the place that is its number.
    private struct Names {
        var index = HashIndex()
        var names: [String] = []

        func number(of name: String) -> Int? {
            index.number(hash: HashIndex.hash(of: name)) { names[Int($0)] == name }.map { Int($0) }
        }

        mutating func add(_ name: String) {
            names.append(name)
            index.insert(UInt32(names.count - 1), hash: HashIndex.hash(of: name)) { [names] in names[Int($0)] == name }
        }

        mutating func remove(_ name: String) {
            if let number = number(of: name) { index.remove(UInt32(number), hash: HashIndex.hash(of: name)) }
        }
    }

    @Test func `an index finds the same as a dictionary`() {
        var names = Names()
        var model: [String: Int] = [:]
        for number in 0..<5_000 {
            let name = "k\(number % 3_000)"
            names.add(name)
            model[name] = number
            if number % 7 == 0 {
                names.remove("k\(number / 2)")
                model["k\(number / 2)"] = nil
            }
            if number % 50 == 0 || number == 1_024 {
                for probe in 0..<3_001 where probe % 10 == number % 10 {
                    #expect(names.number(of: "k\(probe)") == model["k\(probe)"])
                }
            }
            #expect(names.index.count == model.count)
        }
        for number in 0..<3_001 { #expect(names.number(of: "k\(number)") == model["k\(number)"]) }
        for number in 0..<3_000 { names.remove("k\(number)") }
        #expect(names.index.count == 0)
        for number in 0..<3_001 { #expect(names.number(of: "k\(number)") == nil) }
    }

    /// Numbers under hashes that are given, with the slots that they name: of eight there are, until six are taken.
    @Test(
        arguments: [
            // Each in a place of its own, all in one row, two rows that meet, and a row that goes on at the front.
            [0, 2, 4, 6, 7], [3, 3, 3, 3, 3], [2, 2, 3, 2, 3], [6, 7, 6, 7, 0], [7, 7, 7, 1, 0],
        ] as [[UInt64]])
    func `a removed entry leaves no hole`(places: [UInt64]) {
        // Equal lower bits, and other upper ones, which an index does not keep.
        let hashes = places.enumerated().map { $1 | UInt64($0 + 1) << 32 }
        for removed in places.indices {
            var index = HashIndex()
            for (number, hash) in hashes.enumerated() { index.insert(UInt32(number), hash: hash) }
            index.remove(UInt32(removed), hash: hashes[removed])
            #expect(index.count == places.count - 1)
            for (number, hash) in hashes.enumerated() {
                #expect(index.number(hash: hash) { $0 == number } == (number == removed ? nil : UInt32(number)))
            }
        }
    }

    @Test func `things whose names have one hash are distinguished`() {
        var index = HashIndex()
        #expect(index.number(hash: 5) { _ in true } == nil)
        for number in 0..<4 as Range<UInt32> { index.insert(number, hash: 5) }
        for number in 0..<4 as Range<UInt32> { #expect(index.number(hash: 5) { $0 == number } == number) }
        index.remove(9, hash: 5)
        index.remove(1, hash: 6)
        #expect(index.count == 4)
        index.insert(7, hash: 5) { $0 == 2 }
        #expect(index.count == 4)
        #expect(index.number(hash: 5) { $0 == 2 } == nil)
        #expect(index.number(hash: 5) { $0 == 7 } == 7)
    }

    @Test(arguments: [10, 100_000]) func `room may be made before and after`(capacity: Int) {
        var names = Names()
        names.add("a")
        names.index.reserveCapacity(capacity)
        for number in 0..<100 { names.add("k\(number)") }
        names.index.reserveCapacity(0)
        #expect(names.number(of: "a") == 0)
        #expect(names.number(of: "k99") == 100)
        #expect(names.index.count == 101)
    }
}
