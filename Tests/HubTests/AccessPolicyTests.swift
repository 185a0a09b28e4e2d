import TelltaleModel
import TelltaleWire
import Testing

@testable import Hub

/// The policy alone: how often it wants to be asked, and how much it keeps.
struct AccessPolicyTests {
    private static let wall = Timestamp(milliseconds: 1_763_719_200_000)

    private static func time(_ milliseconds: Int64) -> HubTime {
        let wall = wall + Milliseconds(milliseconds)
        return HubTime(time: wall, wall: wall, monotonic: MonotonicTime(milliseconds: milliseconds))
    }

    /// The token of the principal of a number.
    private static func token(_ number: Int) -> String {
        let letters = Array("abcdefghij")
        let digits = String(number).utf8.map { letters[Int($0) - 48] }
        return "tt_" + String(repeating: "z", count: 8 - digits.count) + String(digits) + "_"
            + String(repeating: "x", count: 43)
    }

    private static func hello(_ number: Int) -> Hello {
        var hello = Hello()
        hello.token = token(number)
        return hello
    }

    private static func policy(count: Int, expires: Timestamp?) -> AccessPolicy {
        var directory = PrincipalDirectory { Array($0.utf8) }
        for number in 0..<count {
            let text = token(number)
            var principal = Principal(name: "p\(number)", scopes: [.stats])
            principal.rate = 10
            directory.insert(
                principal,
                tokens: [.init(id: TokenText.id(of: text) ?? "", digest: Array(text.utf8), expires: expires)])
        }
        var policy = AccessPolicy()
        policy.loaded(directory)
        _ = policy.review(at: time(0))
        return policy
    }

    /// The file is read up to 2 s late, and a reader that takes nothing holds up the last words.
    @Test func `a revoked connection is cut a second after it was noticed, so within three`() throws {
        var policy = Self.policy(count: 1, expires: nil)
        let id = SessionID(slot: 0, number: 0)
        policy.opened(id, at: MonotonicTime(milliseconds: 0))
        _ = try policy.admit(Self.hello(0), from: id, account: nil, at: Self.time(0))
        policy.loaded(PrincipalDirectory { Array($0.utf8) })
        #expect(policy.review(at: Self.time(2_000)) == [id])
        policy.ending(id, at: MonotonicTime(milliseconds: 2_000))
        #expect(policy.nextEnding(at: Self.time(2_999)) == nil)
        let last = policy.nextEnding(at: Self.time(3_000))
        #expect(last?.0 == id && last?.1 == .cut)
    }

    @Test func `a thousand tokens that expire are one check a second`() throws {
        var policy = Self.policy(count: 1_000, expires: Self.wall + .seconds(3_600))
        for number in 0..<1_000 {
            let id = SessionID(slot: Int32(number), number: Int64(number))
            policy.opened(id, at: MonotonicTime(milliseconds: Int64(number)))
            _ = try policy.admit(Self.hello(number), from: id, account: nil, at: Self.time(Int64(number)))
        }
        var looks = 0
        var moment: Int64 = 1_000
        while let next = policy.nextDeadline, next <= MonotonicTime(milliseconds: 30_000) {
            moment = max(moment, Int64((next - MonotonicTime(nanoseconds: 0)) / .milliseconds(1)))
            // The 10 s that a connection has for its HELLO are over then.
            if moment > 20_000 { looks += 1 }
            let ending = policy.nextEnding(at: Self.time(moment))
            #expect(ending == nil)
        }
        #expect((1...11).contains(looks), "\(looks) looks in 10 s")
    }

    @Test func `a connection that takes one token after the other leaves few expiries behind`() throws {
        var directory = PrincipalDirectory { Array($0.utf8) }
        let tokens = (0..<2).map { number in
            let text = Self.token(number)
            return PrincipalDirectory.Token(
                id: TokenText.id(of: text) ?? "", digest: Array(text.utf8),
                expires: Self.wall + .seconds(3_600 + Int64(number)))
        }
        directory.insert(Principal(name: "p", scopes: [.stats]), tokens: tokens)
        var policy = AccessPolicy()
        policy.loaded(directory)
        let id = SessionID(slot: 0, number: 1)
        policy.opened(id, at: MonotonicTime(milliseconds: 0))
        for number in 0..<1_000 {
            _ = try policy.admit(Self.hello(number % 2), from: id, account: nil, at: Self.time(1))
        }
        let count = policy.expiryCount
        #expect(count < 100, "\(count) are kept")
        // The last one is that of the second token.
        let early = policy.nextEnding(at: Self.time(3_600_999))
        #expect(early == nil)
        let ending = policy.nextEnding(at: Self.time(3_601_000))
        #expect(ending?.1 == .expired)
    }

    @Test func `principals that have gone are forgotten when their buckets are full again`() throws {
        var policy = Self.policy(count: 2_000, expires: nil)
        for number in 0..<2_000 {
            let now = Self.time(Int64(number) * 100)
            let id = SessionID(slot: 0, number: Int64(number))
            policy.opened(id, at: now.monotonic)
            _ = try policy.admit(Self.hello(number), from: id, account: nil, at: now)
            let refusal = policy.refusal(of: .nothing, from: id, at: now.monotonic)
            #expect(refusal == nil)
            policy.closed(id)
        }
        let count = policy.principalCount
        #expect(count < 200, "\(count) are kept")
    }

    @Test func `a reconnect does not fill a bucket, however many principals come and go`() throws {
        var policy = Self.policy(count: 500, expires: nil)
        func connect(_ policy: inout AccessPolicy, _ number: Int, _ session: Int64, at now: HubTime) throws -> SessionID
        {
            let id = SessionID(slot: 0, number: session)
            policy.opened(id, at: now.monotonic)
            _ = try policy.admit(Self.hello(number), from: id, account: nil, at: now)
            return id
        }
        let now = Self.time(1)
        var id = try connect(&policy, 0, 0, at: now)
        for _ in 1...20 {
            let refusal = policy.refusal(of: .nothing, from: id, at: now.monotonic)
            #expect(refusal == nil)
        }
        policy.closed(id)
        for number in 1..<500 { policy.closed(try connect(&policy, number, Int64(number), at: now)) }
        id = try connect(&policy, 0, 1_000, at: now)
        let refusal = policy.refusal(of: .nothing, from: id, at: now.monotonic)
        #expect(refusal?.code == .limitRate)
    }
}
