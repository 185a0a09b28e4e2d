internal import TelltaleModel
internal import TelltaleWire

/// A replay over a bad network by a careless order system: the same events, and the same final states.
///
/// Cases are interleaved at random, and each keeps its own order. Several connections post at once. Some events are
/// posted again after their replies, on another connection. Some connections are cut with replies unread; their
/// unanswered events are posted again. A seed decides all of it.
public struct ReplayFaults: Hashable, Sendable {
    public var seed: UInt64
    public var connectionCount = 4
    /// One event of so many is posted again.
    public var repeatInterval: UInt64 = 5
    public var cutCount = 8

    public init(seed: UInt64) {
        self.seed = seed
    }

    /// Which connection a case's events take. One for all of a case: its events are to arrive in order.
    public func connection(ofCase index: Int) -> Int {
        Int(number(UInt64(index), stream: 1) % UInt64(max(1, connectionCount)))
    }

    /// On which connection this post is made again after its answer, or `nil`.
    public func repetition(ofPost index: Int) -> Int? {
        let number = number(UInt64(index), stream: 2)
        guard number % max(1, repeatInterval) == 0 else { return nil }
        return Int((number >> 32) % UInt64(max(1, connectionCount)))
    }

    /// After how many answers a connection is cut, and which.
    public func cut(_ number: Int, ofPosts postCount: Int) -> (afterAnswers: Int, connection: Int) {
        (postCount * (number + 1) / (cutCount + 1), number % max(1, connectionCount))
    }

    /// The plan with its cases mixed: every order of events that keeps each case's own is as likely as any other.
    public func mix(_ plan: ReplayPlan) -> ReplayPlan {
        var places: [Key: [UInt64]] = [:]
        for (index, post) in plan.posts.enumerated() {
            places[post.command.key, default: []].append(number(UInt64(index), stream: 3))
        }
        places = places.mapValues { $0.sorted(by: >) }
        var posts: [(post: ReplayPlan.Post, place: UInt64, index: Int)] = []
        for (index, post) in plan.posts.enumerated() {
            let place = places[post.command.key]?.popLast() ?? 0
            posts.append((ReplayPlan.Post(command: post.command, due: .zero), place, index))
        }
        posts.sort { ($0.place, $0.index) < ($1.place, $1.index) }
        return plan.with(posts.map(\.post))
    }

    /// SplitMix64 (Steele, Lea, Flood 2014), addressed instead of iterated.
    private func number(_ index: UInt64, stream: UInt64) -> UInt64 {
        var z = seed &+ stream &* 0xD1B5_4A32_D192_ED03 &+ (index &+ 1) &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
