import Server
import TestSupport
import Testing

struct AddressLanesTests {
    private typealias Lanes = AddressLanes<String, Int>

    @Test func `four of an address are under way at most, in the order in which they came`() {
        var lanes = Lanes()
        for number in 0..<1_500 { lanes.add(number, of: "a") }
        var begun: [Int] = []
        while let (work, _) = lanes.next() { begun.append(work) }
        #expect(begun == [0, 1, 2, 3])
        lanes.ended(of: "a")
        let next = [lanes.next()?.work, lanes.next()?.work]
        #expect(next == [4, nil])
    }

    @Test func `an address that comes waits for none that waits already`() {
        var lanes = Lanes()
        for number in 0..<1_500 { lanes.add(number, of: "a") }
        while lanes.next() != nil {}
        lanes.add(-1, of: "b")
        let next = lanes.next()?.work
        #expect(next == -1)
    }

    @Test func `addresses take turns`() {
        var lanes = Lanes()
        for address in ["a", "b", "c"] { for number in 0..<2 { lanes.add(number, of: address) } }
        var order: [String] = []
        while let (_, address) = lanes.next() { order.append(address) }
        #expect(order == ["a", "b", "c", "a", "b", "c"])
    }

    @Test(arguments: 1...20) func `no bound is passed, nothing is lost, and nothing is remembered at the end`(seed: Int)
    {
        var random = SeededGenerator(seed: UInt64(seed))
        var lanes = Lanes()
        var (waiting, underWay): ([String: [Int]], [String: Int]) = ([:], [:])
        for number in 0..<2_000 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                let address = "\(Int.random(in: 0..<40, using: &random))"
                lanes.add(number, of: address)
                waiting[address, default: []].append(number)
            case 1:
                guard let (work, address) = lanes.next() else {
                    let isFull = underWay.values.reduce(0, +) == Lanes.limit
                    #expect(isFull || waiting.allSatisfy { $1.isEmpty || underWay[$0] == Lanes.limitForAddress })
                    continue
                }
                #expect(waiting[address]?.removeFirst() == work)
                underWay[address, default: 0] += 1
                #expect(underWay[address] ?? 0 <= Lanes.limitForAddress)
                #expect(underWay.values.reduce(0, +) <= Lanes.limit)
            case _:
                let busy = underWay.filter { $0.value > 0 }.keys.sorted()
                guard let address = busy.randomElement(using: &random) else { continue }
                lanes.ended(of: address)
                underWay[address, default: 0] -= 1
            }
        }
        for (address, count) in underWay { for _ in 0..<count { lanes.ended(of: address) } }
        while let (work, address) = lanes.next() {
            #expect(waiting[address]?.removeFirst() == work)
            lanes.ended(of: address)
        }
        #expect(waiting.values.allSatisfy { $0.isEmpty })
        #expect(lanes.addressCount == 0)
    }
}
