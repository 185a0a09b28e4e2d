import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

/// Taps, results, reports, deadlines, disconnects and restarts in any order, with the checks after each of them.
struct ToggleInterleavingTests {
    /// 20 seeds of 50,000 steps: a million, in about ten seconds of a debug build on two cores.
    @Test(
        "Random interleavings keep every promise", arguments: Lane.some(1...20 as ClosedRange<UInt64>, atEveryChange: 4)
    )
    func interleaving(seed: UInt64) throws {
        var world = ToggleWorld(seed: seed)
        for step in 1...50_000 {
            try world.step()
            guard world.broken.isEmpty else {
                Issue.record("seed \(seed), step \(step): \(world.broken), \(world.toggle)")
                return
            }
        }
        // Without further input, the deadlines alone end everything.
        try world.drain()
        #expect(world.broken == [])
        #expect(world.open == [])
        #expect(world.actedCount > 1000)
        #expect(Set(world.results.map(\.key)).count == 6)
    }
}

/// One toggle, its providers and its people, with a second bookkeeping beside the machine's own.
struct ToggleWorld {
    var toggle = Toggle()
    var ledger: TapLedger
    let forgets: Bool
    var roster = ProviderRoster()
    var kind = ToggleKind()
    var random: SeededGenerator
    var now = Timestamp(milliseconds: 1_700_000_000_000)
    var commit: Int64 = 0
    var nextConnection: Int64 = 100

    /// Operations that were answered and have not ended.
    var open: Set<OperationID> = []
    var ended: Set<OperationID> = []
    /// The operations that ended in this step, oldest first: no row of them was sent yet.
    var untold: [OperationID] = []
    var results: [String: Int] = [:]
    /// The value that a provider last gave without a reason to doubt it, and the one that waits for the operation to
    /// end.
    var truth: Bool?
    var held: Bool?
    var acted: [TapLedger.Identity: OperationID?] = [:]
    var actedCount = 0
    var tapCount = 0
    var tapPublishCount = 0
    var latest: Timestamp?
    var broken: [String] = []

