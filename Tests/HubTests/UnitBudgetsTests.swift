import FanOut
import TelltaleModel
import Testing

@testable import Hub

/// The memory of budgets.
struct UnitBudgetsTests {
    private static let session = SessionID(slot: 0, number: 1)

    private func join(_ name: UnitName, _ budgets: inout UnitBudgets, at now: MonotonicTime) throws -> BudgetUnit {
        let unit = budgets.join(name, Self.session, at: now)
        return try #require(unit)
    }

    private func name(_ word: String, of principal: String? = nil) -> UnitName {
        UnitName(principal: principal, account: nil, word: word)
    }

    @Test("A device that was sent nothing is forgotten with its connection")
    func nothing() {
        var budgets = UnitBudgets(RowBudget())
        for number in 0..<1_000 {
            guard let unit = budgets.join(name("u\(number)"), Self.session, at: MonotonicTime(milliseconds: 0)) else {
                continue
            }
            budgets.leave(unit, Self.session, at: MonotonicTime(milliseconds: 1))
        }
        #expect(budgets.unitCount == 0)
    }

    @Test("Devices that are away are remembered to a bound of each principal's own, the newest ones")
    func departed() throws {
        var budgets = UnitBudgets(RowBudget())
        let key = try #require(Key("counter/1"))
        let mine = try join(name("mine", of: "alice"), &budgets, at: MonotonicTime(milliseconds: 0))
        #expect(mine.pay(key, at: MonotonicTime(milliseconds: 0), after: nil) == .paid(MonotonicTime(milliseconds: 0)))
        budgets.leave(mine, Self.session, at: MonotonicTime(milliseconds: 0))
        for number in 0..<40_000 {
            let now = MonotonicTime(milliseconds: Int64(number))
            let unit = try join(name("u\(number)", of: "mallory"), &budgets, at: now)
            #expect(unit.pay(key, at: now, after: nil) == .paid(now))
            budgets.leave(unit, Self.session, at: now)
        }
        // Two ledgers each: its own, and the one that its further widgets would share.
        #expect(budgets.departedLedgerCount == UnitBudgets.departedLimit + 2)
        #expect(budgets.unitCount == UnitBudgets.departedLimit / 2 + 1)
        #expect(try join(name("mine", of: "alice"), &budgets, at: MonotonicTime(milliseconds: 50_000)) === mine)
        let first = try join(name("u0", of: "mallory"), &budgets, at: MonotonicTime(milliseconds: 50_000))
        #expect(first.credit(key, at: MonotonicTime(milliseconds: 50_000)) == RowBudget().capacity)
    }

    @Test("A device that comes and goes takes one place, and is forgotten after a day")
    func flapping() throws {
        var budgets = UnitBudgets(RowBudget(rowsPerDay: 1, burst: 8))
        let key = try #require(Key("counter/1"))
        for second in 0..<10_000 as Range<Int64> {
            let now = MonotonicTime(milliseconds: second * 1_000)
            let unit = try join(name("u"), &budgets, at: now)
            _ = unit.pay(key, at: now, after: nil)
            budgets.leave(unit, Self.session, at: now)
        }
        #expect(budgets.unitCount == 1 && budgets.departedLedgerCount == 2)
        let late = MonotonicTime(milliseconds: 10_000_000 + 86_400_000)
        let unit = try join(name("u"), &budgets, at: late)
        #expect(unit.credit(key, at: late) == unit.budget.capacity)
        budgets.leave(unit, Self.session, at: late)
        #expect(budgets.unitCount == 0 && budgets.departedLedgerCount == 0)
    }

    @Test("Widgets beyond the limit share a ledger, and none gets more than its budget by that")
    func common() throws {
        let unit = BudgetUnit(name("u"), RowBudget())
        let count = BudgetUnit.keyLimit
        let keys = try (0..<count + 100).map { try #require(Key("counter/\($0)")) }
        var now = MonotonicTime(milliseconds: 0)
        for key in keys.prefix(count) { #expect(unit.pay(key, at: now, after: nil) == .paid(now)) }
        #expect(unit.ledgerCount == count + 1)
        var paid = 0
        for key in keys.suffix(100) {
            now = now + Milliseconds(1)
            if case .paid = unit.pay(key, at: now, after: nil) { paid += 1 }
        }
        #expect(paid == 8)
        // When the others are whole again, one that shared goes on sharing until its credit is whole.
        now = now + .hours(1)
        #expect(unit.pay(keys[count], at: now, after: nil) == .paid(now))
        #expect(unit.credit(keys[count], at: now).count < RowBudget().cost.multiplied(by: 2).count)
        now = now + .hours(5)
        #expect(unit.pay(keys[count], at: now, after: nil) == .paid(now))
        #expect(unit.credit(keys[count], at: now) == RowBudget().capacity - RowBudget().cost)
        #expect(unit.ledgerCount < 100)
    }
}
