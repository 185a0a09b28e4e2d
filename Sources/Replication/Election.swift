public import TelltaleModel

/// What a node sends to the others once a second, a heartbeat. It is a hint: it decides when a node tries to lead,
/// never which node leads.
public struct Heartbeat: Hashable, Sendable {
    public var node: String
    public var role: Replica.Role
    public var term: Int64
    /// The messages of the log that the node has read.
    public var position: Int64
    public var address: String
    public var release: String
    /// Counts the heartbeats of the process, so that each differs from the one before.
    public var number: Int64
    /// A number that is unique to the process: ``LogMessage/instance``; 0 = a release that does not send it.
    public var instance: UInt64
    /// It does not try to lead: its local journal cannot take more yet, or the log store does not let it append.
    public var isHeldBack = false
    /// It never tries to lead: ``ReplicaSettings/isObserver``.
    public var isObserver = false
    /// Its clients; `nil` = a release that does not send it.
    public var service: NodeService?

    public init(
        node: String, role: Replica.Role, term: Int64, position: Int64, address: String, release: String,
        number: Int64, instance: UInt64 = 0
    ) {
        self.node = node
        self.role = role
        self.term = term
        self.position = position
        self.address = address
        self.release = release
        self.number = number
        self.instance = instance
    }
}

/// What a node says of its clients.
public struct NodeService: Hashable, Sendable {
    public var connections: Int
    /// It has read the log to its end, and answers clients.
    public var isServing: Bool
    /// An operator takes it out of service: no client should be sent there.
    public var isDraining: Bool

    public init(connections: Int = 0, isServing: Bool = false, isDraining: Bool = false) {
        (self.connections, self.isServing, self.isDraining) = (connections, isServing, isDraining)
    }
}

/// The spans that decide when a node tries to lead, and when a leader falls silent.
public struct ReplicaSettings: Hashable, Sendable {
    /// A leader without a proof for so long is in limbo, and a standby without a new heartbeat of it tries to lead.
    public var lease = Milliseconds.seconds(3)
    /// A leader without a proof for so long stands down. Longer than the log store's own failover.
    public var giveUp = Milliseconds.seconds(12)
    /// Between two heartbeats.
    public var heartbeat = Milliseconds.seconds(1)
    /// Between the most advanced standby and the next one.
    public var stagger = Milliseconds(200)
    /// By how much a node that the leader has named goes before the others.
    public var headStart = Milliseconds.seconds(1)
    /// A log that is shorter than the local journal is believed after this time, in which a server that is cut off
    /// stops answering.
    public var shortLogPatience = Milliseconds.seconds(30)
    /// A clock that is further off what the records say does not volunteer while another node can.
    public var trustedSkew = Milliseconds.minutes(1)
    /// The node follows the log and never leads.
    public var isObserver = false
    public var pace = Appender.Pace()
    public var limits = MessageLimits()

    public init() {}
}

/// When a standby tries to lead. All times are when this node saw a change, so the clocks of others do not matter.
public struct Election: Hashable, Sendable {
    private let node: String
    private let settings: ReplicaSettings
    /// For how long the leader's heartbeat has not changed, as far as this node's view of the heartbeats was current.
    public private(set) var age = Milliseconds.zero
    /// When the newest own heartbeat was sent that was seen among those of the others.
    private var lastView: MonotonicTime?
    /// When the leader gave its last sign of life.
    private var lastSign = MonotonicTime.distantPast
    private var heartbeats: [String: Heard] = [:]
    /// The newest heartbeat of the process that leads: another view of the heartbeats may have an older one.
    private var leaderNumber = Int64.min
    /// The leader resigned, or its machine refuses connections.
    private var isLeaderGone = false
    /// Another process of the leader's node runs, and the leader is silent.
    private var isLeaderReplaced = false
    /// The node that the leader named when it resigned.
    private var successor: String?
    /// Since when the node may try.
    private var dueSince: MonotonicTime?

    /// So many other nodes are remembered; heartbeats of more displace the one that was heard least recently.
    private static let nodeLimit = 32

    private struct Heard: Hashable {
        var heartbeat: Heartbeat
        var time: MonotonicTime
    }

    public init(node: String, settings: ReplicaSettings) {
        self.node = node
        self.settings = settings
    }

    /// Every heartbeat that was stored before an own one has been delivered.
    ///
    /// A lease ages only by such views. So an election inside the log store deposes no leader, and neither does a replica
    /// of the heartbeats that lags: it lacks the leader's newest heartbeats as much as this node's own.
    ///
    /// - Parameter sent: When that own heartbeat was sent.
    public mutating func viewed(sentAt sent: MonotonicTime, at now: MonotonicTime) {
        if let last = lastView, sent.milliseconds(since: last) <= viewSpan, now.milliseconds(since: sent) <= viewSpan {
            age = age + max(.zero, min(sent.milliseconds(since: last), sent.milliseconds(since: lastSign)))
        }
        lastView = sent
        noteDue(at: now)
    }

