import ApplePush
import TelltaleModel
import TestSupport
import Testing

struct PushTargetCodingTests {
    private static let start = PushTargetTableTests.start

    /// A target in every phase, with a push under way and without.
    private static func target(_ seed: UInt64) -> PushTarget {
        var random = SeededGenerator(seed: seed)
        var target = PushTarget(random.chance(30) ? .start : .update, isFrequent: random.chance(50), at: start)
        var now = start
        for rev in 1..<Int64(random.below(12) + 2) {
            now = now + .seconds(Int64(random.below(90)))
            _ = target.decide(input(rev, target, &random, at: now), at: now)
        }
        return target
    }

    private static func input(
        _ rev: Int64, _ target: PushTarget, _ random: inout SeededGenerator, at now: Timestamp
    ) -> PushTarget.Input {
        let number = target.underWay?.number ?? 0
        switch random.below(12) {
        case 0, 1: return .registered("token \(random.below(3))")
        case 2, 3, 4:
            return .changed(PushedState(rev: rev, isEnd: random.chance(5), alert: random.chance(40) ? rev : 0))
        case 5: return .answered(number, .accepted)
        case 6: return .answered(number, .throttled(nil))
        case 7: return .answered(number, .unregistered(since: now))
        case 8: return .answered(number, .unknown)
        case 9: return .restarted
        case 10: return random.chance(50) ? .gone : .newHistory
        default: return .woke
        }
    }

    @Test func `what is written is read again`() throws {
        for seed in UInt64(1)...500 {
            let target = Self.target(seed)
            #expect(try PushTarget(encoded: target.encoded) == target)
        }
    }

    @Test func `a value that is cut off, or goes on, is none`() {
        for seed in UInt64(1)...60 {
            let bytes = Self.target(seed).encoded
            for count in 0..<bytes.count {
                #expect(throws: BinaryError.self) { try PushTarget(encoded: Array(bytes.prefix(count))) }
            }
            #expect(throws: BinaryError.self) { try PushTarget(encoded: bytes + [0]) }
        }
    }

    @Test func `whatever bytes are read, no input traps`() {
        for seed in UInt64(1)...2_000 {
            var random = SeededGenerator(seed: seed)
            var bytes = Self.target(seed).encoded
            for _ in 0...random.below(3) {
                bytes[Int(random.below(UInt64(bytes.count)))] = UInt8(truncatingIfNeeded: random.next())
            }
            guard var target = try? PushTarget(encoded: bytes) else { continue }
            #expect(target.encoded == bytes)
            for rev in 1...Int64(8) {
                let now = random.chance(10) ? Timestamp.distantFuture : Self.start
                _ = target.decide(Self.input(rev, target, &random, at: now), at: now)
            }
        }
    }
}

struct PushStartFaultTests {
    /// A start is at most one card, whatever is lost and whenever the performer is killed; where nothing is lost it is one.
    @Test func `a device is begun at most one card`() {
        var lost = 0
        for seed in UInt64(1)...2_000 {
            var random = SeededGenerator(seed: seed)
            var now = PushTargetTableTests.start
            var target = PushTarget(.start, at: now)
            var kept = target.encoded
            var cards = 0
            var mayBeLost = false
            _ = target.decide(.registered("a"), at: now)
            var actions = target.decide(.changed(PushedState(rev: 1)), at: now)
            for rev in Int64(2)..<40 {
                kept = target.encoded
                var answer: PushTarget.Input?
                if let attempt = actions.compactMap({ if case .send(let attempt) = $0 { attempt } else { nil } }).first
                {
                    switch random.below(6) {
                    case 0: answer = .answered(attempt.number, .throttled(nil))
                    case 1: answer = .answered(attempt.number, .unsent)
                    case 2:
                        answer = .answered(attempt.number, .unknown)
                        mayBeLost = true
                        if random.chance(50) { cards += 1 }
                    default:
                        answer = .answered(attempt.number, .accepted)
                        cards += 1
                    }
                    #expect(attempt.alerts && attempt.priority == 10)
                    // Killed behind the send: the answer is not heard.
                    if random.chance(20) { (answer, mayBeLost) = (.restarted, true) }
                }
                now = now + .seconds(Int64(random.below(100)))
                if answer == .restarted || random.chance(10) {
                    if let again = try? PushTarget(encoded: kept) { target = again }
                    answer = .restarted
                    mayBeLost = mayBeLost || target.underWay != nil
                }
                actions = target.decide(answer ?? .changed(PushedState(rev: rev)), at: now)
                if case .backingOff(let until) = target.phase, actions.isEmpty || answer != nil {
                    now = max(now, until)
                    actions = target.decide(.woke, at: now)
                }
            }
            #expect(cards <= 1, "seed \(seed): \(cards) cards")
            #expect(cards == 1 || mayBeLost, "seed \(seed): nothing began")
            lost += cards == 0 ? 1 : 0
        }
        #expect(lost < 800, "of 2,000")
    }
}
