import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

struct ButtonInterleavingTests {
    @Test(
        "Random interleavings of presses keep every promise",
        arguments: Lane.some(1...5 as ClosedRange<UInt64>, atEveryChange: 2))
    func interleaving(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var button = Button()
        var kind = ButtonKind()
        kind.cooldown = .seconds(seed % 2 == 0 ? 5 : 0)
        let key = try #require(Key("log-coffee/desk"))
        var now = Timestamp(milliseconds: 0)
        var open: OperationID?
        var asked: Set<OperationID> = []
        var results: Set<String> = []
        var quietUntil = Timestamp(milliseconds: 0)

        func take(_ event: ButtonEvent, number: Int64) {
            let before = button
            guard let outcome = try? button.apply(event, key: key, kind: kind, at: now) else {
                #expect(button == before)
                return
            }
            if outcome.verdict == .ignored { #expect(button == before && outcome.steps == []) }
            if outcome.operation == OperationID(number) {
                #expect(open == nil && now >= quietUntil, "twice at a time, or in its cool-down")
                open = outcome.operation
            }
            for step in outcome.steps {
                switch step {
                case .perform(let performance):
                    #expect(performance.operation == open && performance.provider == button.provider)
                    #expect(asked.insert(performance.operation).inserted, "asked for twice")
                case .ended(let end):
                    #expect(end.operation == open, "ends what is over")
                    open = nil
                    results.insert(end.result.reason?.rawValue ?? end.result.name)
                    if end.result == .confirmed || end.result == .reverted(.timeout) {
                        quietUntil = now + kind.cooldown
                    }
                case .raise: Issue.record("this kind raises nothing")
                }
            }
            #expect(open == button.flight?.operation)
        }

        for number in 1...10_000 as ClosedRange<Int64> {
            now = now + Milliseconds(Int64(random.below(random.chance(10) ? 40_000 : 900)))
            while let deadline = button.deadline, deadline <= now { take(.deadlineReached, number: number) }
            let operation =
                random.chance(70) ? open ?? OperationID(0) : OperationID(Int64(random.below(UInt64(number))))
            let provider = random.chance(80) ? button.provider ?? 0 : Int64(random.below(4))
            switch random.below(100) {
            case 0..<40: take(.tapped(operation: OperationID(number), isLocked: false), number: number)
            case 40..<60: take(.done(operation, by: provider), number: number)
            case 60..<70: take(.failed(operation, nil, by: provider), number: number)
            case 70..<85: take(.providerChanged(to: Int64(random.below(4)), refreshesAgain: false), number: number)
            case 85..<90: take(.providerChanged(to: nil, refreshesAgain: false), number: number)
            case 90..<95: take(.restarted, number: number)
            default: take(.reported, number: number)
            }
        }
        while let deadline = button.deadline {
            now = max(now, deadline)
            take(.deadlineReached, number: 0)
        }
        #expect(open == nil)
        #expect(results == ["confirmed", "failed", "timeout", "unavailable"])
    }
}
