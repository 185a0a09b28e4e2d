public import TelltaleModel
internal import TelltaleWire

/// This server's role and view of its cluster, as reported in the greeting, in refusals and in `STATS`.
///
/// The performer updates it whenever it changes. The hub's decisions depend on ``Role`` alone.
public struct ClusterStatus: Hashable, Sendable {
    public enum Role: String, Hashable, Sendable {
        /// Requests are decided here.
        case leader
        /// ``Hub`` answers what needs no record; before ``ClusterStatus/serves``, `HELLO PING HELP STATS BYE` alone.
        case standby
        /// A standby that never leads.
        case observer
    }

    /// Another node, as described by its last heartbeat.
    public struct Peer: Hashable, Sendable {
        public var node: String
        public var role: String
        public var term: Int64
        public var position: Int64
        public var address: String
        public var release: String
        /// Whether a heartbeat arrived within the last lease.
        public var isHeard = true
        /// Clients of the node; `nil` = its release does not report it.
        public var connections: Int?
        /// Whether it has read the log, so that it answers clients; `nil` likewise.
        public var serves: Bool?
        /// It sends its clients to other nodes.
        public var isDraining = false

        public init(node: String, role: String, term: Int64, position: Int64, address: String, release: String) {
            (self.node, self.role, self.term) = (node, role, term)
            (self.position, self.address, self.release) = (position, address, release)
        }
    }

    /// The name of this node.
    public var node: String
    public var role: Role
    /// The newest term read from the log; 0 before the first.
    public var term: Int64 = 0
    /// The leader and its address, without `tls://`; `nil` while no leader is known, and while the known one is silent.
    public var leader: (node: String, address: String)? {
        get { leaderNode.flatMap { node in leaderAddress.map { (node, $0) } } }
        set { (leaderNode, leaderAddress) = (newValue?.node, newValue?.address) }
    }
    private var leaderNode: String?
    private var leaderAddress: String?
    /// On a standby: it has read the log to its end, and answers what needs no record.
    public var serves = false
    /// On a standby: it sends writes to the leader, and answers them when it has replayed their records. The hub notes it.
    public var forwards = false
    /// The instance of the leader's process, by which it knows other nodes: whoever can read the replicated log knows it. It is in no
    /// answer, and in no log for people.
    public var leaderKey: UInt64?
    /// For how long a leader leads on what it has heard of the log.
    public var lease = Milliseconds.seconds(3)
    /// How long a write waits for a leader.
    public var patience = Milliseconds.seconds(12)
    /// When this node was last known to have all that the leader had; `nil` = within the last lease.
    public var staleSince: MonotonicTime?
    /// Messages read from the log.
    public var position: Int64 = 0
    /// The record after which `HISTORY` begins here, and its time, if this node started from a checkpoint; `nil` = the first
    /// record.
    public var historySince: (record: Int64, time: Timestamp)? {
        get { historyRecord.flatMap { record in historyTime.map { (record, $0) } } }
        set { (historyRecord, historyTime) = (newValue?.record, newValue?.time) }
    }
    private var historyRecord: Int64?
    private var historyTime: Timestamp?
    /// Messages known to be in the log and not read yet.
    public var lag: Int64 = 0
    public var peers: [Peer] = []
    /// The state of the log store, for people.
    public var logStore = JSONObject()

    public init(node: String, role: Role) {
        (self.node, self.role) = (node, role)
    }
}

extension ClusterStatus {
    var wire: NodeStatus {
        switch role {
        case .leader: NodeStatus(name: node, role: .leader(term: term))
        case .standby, .observer:
            NodeStatus(name: node, role: .standby(leader: leaderAddress, serves: serves && forwards))
        }
    }

    /// The error with which a request is refused here; `nil` = it is answered.
    func refusal(of request: WaitingRequest) -> WireError? {
        guard role != .leader else { return nil }
        if case .forwarded = request { return serves && forwards ? nil : notLeader }
        guard case .other(let request) = request else { return notLeader }
        switch request.command {
        case .hello, .ping, .help, .stats, .bye, .node, .drain, .refused: return nil
        case .subscribe, .unsubscribe, .get, .list, .kinds, .kind, .gallery, .history, .traits, .open:
            return serves ? nil : notLeader
        case .event, .dismiss, .seen, .tap, .serve, .done, .supply, .fail, .report, .reload, .tile, .handover:
            return notLeader
        }
    }

    /// The error that sends a client to the leader.
    var notLeader: WireError {
        guard let leader else { return WireError(.notLeader, "\(node) does not lead, and knows no node that does") }
        var details = JSONObject()
        details["leader"] = .string(leader.address)
        return WireError(.notLeader, "\(leader.node) leads at \(leader.address)", details: details)
    }

    /// The member `cluster` of `STATS`.
    ///
    /// - Parameters:
    ///   - connections: Clients of this node.
    ///   - leaving: Those of before a drain that are still connected; `nil` = this node does not drain.
    func write(to body: inout JSONWriter, at now: MonotonicTime, connections: Int, leaving: Int?) {
        body.name("cluster")
        body.beginObject()
        body.member("node", node)
        body.member("role", role.rawValue)
        body.member("term", term)
        if let leader {
            body.name("leader")
            body.beginObject()
            body.member("node", leader.node)
            body.member("address", leader.address)
            body.endObject()
        }
        body.member("position", position)
        body.member("lag", lag)
        body.member("connections", connections)
        body.member("draining", leaving != nil)
        if let leaving { body.member("leaving", leaving) }
        if let staleSince { body.member("stale", now.milliseconds(since: staleSince).count) }
        if let historySince {
            body.name("historySince")
            body.beginObject()
            body.member("record", historySince.record)
            body.member("at", historySince.time.milliseconds)
            body.endObject()
        }
        body.name("nodes")
        body.beginArray()
        for peer in peers {
            body.beginObject()
            body.member("node", peer.node)
            body.member("role", peer.role)
            body.member("term", peer.term)
            body.member("position", peer.position)
            body.member("address", peer.address)
            body.member("release", peer.release)
            if let connections = peer.connections {
                body.member("connections", connections)
                body.member("serves", peer.serves == true)
                body.member("draining", peer.isDraining)
            }
            body.endObject()
        }
        body.endArray()
        if !logStore.isEmpty { body.member("engine", .object(logStore)) }
        body.endObject()
    }
}
