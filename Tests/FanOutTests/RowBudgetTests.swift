import FanOut
import TelltaleModel
import TestSupport
import Testing

/// `Protocols/Machines/budget.table`.
struct RowBudgetTests {
    /// The events of one widget on one device, in seconds.
    private struct Script {
        let budget: RowBudget
        var ledger = RowLedger()
        var leaving: [String] = []
        /// When what waits may leave.
        var waitsUntil: Int64?
        var isOn = false

        init(_ text: String) throws {
            let numbers = text.split(separator: "/").compactMap { Int($0) }
            budget = RowBudget(rowsPerDay: try #require(numbers.first), burst: try #require(numbers.last))
        }

        static func text(_ milliseconds: Int64) -> String {
            let (whole, part) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
            return part == 0 ? "\(whole)" : "\(whole).\(part)"
        }

        /// Lets time pass, to a moment in milliseconds.
        mutating func advance(to time: Int64) {
            guard let due = waitsUntil, due <= time, !isOn else { return }
            waitsUntil = nil
            markDirty(at: due)
        }

        mutating func markDirty(at time: Int64) {
            if isOn { return leaving.append(Self.text(time) + "*") }
            switch ledger.pay(at: MonotonicTime(milliseconds: time), budget) {
            case .paid: leaving.append(Self.text(time))
            case .waits(let until): waitsUntil = until.milliseconds
            }
        }
    }

    private func run(_ row: TableFile.Row) throws -> Script {
        var script = try Script(row[1])
        var credits = row[4].split(separator: " ").map { $0.split(separator: ":").compactMap { Int64($0) } }
        func check(upTo time: Int64) {
            while let next = credits.first, next[0] * 1_000 < time {
                credits.removeFirst()
                let at = MonotonicTime(milliseconds: next[0] * 1_000)
                script.advance(to: next[0] * 1_000)
                #expect(script.ledger.credit(at: at, script.budget).count == next[1], "\(row)")
            }
        }
        var words = row[2].split(separator: " ").map(String.init)[...]
        while let word = words.popFirst() {
            if word == "on" || word == "off" {
                let time = try #require(Int64(words.popFirst() ?? ""))
                check(upTo: time * 1_000)
                script.advance(to: time * 1_000)
                script.isOn = word == "on"
                if script.isOn, script.waitsUntil != nil {
                    script.waitsUntil = nil
                    script.markDirty(at: time * 1_000)
                }
                continue
            }
            let numbers = word.split { $0 == "-" || $0 == "/" }.compactMap { Int64($0) }
            let step = numbers.count > 2 ? numbers[2] : 1
            for time in stride(from: numbers[0], through: numbers.count > 1 ? numbers[1] : numbers[0], by: Int(step)) {
                check(upTo: time * 1_000)
                // A row that waits takes a change of the moment at which it leaves with it.
                script.advance(to: time * 1_000 - 1)
                if script.waitsUntil == nil { script.markDirty(at: time * 1_000) }
                script.advance(to: time * 1_000)
            }
        }
        check(upTo: .max)
        if !row[3].hasSuffix("rows") { script.advance(to: .max) }
        return script
    }

    @Test("Protocols/Machines/budget.table", arguments: try TableFile("Machines/budget.table").rows)
    func row(_ row: TableFile.Row) throws {
        let script = try run(row)
        if row[3].hasSuffix("rows") {
            #expect("\(script.leaving.count) rows" == row[3], "\(row)")
        } else {
            #expect(script.leaving.joined(separator: " ") == row[3], "\(row)")
        }
    }

    @Test("No day has more rows than budget and burst, whatever comes when", arguments: 0..<40 as Range<UInt64>)
    func anyDay(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let budget = RowBudget(rowsPerDay: 1 + Int(random.below(96)), burst: 1 + Int(random.below(12)))
        var ledger = RowLedger()
        var times: [Int64] = []
        var now: Int64 = 0
        for _ in 0..<4_000 {
            now += Int64(random.below(random.below(10) == 0 ? 5_000_000_000_000 : 200_000_000_000))
            let time = MonotonicTime(nanoseconds: now)
            let before = ledger.credit(at: time, budget)
            switch ledger.pay(at: time, budget) {
            case .paid: times.append(now)
            case .waits(let until):
                #expect(until > time)
                var later = ledger
                let payment = later.pay(at: until, budget)
                #expect(payment == .paid(until), "credit is there when it was said to be")
                #expect(before < budget.cost)
            }
        }
        let day: Int64 = 86_400_000_000_000
        var first = 0
        for (index, time) in times.enumerated() {
            while times[first] <= time - day { first += 1 }
            #expect(index - first + 1 <= budget.rowsPerDay + budget.burst)
        }
        #expect(times.count > 20)
    }

    @Test("Rows to several readers within a second cost once, and each reader has one of them for a payment")
    func readers() {
        let budget = RowBudget()
        var ledger = RowLedger()
        var used: [Int: MonotonicTime] = [:]
        func pay(_ reader: Int, at milliseconds: Int64) -> Int64? {
            guard
                case .paid(let moment) = ledger.pay(
                    at: MonotonicTime(milliseconds: milliseconds), budget, after: used[reader])
            else { return nil }
            used[reader] = moment
            return moment.milliseconds
        }
        #expect(pay(1, at: 0) == 0 && pay(2, at: 0) == 0 && pay(3, at: 999) == 0)
        #expect(pay(2, at: 999) == 999 && pay(1, at: 1_000) == 999 && pay(1, at: 1_001) == 1_001)
        #expect(ledger.credit(at: MonotonicTime(milliseconds: 1_001), budget).count == 9_001_001)
    }
}
