import ApplePush
import TelltaleModel
import TestSupport
import Testing

/// Runs a ledger against devices and a daemon: answers are lost, tokens rotate, and the process is killed between any
/// two of its steps.
struct PushStateFaultTests {
    enum Bug: CaseIterable {
        /// Sends before it keeps.
        case sendsFirst
        /// Loses the registrations of a turn.
        case forgetsRegistrations
        /// Takes a snapshot for whole before it is.
        case livesTooEarly
        /// Takes a lost answer for a good one.
        case believesSilence
    }

    @Test func `every device ends as the daemon has it, is begun once and alerted once`() {
        for seed in UInt64(1)...400 {
            var world = World(seed: seed, bug: nil)
            if let fault = world.run() { Issue.record("seed \(seed): \(fault)") }
        }
    }

    @Test(arguments: Bug.allCases) func `the checks find a planted bug`(_ bug: Bug) {
        #expect(
            (UInt64(1)...300).contains { seed in
                var world = World(seed: seed, bug: bug)
                return world.run() != nil
            })
    }

    private static let watch = PushState.Watch(account: "alice", kind: "coffee-order")
    private static let form = OutgoingPush.Form(bundle: Fixture.bundle, attributesType: "Coffee")

    /// One activity on the daemon.
    private struct Source {
        var rev: Int64
        var startedAt: Int64
        var isEnd = false
        var isGone = false
    }

    /// One card on the device.
    private struct Card {
        var rev: Int64 = 0
        var timestamp: Int64 = 0
        var isEnd = false
        var alerts: [String: Int] = [:]
        var starts = 0
    }

    private struct World {
        var random: SeededGenerator
        let bug: Bug?
        var now = PushTargetTableTests.start
        var ledger: PushState
        // The disk
        var lanes: [PushState.LaneID: [UInt8]] = [:]
        var registrations: [String: (PushRegistration, Timestamp)] = [:]
        // The daemon
        var sources: [Int: Source] = [:]
        var rev: Int64 = 0
        var hasStart = false
        // The device
        var cards: [String: Card] = [:]
        var underWay: [(at: Timestamp, PushState.Sending, PushAnswerClass, arrives: Bool)] = []
        var fault: String?
        var isFaulty = true

        init(seed: UInt64, bug: Bug?) {
            random = SeededGenerator(seed: seed)
            self.bug = bug
            ledger = Self.ledger()
        }

        static func ledger() -> PushState {
            PushState(forms: ["coffee-order": form], flightLimit: 4, Fixture.cryptography)
        }

        static let keys = (0...9).compactMap { Key("coffee-order/\($0)") }
        static func key(_ number: Int) -> Key { keys[number] }

        func row(_ source: Source) -> JSONObject {
            [
                "lifecycle": source.isEnd ? "ended" : "active", "content": ["rev": .integer(source.rev)],
                "startedAt": .integer(source.startedAt), "state": "s",
            ]
        }

        // MARK: The process

        mutating func restart() {
            ledger = Self.ledger()
            // Answers to the process before are not heard.
            for index in underWay.indices { underWay[index].2 = .unknown }
            for (registration, at) in registrations.values { ledger.restore(registration, registeredAt: at) }
            for (id, bytes) in lanes {
                do throws(BinaryError) { try ledger.restore(id, bytes) } catch { fault = "\(error)" }
            }
            unheard = underWay.map(\.1.attempt.number)
            if bug == .livesTooEarly { ledger.takeLive(PushStateFaultTests.watch) }
            turn()
            for number in sources.keys.sorted() {
                guard let source = sources[number], !source.isGone else { continue }
                ledger.receive(row: row(source), of: Self.key(number), rev: source.rev, in: PushStateFaultTests.watch)
                if random.chance(20) { turn() }
            }
            ledger.takeLive(PushStateFaultTests.watch)
        }

        var unheard: [Int64] = []

        mutating func turn() {
            let turn = ledger.takeTurn(at: now)
            let isKilledBefore = isFaulty && random.chance(2)
            if bug == .sendsFirst { for sending in turn.sendings { send(sending) } }
            if isKilledBefore { return restart() }
            for (id, registration, at) in turn.registrations where bug != .forgetsRegistrations {
                registrations[id] = registration.map { ($0, at) }
            }
            for (id, bytes) in turn.lanes { lanes[id] = bytes }
            if isFaulty, random.chance(2) { return restart() }
            for (index, sending) in turn.sendings.enumerated() where bug != .sendsFirst {
                // Killed between two sends.
                if isFaulty, index > 0, random.chance(3) { return restart() }
                send(sending)
            }
        }

        // MARK: The service and the device

        mutating func send(_ sending: PushState.Sending) {
            let fate = isFaulty ? random.below(14) : 0
            let answer: PushAnswerClass
            switch fate {
            case 10: answer = .throttled(nil)
            case 11: answer = .failed
            case 12: answer = .unsent
            case 13: answer = .unknown
            default: answer = .accepted
            }
            let arrives = answer == .accepted || answer == .unknown && random.chance(50)
            underWay.append((now + Milliseconds(Int64(random.below(3_000))), sending, answer, arrives))
        }

        mutating func deliver(_ sending: PushState.Sending) {
            guard let aps = (try? JSONParser.parse(String(decoding: sending.push.body, as: UTF8.self)))?["aps"],
                let key = sending.lane.key
            else { return }
            let event = aps["event"]?.string ?? ""
            let name = sending.attempt.token == "55" ? "start \(key)" : "card \(key)"
            var card = cards[name] ?? Card()
            if event == "start" {
                card.starts += 1
                if card.starts > 1 { fault = "\(key) is begun twice" }
                cards[name] = card
                return
            }
            let timestamp = aps["timestamp"]?.integer ?? 0
            guard !card.isEnd, timestamp >= card.timestamp else { return }
            let rev = aps["content-state"]?["rev"]?.integer ?? card.rev
            if rev < card.rev { fault = "\(key) shows \(rev) after \(card.rev)" }
            card.rev = rev
            card.timestamp = timestamp
            card.isEnd = event == "end"
            if let alert = aps["alert"]?["title"]?.string {
                card.alerts[alert, default: 0] += 1
                if card.alerts[alert] == 2 { fault = "\(key) alerts twice for \(alert)" }
            }
            cards[name] = card
        }

        mutating func step() {
            let times = underWay.map(\.at) + [ledger.nextWake].compactMap { $0 }
            let next = times.min() ?? now + .seconds(1)
            now = max(now, min(next, now + .seconds(isFaulty ? 2 : 10_000)))
            while let index = underWay.firstIndex(where: { $0.at <= now }) {
                let (_, sending, answer, arrives) = underWay.remove(at: index)
                if arrives { deliver(sending) }
                if !unheard.contains(sending.attempt.number) || answer != .unknown {
                    let heard = bug == .believesSilence && answer == .unknown ? .accepted : answer
                    ledger.receive(heard, to: sending.lane, sending.attempt.number, at: now)
                }
            }
            turn()
        }

        // MARK: The daemon

        mutating func post(_ number: Int) {
            rev += 1
            if var source = sources[number], !source.isGone {
                source.rev = rev
                source.isEnd = source.isEnd || random.chance(4)
                if random.chance(6) {
                    source.isGone = true
                    sources[number] = source
                    ledger.takeDeletion(of: Self.key(number), rev: rev, in: PushStateFaultTests.watch, at: now)
                    return
                }
                sources[number] = source
            } else if sources[number] == nil {
                sources[number] = Source(rev: rev, startedAt: now.milliseconds)
            } else {
                return
            }
            let alerts = random.chance(30)
            let alert = OutgoingPush.Alert(title: "\(number) \(rev)", body: "")
            let isFirst = random.chance(50)
            if alerts, isFirst {
                ledger.receive(alert: alert, of: Self.key(number), rev: rev, in: PushStateFaultTests.watch)
                if random.chance(30) { turn() }
            }
            guard let source = sources[number] else { return }
            ledger.receive(row: row(source), of: Self.key(number), rev: rev, in: PushStateFaultTests.watch)
            if alerts, !isFirst {
                if random.chance(30) { turn() }
                ledger.receive(alert: alert, of: Self.key(number), rev: rev, in: PushStateFaultTests.watch)
            }
        }

        mutating func register(_ registration: PushRegistration) {
            // An app that has no answer asks again.
            for _ in 0..<(bug == .forgetsRegistrations ? 1 : 100) where registrations[registration.id] == nil {
                _ = ledger.register(registration, at: now)
                turn()
            }
        }

        mutating func run() -> String? {
            let people = 1...Int(random.below(5) + 1)
            ledger.takeLive(PushStateFaultTests.watch)
            for number in people {
                register(
                    PushRegistration(id: "u\(number)", .update(Self.key(number)), account: "alice", token: "a\(number)")
                )
            }
            register(PushRegistration(id: "s", .start(kind: "coffee-order"), account: "alice", token: "55"))
            for _ in 0..<Int(random.below(120) + 20) {
                if random.chance(40) { post(Int(random.below(UInt64(people.count + 2)) + 1)) }
                if random.chance(3) { restart() }
                step()
                if fault != nil { return fault }
            }
            isFaulty = false
            for number in people where registrations["u\(number)"] == nil && sources[number] == nil {
                return "u\(number) is forgotten"
            }
            restart()
            for _ in 0..<600 where fault == nil {
                step()
                if underWay.isEmpty, ledger.nextWake == nil { break }
            }
            if let fault { return fault }
            guard underWay.isEmpty, ledger.nextWake == nil else { return "goes on for ever" }
            for number in people {
                guard let source = sources[number] else { continue }
                let card = cards["card \(Self.key(number))"] ?? Card()
                // A token may be handed in before its activity begins: one that was never seen is not reported its end.
                if card.rev == 0, source.isGone { continue }
                if card.isEnd != (source.isEnd || source.isGone) { return "\(number) ended here and not there" }
                if !card.isEnd, card.rev != source.rev { return "\(number) shows \(card.rev), and not \(source.rev)" }
            }
            return nil
        }
    }
}