    /// Another node's newest heartbeat, as this node sees it.
    ///
    /// The first view, and everything heard before it, may be heartbeats that the log store stored long ago; they do not prove that
    /// a node is alive. Neither does one that is no newer than another of its process: a lagging replica may deliver it.
    ///
    /// - Parameter isOfLeader: It is of the process that leads.
    public mutating func heard(_ heartbeat: Heartbeat, isOfLeader: Bool, at now: MonotonicTime) {
        guard heartbeat.node != node else { return }
        // A node that has led and is a standby now gives no sign of life of a leader.
        if isOfLeader, heartbeat.role == .leading, heartbeat.number > leaderNumber {
            leaderNumber = heartbeat.number
            if lastView != nil { leaderLives(at: now) }
        }
        if let known = heartbeats[heartbeat.node]?.heartbeat, known.instance == heartbeat.instance,
            known.number >= heartbeat.number
        {
            return
        }
        heartbeats[heartbeat.node] = Heard(heartbeat: heartbeat, time: now)
        if heartbeats.count > Self.nodeLimit,
            let oldest = heartbeats.min(by: { ($0.value.time, $0.key) < ($1.value.time, $1.key) })?.key
        {
            heartbeats[oldest] = nil
        }
    }

    /// The leader gives a sign of life.
    mutating func leaderLives(at now: MonotonicTime) {
        (age, lastSign, isLeaderReplaced) = (.zero, now, false)
        noteDue(at: now)
    }

    /// The process that leads is gone, as another one of its node shows; or it speaks after all.
    mutating func leaderReplaced(_ isReplaced: Bool, at now: MonotonicTime) {
        isLeaderReplaced = isReplaced
        noteDue(at: now)
    }

    /// A term was read.
    public mutating func leaderBegan(at now: MonotonicTime) {
        (age, lastSign, leaderNumber) = (.zero, now, .min)
        (isLeaderGone, isLeaderReplaced) = (false, false)
        successor = nil
        dueSince = nil
    }

    /// The leader resigned; or the connection to it was reset, and another one refused.
    ///
    /// - Parameter successor: The node that it named; `nil` = none.
    public mutating func leaderGone(at now: MonotonicTime, successor: String? = nil) {
        isLeaderGone = true
        self.successor = successor ?? self.successor
        noteDue(at: now)
    }

    /// When the lease has aged to its end, if no sign of life comes. A heartbeat of that moment shows at once whether one came.
    var leaseEnd: MonotonicTime {
        guard let lastView else { return .distantFuture }
        return max(lastView, lastSign) + max(.zero, settings.lease - age)
    }

    /// A view is current for so long.
    private var viewSpan: Milliseconds { settings.heartbeat.multiplied(by: 2) }

    /// Time has passed: a lease that ran out in an old view is no reason to try now.
    public mutating func passed(to now: MonotonicTime) {
        guard !isLeaderGone, !isLeaderReplaced, let lastView, now.milliseconds(since: lastView) > viewSpan else {
            return
        }
        dueSince = nil
    }

    private mutating func noteDue(at now: MonotonicTime) {
        let isDue = isLeaderGone || isLeaderReplaced || age >= settings.lease
        dueSince = isDue ? dueSince ?? now : nil
    }

    /// The heartbeats of the standbys that live.
    private var standbys: [Heartbeat] {
        heartbeats.values.filter { heard in
            heard.heartbeat.role == .standby
                && (lastView ?? heard.time).milliseconds(since: heard.time) <= settings.lease
        }.map(\.heartbeat)
    }

    /// The standbys that live and lag by at most some messages, observers among them.
    func standbys(near position: Int64) -> [String] {
        standbys.filter { (!$0.isHeldBack || $0.isObserver) && $0.position >= position - Self.nearness }
            .map(\.node).sorted()
    }

    private static let nearness: Int64 = 1_000

    /// Whether a standby that may lead lags by at most some messages.
    func hasSuccessor(near position: Int64) -> Bool {
        standbys.contains { !$0.isHeldBack && $0.position >= position - Self.nearness }
    }

    /// When this node may try to lead; `nil` = not now.
    ///
    /// - Parameters:
    ///   - position: The messages of the log that it has read.
    ///   - skew: By how much its clock differs from the times of new records.
    public func moment(position: Int64, skew: Milliseconds) -> MonotonicTime? {
        guard let dueSince else { return nil }
        let fresh = standbys.filter { !$0.isHeldBack }
        let before = fresh.count { (position, $0.node) < ($0.position, node) }
        let isOff = skew > settings.trustedSkew || skew < .zero - settings.trustedSkew
        let wait =
            switch successor {
            case node?: Milliseconds.zero
            case nil: settings.stagger.multiplied(by: Int64(before))
            case _?: settings.headStart + settings.stagger.multiplied(by: Int64(before))
            }
        return dueSince + (isOff && !fresh.isEmpty ? wait + settings.giveUp : wait)
    }
}
