import Testing

@testable import Hub

struct ShardedDictionaryTests {
    @Test func `a dictionary of many small ones is one dictionary`() {
        var sharded = ShardedDictionary<String, Int>()
        var model: [String: Int] = [:]
        for number in 0..<5_000 {
            sharded["k\(number % 3_000)"] = number
            model["k\(number % 3_000)"] = number
            if number % 7 == 0 {
                sharded["k\(number / 2)"] = nil
                model["k\(number / 2)"] = nil
            }
            #expect(sharded.count == model.count)
        }
        for number in 0..<3_001 { #expect(sharded["k\(number)"] == model["k\(number)"]) }
        var reserved = ShardedDictionary<String, Int>()
        reserved["a"] = 1
        reserved.reserveCapacity(100_000)
        #expect(reserved["a"] == 1 && reserved.count == 1)
    }
}
