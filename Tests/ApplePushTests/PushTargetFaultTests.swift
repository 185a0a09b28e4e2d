import ApplePush
import TelltaleModel
import TestSupport
import Testing

/// Runs targets against a service and a device that lose, delay, reorder and refuse, and kills their performer.
struct PushTargetFaultTests {
    /// A mistake of the performer, or of the world around it; the checks are to find each.
    enum Bug: CaseIterable {
        /// Keeps the value after it has acted.
        case actsBeforeKeeping
        /// Sends the same request again when no answer comes.
        case repeatsRequests
        /// Begins again as if nothing had been under way.
        case forgetsRestart
        /// Reports one time for all inputs.
        case stopsTheClock
        /// Does not wake the target.
        case sleepsOn
        /// Takes every 410 for an older one.
        case keepsDeadTokens
    }

    @Test func `whatever fails, the device ends on the newest state, never goes back, and is alerted once`() {
        for seed in UInt64(1)...2_000 {
            var world = World(seed: seed, bug: nil)
            if let fault = world.run() { Issue.record("seed \(seed): \(fault)") }
        }
    }

    @Test(arguments: Bug.allCases) func `the checks find a planted bug`(_ bug: Bug) {
        let found = (UInt64(1)...400).contains { seed in
            var world = World(seed: seed, bug: bug)
            return world.run() != nil
        }
        #expect(found)
    }

    private struct World {
        var random: SeededGenerator
        let bug: Bug?
        var now = PushTargetTableTests.start
        /// As it lies on the disk.
        var kept: [UInt8]
        var target: PushTarget
        var wake: Timestamp?
        /// Pushes and answers under way, with the time of their arrival.
        var pushes: [(at: Timestamp, PushTarget.Attempt)] = []
        var answers: [(at: Timestamp, number: Int64, PushAnswerClass)] = []
        // The daemon
        var newest = PushedState(rev: 1)
        // The device
        var token = "t1"
        var tokenCount = 1
        var registered = PushTargetTableTests.start
        var shown: (rev: Int64, timestamp: Int64) = (0, 0)
        var isEnded = false
        var alerts: [Int64: Int] = [:]
        var fault: String?
        var faulty = true
        /// Whether the app was removed, and hands in no token any more.
        var isRemoved = false
        var pushCount = 0

        init(seed: UInt64, bug: Bug?) {
            random = SeededGenerator(seed: seed)
            self.bug = bug
            target = PushTarget(at: now)
            kept = target.encoded
        }

        func chance(_ one: Int, _ generator: inout SeededGenerator) -> Bool {
            Int.random(in: 0..<one, using: &generator) == 0
        }

        mutating func give(_ input: PushTarget.Input) {
            let time = bug == .stopsTheClock ? PushTargetTableTests.start : now
            let actions = target.decide(input, at: time)
            if bug != .actsBeforeKeeping { kept = target.encoded }
            // Killed between the two.
            if faulty, chance(40, &random) {
                if bug == .actsBeforeKeeping { perform(actions) }
                return restart()
            }
            perform(actions)
            if bug == .actsBeforeKeeping, !(faulty && chance(8, &random)) { kept = target.encoded }
        }

        mutating func restart() {
            do { target = try PushTarget(encoded: kept) } catch { fault = "\(error)" }
            wake = nil
            // Answers to the process before are not heard.
            answers = []
            if bug == .forgetsRestart { return }
            let actions = target.decide(.restarted, at: now)
            kept = target.encoded
            perform(actions)
            let again = target.decide(.changed(newest), at: now)
            kept = target.encoded
            perform(again)
        }

        mutating func perform(_ actions: [PushTarget.Action]) {
            for action in actions {
                switch action {
                case .wake(let time): if bug != .sleepsOn { wake = time }
                case .send(let attempt): send(attempt)
                }
            }
        }

        mutating func send(_ attempt: PushTarget.Attempt) {
            pushCount += 1
            let fate = faulty ? Int.random(in: 0..<12, using: &random) : 0
            let delay = Milliseconds(Int64.random(in: 0..<(faulty ? 5_000 : 100), using: &random))
            var answer = PushAnswerClass.accepted
            switch fate {
            case 6: answer = .throttled(nil)
            case 7: answer = .failed
            case 8: answer = .unauthorized
            case 9: answer = .unknown
            default: break
            }
            if attempt.token != token {
                answer = .unregistered(since: registered)
            } else if fate == 10, bug != .keepsDeadTokens {
                // An answer about the time before the token was handed in.
                answer = .unregistered(since: registered + Milliseconds(-1))
            }
            // A push without an answer is lost, or it arrives.
            let arrives = answer == .accepted || answer == .unknown && chance(2, &random)
            if arrives, attempt.token == token {
                pushes.append((now + Milliseconds(Int64.random(in: 0..<4_000, using: &random)), attempt))
                if bug == .repeatsRequests, answer == .unknown { pushes.append((now + delay, attempt)) }
            }
            if bug == .keepsDeadTokens, case .unregistered = answer { answer = .unregistered(since: .distantPast) }
            answers.append((now + delay, attempt.number, answer))
        }

        mutating func deliver(_ attempt: PushTarget.Attempt) {
            guard !isEnded, attempt.timestamp >= shown.timestamp else { return }
            if attempt.state.rev < shown.rev { fault = "shows \(attempt.state.rev) after \(shown.rev)" }
            shown = (attempt.state.rev, attempt.timestamp)
            isEnded = attempt.state.isEnd
            guard attempt.alerts else { return }
            alerts[attempt.state.alert, default: 0] += 1
            if alerts[attempt.state.alert] == 2 { fault = "alerts twice for \(attempt.state.alert)" }
        }

        mutating func step() {
            let times = [wake].compactMap { $0 } + pushes.map(\.at) + answers.map(\.at)
            let next = times.min() ?? now + .seconds(1)
            now = max(now, min(next, now + .seconds(faulty ? 2 : 10_000)))
            if let index = pushes.firstIndex(where: { $0.at <= now }) { deliver(pushes.remove(at: index).1) }
            if let index = answers.firstIndex(where: { $0.at <= now }) {
                let answer = answers.remove(at: index)
                give(.answered(answer.number, answer.2))
            }
            if let time = wake, time <= now {
                wake = nil
                give(.woke)
            }
        }

        mutating func run() -> String? {
            give(.registered(token))
            give(.changed(newest))
            for _ in 0..<Int.random(in: 20..<120, using: &random) {
                if chance(3, &random), !newest.isEnd {
                    let rev = newest.rev + Int64.random(in: 1..<4, using: &random)
                    newest = PushedState(
                        rev: rev, isEnd: chance(30, &random), alert: chance(4, &random) ? rev : newest.alert)
                    give(.changed(newest))
                }
                if chance(200, &random) {
                    isRemoved = true
                    token = "none"
                    registered = now
                }
                if !isRemoved, chance(25, &random) {
                    tokenCount += 1
                    token = "t\(tokenCount)"
                    registered = now
                    give(.registered(token))
                }
                if chance(20, &random) { restart() }
                step()
                if fault != nil { return fault }
            }
            faulty = false
            // The app hands in its token at each start.
            restart()
            if !isRemoved { give(.registered(token)) }
            for _ in 0..<400 where fault == nil {
                step()
                if target.isSettled, pushes.isEmpty, answers.isEmpty { break }
            }
            if let fault { return fault }
            if !target.isSettled { return "goes on for ever" }
            if isRemoved || isEnded || shown.rev == newest.rev { return pushCount > 3_000 ? "sends without end" : nil }
            return "shows \(shown.rev), and the newest is \(newest.rev)"
        }
    }
}