    let key = Key("porch-light/front")

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        forgets = seed % 4 == 0
        ledger = TapLedger(countLimit: forgets ? 64 : 100_000)
        kind.restore = seed % 2 == 0 ? .reissue : .reported
        kind.optimisticEverywhere = seed % 3 == 0
    }

    mutating func step() throws {
        commit += 1
        if random.chance(40) { now = now + Milliseconds(Int64(random.below(random.chance(10) ? 40_000 : 900))) }
        // As in the hub: deadlines that are due come before anything else.
        while let deadline = toggle.deadline, deadline <= now { apply(.deadlineReached) }
        switch random.below(100) {
        case 0..<30: try tap()
        case 30..<50: report()
        case 50..<75: answer()
        case 75..<84:
            nextConnection += 1
            if roster.serve(nextConnection) { apply(.providerChanged(to: roster.acting)) }
        case 84..<93:
            guard let leaving = roster.connections.randomElement(using: &random) else { break }
            if roster.leave(leaving) { apply(.providerChanged(to: roster.acting)) }
        case 93..<95: try restart()
        case 95: apply(.kindChanged)
        default: apply(.deadlineReached)
        }
        check()
    }

    mutating func drain() throws {
        while let deadline = toggle.deadline {
            now = max(now, deadline)
            apply(.deadlineReached)
        }
        check()
    }

    private mutating func tap() throws {
        let value = random.chance(50)
        let connection = Int64(random.below(4))
        let identity = TapLedger.Identity(
            sender: "account-\(random.below(3))", eid: "e\(random.chance(30) ? random.below(20) : UInt64(commit))")
        let key = try #require(key)
        switch ledger.answer(to: identity, on: key, tap: .set(value)) {
        case .duplicate(let operation):
            expect(acted[identity] == .some(operation), "a repeat is answered with another operation")
        case .mismatch:
            expect(acted[identity] != nil, "a new tap is called a repeat")
        case .new:
            let outcome = apply(
                .tapped(value, operation: OperationID(commit), connection: connection, isLocked: false))
            guard let outcome else { break }
            ledger.record(identity, on: key, tap: .set(value), operation: outcome.operation, at: now)
            ledger.forget(at: now)
            tapCount += 1
            if outcome.operation == OperationID(commit) {
                actedCount += 1
                expect(acted[identity] == nil || forgets, "acted twice")
            }
            acted[identity] = outcome.operation
        }
    }

    private mutating func report() {
        guard roster.acting != nil else { return }
        let age = Milliseconds(-Int64(random.below(3000)))
        apply(.reported(random.chance(50), observedAt: random.chance(50) ? nil : now + age))
    }

    /// A right answer, or a late, a lying or a stranger's one.
    private mutating func answer() {
        let current = toggle.flight?.operation.id
        let operation = random.chance(70) ? current ?? OperationID(1) : OperationID(Int64(random.below(UInt64(commit))))
        let provider = random.chance(80) ? roster.acting ?? 1 : Int64(random.below(4))
        let before = toggle
        let isOld = operation != current || provider != toggle.flight?.provider
        let value: Bool? = random.chance(30) ? nil : random.chance(80) ? toggle.flight?.operation.wanted : true
        let outcome =
            random.chance(70)
            ? apply(.done(operation, value: value, by: provider))
            : apply(.failed(operation, ProviderFailure(code: "x", message: nil), by: provider))
        if isOld {
            expect(outcome?.verdict == .ignored && toggle == before, "an old result changed something")
        }
    }

    private mutating func restart() throws {
        var writer = BinaryWriter()
        toggle.encode(to: &writer)
        if forgets { ledger.encode(to: &writer) }  // The long one would take all the time there is.
        var reader = BinaryReader(writer.bytes)
        let read = (try Toggle(from: &reader), forgets ? try TapLedger(from: &reader) : ledger)
        expect(read.0 == toggle && (!forgets || read.1 == ledger) && reader.isAtEnd, "read is not what was written")
        (toggle, ledger) = read
        roster = ProviderRoster()
        apply(.restarted)
    }

    @discardableResult
    private mutating func apply(_ event: ToggleEvent) -> ControlOutcome? {
        let before = toggle
        guard let outcome = try? toggle.apply(event, kind: kind, at: now) else {
            expect(toggle == before, "a refusal changed something")
            return nil
        }
        if outcome.verdict == .stale || outcome.verdict == .ignored {
            expect(toggle == before && outcome.effects == [] && outcome.steps == [], "nothing was to happen")
        }
        if !outcome.effects.contains(.publish) {
            expect(RowFacts(before, kind) == RowFacts(toggle, kind), "the row changed, and nobody is told")
        }
        note(event, outcome, before)
        return outcome
    }

    /// Keeps the second bookkeeping.
    private mutating func note(_ event: ToggleEvent, _ outcome: ControlOutcome, _ before: Toggle) {
        if let operation = outcome.operation, operation == OperationID(commit) { open.insert(operation) }
        for step in outcome.steps {
            switch step {
            case .perform(let performance):
                expect(open.contains(performance.operation), "performs what is over")
                expect(performance.provider == roster.acting, "asks somebody who does not act")
                expect(performance.deadline > now, "asks too late")
            case .ended(let end):
                expect(open.remove(end.operation) != nil, "ended twice")
                expect(ended.insert(end.operation).inserted, "ended twice")
                untold.append(end.operation)
                results[end.result.reason?.rawValue ?? end.result.name, default: 0] += 1
                let isFlight = end.operation == before.flight?.operation.id
                switch (event, end.result) {
                case (.done(_, let value, _), _): (truth, held) = (value ?? before.flight?.operation.wanted, nil)
                case (_, .reverted) where isFlight: (truth, held) = (held ?? truth, nil)
                case (_, _): break
                }
            case .raise: expect(false, "a toggle raises nothing")
            }
        }
        switch event {
        case .reported(let value, _):
            switch outcome.verdict {
            case .applied, .noop: (truth, held) = (value, nil)
            case .deferred: held = value
            case .stale, .ignored, .duplicate: break
            }
        case .deadlineReached where before.flight == nil && outcome.verdict == .applied: (truth, held) = (held, nil)
        case .tapped, .done, .failed: if outcome.effects.contains(.publish) { tapPublishCount += 1 }
        case .deadlineReached, .providerChanged, .restarted, .kindChanged: break
        }
    }

    private mutating func check() {
        expect(
            open == Set([toggle.flight?.operation.id, toggle.queued?.id].compactMap(\.self)), "an operation is lost")
        expect(toggle.queued == nil || toggle.flight != nil, "waits behind nothing")
        expect(toggle.queued.map { $0.wanted != toggle.flight?.operation.wanted } ?? true, "waits for what is coming")
        expect(toggle.flight?.provider == (toggle.flight == nil ? nil : roster.acting), "the wrong provider is at it")
        expect(toggle.deadline.map { $0 <= now + kind.timeout } ?? true, "a deadline beyond the timeout")
        expect(toggle.flight == nil || toggle.deadline != nil, "pending without an end")
        expect(toggle.value == truth, "what is confirmed is not what was reported")
        // A step is as much as may be reported in one row.
        let reported = (toggle.endedBefore + [toggle.last].compactMap(\.self)).map(\.operation)
        expect(untold.allSatisfy { reported.contains($0) }, "an end that is in no row")
        untold = []
        if toggle.phase == .settled {
            for connection in 0..<4 as Range<Int64> {
                expect(toggle.shown(to: connection, kind: kind) == truth, "settled, and shows something else")
            }
        }
        expect(toggle.held?.value == held, "holds another report")
        expect(tapPublishCount <= 2 * tapCount, "more than two fan-outs a tap")
    }

    private mutating func expect(_ condition: Bool, _ promise: @autoclosure () -> String) {
        if !condition { broken.append(promise()) }
    }
}

/// The content of a row, for any viewer.
private struct RowFacts: Equatable {
    let value: Bool?
    let isAssumed: Bool
    let phase: Toggle.Phase
    let wanted: Bool?
    let isAvailable: Bool
    let last: OperationEnd?
    let ended: ArraySlice<OperationEnd>
    let tappedShown: [Bool?]

    init(_ toggle: Toggle, _ kind: ToggleKind) {
        value = toggle.value
        isAssumed = toggle.isAssumed
        phase = toggle.phase
        wanted = toggle.wanted
        isAvailable = toggle.isAvailable
        last = toggle.last
        ended = toggle.endedBefore
        tappedShown = (0..<4 as Range<Int64>).map { toggle.shown(to: $0, kind: kind) }
    }
}
