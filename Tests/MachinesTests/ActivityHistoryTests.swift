import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

/// Random histories keep the invariants of activities that the server's promises rest on.
struct ActivityHistoryTests {
    @Test("random histories keep the invariants", arguments: ["order", "timed"])
    func invariants(kind name: String) throws {
        let kind = try ActivityScript.kind(name)
        for seed in 0..<100 as Range<UInt64> {
            let begun = try History(kind: kind, seed: seed)
            var history = try #require(begun)
            for _ in 0..<60 { try history.step() }
        }
    }

    @Test func `an activity is the same after it was written and read, and no cut of it is one`() throws {
        let table = try TableFile("Machines/activity.table")
        for row in table.rows {
            var script = try ActivityScript()
            _ = try script.run(try #require(table.states[row[1]]))
            _ = try script.run(row[2])
            guard let activity = script.activity else { continue }
            var writer = BinaryWriter()
            activity.encode(to: &writer)
            var reader = BinaryReader(writer.bytes)
            let read = try Activity(from: &reader, key: activity.key, kind: activity.kind)
            #expect(reader.isAtEnd && read == activity && read.stateHash == activity.stateHash, "\(row)")
            // Equality compares the encoded parts only; the memory is compared here.
            #expect(memory(of: read) == memory(of: activity), "\(row)")
            guard row[0].hasPrefix("M") else { continue }
            for length in writer.bytes.indices {
                var cut = BinaryReader(Array(writer.bytes[..<length]))
                let whole = try? Activity(from: &cut, key: activity.key, kind: activity.kind)
                #expect(whole == nil, "\(row): \(length) bytes of it")
            }
        }
    }

    @Test func `hashes equal the ones that journals of earlier builds hold`() throws {
        let table = try TableFile("Machines/activity.table")
        var hash = StableHash()
        var lifecycles: Set<Activity.Lifecycle> = []
        for row in table.rows where row[0].hasPrefix("M") || row[0].hasPrefix("L") {
            for prefix in ["", "start content=A for=bob,alice alert stale-date=1h; "] {
                var script = try ActivityScript()
                _ = try? script.run(prefix + (table.states[row[1]] ?? ""))
                _ = try? script.run(row[2])
                guard let activity = script.activity else { continue }
                lifecycles.insert(activity.lifecycle)
                hash.combine(activity.stateHash)
            }
        }
        #expect(lifecycles.count == Activity.Lifecycle.allCases.count)
        #expect(hash.finalize() == 4_720_675_606_765_788_096)
    }

    @Test func `flipped bytes are an error or another activity, and never a trap`() throws {
        var script = try ActivityScript()
        _ = try script.run("start content=A for=alice,bob alert stale-date=1h; ready; dismiss alice")
        let activity = try #require(script.activity)
        var writer = BinaryWriter()
        activity.encode(to: &writer)
        for position in writer.bytes.indices {
            for flip in [0x01, 0x80, 0xFF] as [UInt8] {
                var bytes = writer.bytes
                bytes[position] ^= flip
                var reader = BinaryReader(bytes)
                guard var read = try? Activity(from: &reader, key: activity.key, kind: activity.kind) else { continue }
                _ = read.deadlineReached(by: .distantFuture, settings: ActivitySettings())
                _ = read.stateHash
            }
        }
    }

    @Test func `of the milestones before its start, an activity reports the newest 64`() throws {
        var script = try ActivityScript()
        _ = try script.run("start start-date=1h alert; ready; confirm")
        for _ in 0..<70 { _ = try script.run("call") }
        let outcome = try script.run("until 1h")
        #expect(outcome.split(separator: " ").count { $0 == "milestone(ready)" } == 64)
    }

    @Test func `an account that only looks does not keep others from dismissing the activity`() throws {
        var script = try ActivityScript()
        _ = try script.run("start content=A")
        var activity = try #require(script.activity)
        var settings = ActivitySettings()
        settings.markLimit = 3
        func decide(_ change: ActivityEvent.Change) throws -> Verdict {
            try activity.apply(
                ActivityEvent(change), settings: settings, at: script.activity?.updatedAt ?? .distantPast
            ).verdict
        }
        for (account, rev) in [("dora", 5), ("abel", 4), ("carl", 6)] as [(String, Int64)] {
            #expect(try decide(.seen(account: account, rev: rev)) == .applied)
        }
        #expect(try decide(.dismissed(account: "bert")) == .applied)
        // The account that looked the longest ago is forgotten.
        #expect(try decide(.seen(account: "carl", rev: 6)) == .noop)
        #expect(try decide(.seen(account: "dora", rev: 5)) == .noop)
        for account in ["abel", "eric"] { #expect(try decide(.dismissed(account: account)) == .applied) }
        for account in ["abel", "bert", "eric"] { #expect(activity.isDismissed(by: account)) }
        #expect(!activity.isDismissed(by: "carl"))
        settings.rules = .first
        #expect(throws: ActivityRejection.markLimit(3)) { try decide(.seen(account: "fred", rev: 9)) }
        settings.rules = .newest
        #expect(try decide(.seen(account: "fred", rev: 9)) == .applied)
        for account in ["abel", "bert", "eric"] {
            #expect(activity.isDismissed(by: account) && !activity.isVisible(to: account))
            #expect(try decide(.dismissed(account: account)) == .noop)
        }
        #expect(activity.isVisible(to: "fred"))
    }

    @Test func `after 100,000 accounts the next one dismisses an activity too, and it stays below 2 MiB`() throws {
        var script = try ActivityScript()
        _ = try script.run("start content=A")
        var activity = try #require(script.activity)
        let now = activity.updatedAt
        func dismiss(_ account: String) throws -> Verdict {
            try activity.apply(ActivityEvent(.dismissed(account: account)), settings: ActivitySettings(), at: now)
                .verdict
        }
        for number in 0..<100_001 where try dismiss("made-up-\(number)") != .applied {
            Issue.record("account \(number) may not dismiss it")
            return
        }
        for number in stride(from: 0, through: 100_000, by: 997) {
            #expect(activity.isDismissed(by: "made-up-\(number)") && !activity.isVisible(to: "made-up-\(number)"))
        }
        #expect(activity.isVisible(to: "alice") && activity.isVisible(to: "made-up-100001"))
        #expect(try dismiss("made-up-7") == .noop)
        var writer = BinaryWriter()
        activity.encode(to: &writer)
        #expect(writer.bytes.count < 2 << 20)
        // A snapshot of it is read again to the same state.
        var reader = BinaryReader(writer.bytes)
        let copy = try Activity(from: &reader, key: activity.key, kind: activity.kind)
        #expect(copy == activity && copy.stateHash == activity.stateHash && copy.isDismissed(by: "made-up-0"))
    }

    @Test func `room is counted for each person and app, and freed`() throws {
        var counts = ActivityCounts()
        var limits = ActivityLimits()
        limits.perApp = 2
        limits.perAccount = 3
        counts.add(app: 1, account: 1)
        counts.add(app: 1, account: 1)
        #expect(throws: ActivityRejection.appLimit(2)) { try counts.check(app: 1, accounts: [1], limits: limits) }
        try counts.check(app: 1, accounts: [2], limits: limits)
        try counts.check(app: 2, accounts: [1], limits: limits)
        counts.add(app: 2, account: 1)
        #expect(throws: ActivityRejection.accountLimit(3)) {
            try counts.check(app: 2, accounts: [2, 1], limits: limits)
        }
        counts.remove(app: 1, account: 1)
        try counts.check(app: 1, accounts: [1], limits: limits)
        for _ in 0..<3 { counts.remove(app: 1, account: 1) }
        #expect(counts.count(account: 1, app: 1) == 0)
        // An account without activities takes up no memory.
        counts.remove(app: 2, account: 1)
        #expect(counts == ActivityCounts())
    }
}

/// Every stored property of an activity, but its kind.
private func memory(of activity: Activity) -> [String] {
    Mirror(reflecting: activity).children.filter { $0.label != "kind" }.map { "\($0.label ?? ""): \($0.value)" }
}

/// One activity's history from a seed, with the checks after each step.
private struct History {
    private var random: SeededGenerator
    private var activity: Activity
    private var now = ActivityScript.zero
    private var newestAt: Timestamp
    private let settings = ActivitySettings()
    private let seed: UInt64
    private var events: [String]

    init?(kind: Kind, seed: UInt64) throws {
        guard case .activity(let definition) = kind.body, let key = Key(kind: kind.name, id: "1") else { return nil }
        random = SeededGenerator(seed: seed)
        self.seed = seed
        events = ["update", "update", "end"]
        events +=
            kind.name == "order"
            ? ["confirm", "ready", "collect", "cancel", "complain", "pause", "placed", "call", "loop", "unheard"]
            : ["brew", "brew", "placed", "ready", "unheard"]
        var event = ActivityEvent(type: "start")
        if random.chance(30) {
            event.details.startDate = now + .minutes(30)
            event.details.alert = ActivityAlert(title: "Start", body: "")
        }
        let accounts = random.chance(50) ? ["alice", "bob"] : []
        let (started, _) = try Activity.start(
            key: key, kind: definition, event: event, accounts: accounts, settings: settings, at: now)
        guard let started else { return nil }
        activity = started
        newestAt = now
    }

    mutating func step() throws {
        if random.chance(40) { now = now + Milliseconds(Int64(random.below(90 * 60_000))) }
        while let deadline = activity.deadline, deadline <= now {
            let before = activity
            let fired = activity.deadlineReached(by: now, settings: settings)
            let outcome = try #require(fired)
            expect(activity.deadline != deadline || activity != before, "seed \(seed): a deadline fires for ever")
            try check(after: before, outcome)
        }
        expect(activity.deadline.map { $0 > now } ?? true, "seed \(seed)")

        let before = activity
        let event = makeEvent()
        do {
            let outcome = try activity.apply(event, settings: settings, at: now)
            checkOrdering(event, outcome)
            switch outcome.verdict {
            case .ignored, .stale, .duplicate: expect(activity == before, "seed \(seed): \(event)")
            case .applied, .noop, .deferred: break
            }
            try check(after: before, outcome)
        } catch is ActivityRejection {
            expect(activity == before, "seed \(seed): refused, and changed all the same")
        }
    }

    private mutating func makeEvent() -> ActivityEvent {
        switch random.below(12) {
        case 0: return ActivityEvent(.dismissed(account: ["alice", "bob", "carol"][Int(random.below(3))]))
        case 1: return ActivityEvent(.seen(account: "alice", rev: Int64(random.below(9))))
        default: break
        }
        var event = ActivityEvent(type: events[Int(random.below(UInt64(events.count)))])
        if random.chance(30) { event.happenedAt = now + Milliseconds(Int64(random.below(7_200_000)) - 5_400_000) }
        if random.chance(5) { event.happenedAt = now + .hours(9) }
        if random.chance(50) { event.details.content = ["note": .integer(Int64(random.below(3)))] }
        if random.chance(2) {
            event.details.content = ["note": .string(String(repeating: "x", count: 5000))]
        }
        if random.chance(30) { event.details.staleDate = now + .minutes(Int64(random.below(60)) - 10) }
        if random.chance(30) { event.details.dismissalDate = now + .minutes(Int64(random.below(600)) - 10) }
        if random.chance(20) { event.details.alert = ActivityAlert(title: "Own", body: "") }
        return event
    }

    private mutating func checkOrdering(_ event: ActivityEvent, _ outcome: ActivityOutcome) {
        switch event.change {
        case .dismissed, .seen, .started: return
        case .updated, .ended, .happened: break
        }
        let happenedAt = event.happenedAt ?? now
        switch outcome.verdict {
        case .applied, .noop, .deferred:
            expect(
                happenedAt >= newestAt || outcome.isOldEnd, "seed \(seed): out of order, and taken: \(event)")
            expect(happenedAt - now <= .hours(8), "seed \(seed)")
            newestAt = max(newestAt, happenedAt)
        case .stale: expect(happenedAt < newestAt, "seed \(seed)")
        case .ignored, .duplicate: break
        }
    }

    private func check(after before: Activity, _ outcome: ActivityOutcome) throws {
        let kind = activity.kind
        if before.lifecycle == .dismissed { expect(activity == before, "seed \(seed): dismissed is final") }
        if before.lifecycle == .ended, activity.lifecycle == .ended {
            expect(activity.content == before.content, "seed \(seed): an ended one is frozen")
        }
        if let endedAt = activity.endedAt, let removeAt = activity.removeAt, activity.lifecycle == .ended {
            expect(removeAt <= endedAt + kind.maxLinger, "seed \(seed)")
            expect(removeAt <= activity.startedAt + kind.maxActive + kind.maxLinger, "seed \(seed)")
            expect(removeAt > endedAt, "seed \(seed)")
        }
        if activity.lifecycle == .active || activity.lifecycle == .stale {
            expect(now <= activity.startedAt + kind.maxActive || activity.deadline ?? now <= now, "seed \(seed)")
        }
        // A reader of the full view must never meet two bodies for one rev.
        if fullRow(of: activity) != fullRow(of: before) {
            expect(outcome.effects.contains(.publish), "seed \(seed): \(outcome)")
        }
        expect(outcome.effects.contains(.alert) == (outcome.alert != nil), "seed \(seed)")
        expect(
            outcome.effects.contains(.retire) == (activity.lifecycle == .dismissed && before.lifecycle != .dismissed),
            "seed \(seed)")
        if outcome.alert != nil {
            expect(activity.isAlerting, "seed \(seed)")
            expect(activity.lifecycle != .pending, "seed \(seed): nothing is told before the start")
        }
        switch activity.lifecycle {
        case .pending, .active, .stale: break
        case .ended, .dismissed: expect(activity.occupiedAccounts.isEmpty, "seed \(seed)")
        }

        var writer = BinaryWriter()
        activity.encode(to: &writer)
        var reader = BinaryReader(writer.bytes)
        let read = try Activity(from: &reader, key: activity.key, kind: kind)
        expect(read == activity, "seed \(seed)")
    }

    private func fullRow(of activity: Activity) -> [UInt8] {
        var writer = JSONWriter()
        activity.writeFullRow(to: &writer)
        return writer.bytes
    }
}
