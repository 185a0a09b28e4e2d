import Machines
import TelltaleModel
import Testing

struct ControlValueTests {
    @Test(
        "An operation's id is `o` and a canonical number",
        arguments: [
            ("o18", 18), ("o0", 0), ("o9223372036854775807", Int64.max), ("o", nil), ("18", nil), ("o018", nil),
            ("o+5", nil), ("o-1", nil), ("O18", nil), ("o18 ", nil), ("o9223372036854775808", nil), ("", nil),
        ] as [(String, Int64?)])
    func operationID(text: String, number: Int64?) {
        #expect(OperationID(text)?.number == number)
        if let number { #expect(OperationID(number).description == text) }
    }

    @Test func `the first to serve acts, and the next takes over when it leaves`() {
        var roster = ProviderRoster()
        let first = roster.serve(5)
        let others = [roster.serve(6), roster.serve(5), roster.leave(7)]
        #expect(first)
        #expect(others == [false, false, false])
        #expect(roster.acting == 5)
        let hasLeft = roster.leave(5)
        #expect(hasLeft)
        #expect(roster.acting == 6)
        _ = roster.leave(6)
        #expect(roster.acting == nil)
    }

    @Test func `a tap acts on the screen that is current, or is refused with both revs`() throws {
        try ControlRejection.check(seenRev: nil, rev: 41)
        try ControlRejection.check(seenRev: 41, rev: 41)
        #expect(throws: ControlRejection.staleRev(have: 41, want: 40)) {
            try ControlRejection.check(seenRev: 40, rev: 41)
        }
        #expect(JSON.object(ControlRejection.staleRev(have: 41, want: 40).details) == ["have": 41, "want": 40])
    }

    @Test func `a provider's failure message is cut to a bound`() {
        let failure = ProviderFailure(code: nil, message: String(repeating: "☕️", count: 100_000))
        #expect(failure.message?.unicodeScalars.count == ProviderFailure.lengthLimit)
    }

    @Test func `a tap's id is known for seven days, among the newest, and for the same wish`() throws {
        let key = try #require(Key("porch-light/front"))
        let other = try #require(Key("porch-light/back"))
        let identity = TapLedger.Identity(sender: "alice", eid: "1")
        var ledger = TapLedger(countLimit: 3)
        let start = Timestamp(milliseconds: 0)
        ledger.record(identity, on: key, tap: .set(true), operation: OperationID(18), at: start)
        #expect(ledger.answer(to: identity, on: key, tap: .set(true)) == .duplicate(OperationID(18)))
        #expect(ledger.answer(to: identity, on: key, tap: .set(false)) == .mismatch)
        #expect(ledger.answer(to: identity, on: other, tap: .set(true)) == .mismatch)
        #expect(
            ledger.answer(to: TapLedger.Identity(sender: "bob", eid: "1"), on: key, tap: .set(true)) == .new)

        var aged = ledger
        let later = TapLedger.Identity(sender: "alice", eid: "2")
        aged.record(later, on: key, tap: .press, operation: nil, at: start + TapLedger.ageLimit)
        aged.forget(at: start + TapLedger.ageLimit)
        #expect(aged.answer(to: identity, on: key, tap: .set(true)) == .duplicate(OperationID(18)))
        let last = TapLedger.Identity(sender: "alice", eid: "3")
        aged.record(last, on: key, tap: .press, operation: nil, at: start + TapLedger.ageLimit + Milliseconds(1))
        // Not before it is certain that it stays: the tap may be taken back.
        #expect(aged.answer(to: identity, on: key, tap: .set(true)) == .duplicate(OperationID(18)))
        aged.forget(at: start + TapLedger.ageLimit + Milliseconds(1))
        #expect(aged.answer(to: identity, on: key, tap: .set(true)) == .new)
        #expect(aged.answer(to: later, on: key, tap: .press) == .duplicate(nil))

        for number in 4...6 {
            let next = TapLedger.Identity(sender: "alice", eid: "\(number)")
            ledger.record(next, on: key, tap: .press, operation: nil, at: start)
        }
        ledger.forget(at: start)
        #expect(ledger.answer(to: identity, on: key, tap: .set(true)) == .new)
        #expect(ledger.count == 3)
    }
}
