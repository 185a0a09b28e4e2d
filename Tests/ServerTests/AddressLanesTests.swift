import Server
import TestSupport
import Testing

struct AddressLanesTests {
    private typealias Lanes = AddressLanes<String, Int, Int>

    @Test func `the thread takes all work of an address in the order in which it came, and waits for nobody`() {
        var lanes = Lanes()
        for number in 0..<1_500 { lanes.add(number, of: number, at: "a") }
        var begun: [Int] = []
        while let work = lanes.next() { begun.append(work) }
        #expect(begun == Array(0..<1_500))
        #expect(lanes.isEmpty && lanes.addressCount == 0)
    }

    @Test func `an address that comes waits for one of each address that waits already`() {
        var lanes = Lanes()
        for number in 0..<1_500 { lanes.add(number, of: number, at: "a") }
        let first = lanes.next()
        lanes.add(-1, of: -1, at: "b")
        let next = [lanes.next(), lanes.next(), lanes.next()]
        #expect(first == 0 && next == [1, -1, 2])
    }

    @Test func `addresses take turns`() {
        var lanes = Lanes()
        for address in 0..<3 { for number in 0..<2 { lanes.add(address, of: address * 2 + number, at: "\(address)") } }
        var order: [Int] = []
        while let work = lanes.next() { order.append(work) }
        #expect(order == [0, 1, 2, 0, 1, 2])
    }

    @Test func `an owner that is gone takes no turn of its address`() {
        var lanes = Lanes()
        for number in 0..<100 { lanes.add(number, of: number, at: "a") }
        for number in 0..<99 { lanes.remove(number) }
        lanes.add(100, of: 100, at: "b")
        let order = [lanes.next(), lanes.next(), lanes.next()]
        #expect(order == [99, 100, nil])
        for number in 0..<100 { lanes.add(number, of: number, at: "a") }
        for number in 0..<100 { lanes.remove(number) }
        #expect(lanes.isEmpty && lanes.addressCount == 0)
    }

    @Test(arguments: 1...20) func `nothing is lost, turns are kept, and nothing is remembered at the end`(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var lanes = Lanes()
        var waiting: [Int: [Int]] = [:]
        /// How many pieces of others were taken since an address has work.
        var overtakenCounts: [Int: [Int: Int]] = [:]
        func take() -> Bool {
            guard let work = lanes.next() else { return false }
            let address = work % 40
            #expect(waiting[address]?.removeFirst() == work)
            if waiting[address]?.isEmpty == true { waiting[address] = nil }
            overtakenCounts[address] = nil
            for other in waiting.keys where other != address {
                overtakenCounts[other, default: [:]][address, default: 0] += 1
                #expect(overtakenCounts[other]?[address] == 1, "\(address) twice while \(other) waits")
            }
            return true
        }
        for number in 0..<2_000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                lanes.add(number, of: number, at: "\(number % 40)")
                waiting[number % 40, default: []].append(number)
            case 2:
                let owner = Int.random(in: 0..<2_000, using: &random)
                lanes.remove(owner)
                waiting[owner % 40]?.removeAll { $0 == owner }
                if waiting[owner % 40]?.isEmpty == true {
                    (waiting[owner % 40], overtakenCounts[owner % 40]) = (nil, nil)
                }
            case _:
                let hadWork = !waiting.isEmpty
                #expect(take() == hadWork)
            }
            #expect(lanes.isEmpty == waiting.isEmpty)
        }
        while take() {}
        #expect(waiting.isEmpty && lanes.isEmpty && lanes.addressCount == 0)
    }
}
