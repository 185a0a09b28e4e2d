import Cluster
import Replication
import TelltaleModel

/// The stream of heartbeats, one of each name, with a replica for each process, which may be behind.
struct SimulatedHeartbeats {
    private var newest: [Heartbeat?] = Array(repeating: nil, count: SimulatedCluster.nodeCount)
    private var views: [[Heartbeat?]] = Array(repeating: [], count: SimulatedCluster.processLimit)
    private var behindUntil: [Int64] = Array(repeating: 0, count: SimulatedCluster.processLimit)
    /// When each process's newest heartbeats as a leader were stored.
    private var leading: [[Int64]] = Array(repeating: [], count: SimulatedCluster.processLimit)
    /// The newest claim of each process, by its life and token.
    private var claims: [[Int64]] = Array(repeating: [], count: SimulatedCluster.processLimit)

    mutating func store(_ heartbeat: Heartbeat, by node: ClusterNode, _ areWhole: [Bool], at now: Int64) {
        let index = node.index
        newest[node.slot] = heartbeat
        leading[index] = heartbeat.role == .leading ? leading[index].suffix(7) + [now] : []
        for place in areWhole.indices where areWhole[place] && !isBehind(place, at: now) { views[place] = newest }
    }

    func isBehind(_ index: Int, at now: Int64) -> Bool { now < behindUntil[index] }

    /// The heartbeats that a process reads, by the places of the names.
    func view(of index: Int) -> [Heartbeat?] { views[index].isEmpty ? newest.map { _ in nil } : views[index] }

    mutating func fallBehind(_ index: Int, until time: Int64) { behindUntil[index] = max(behindUntil[index], time) }

    mutating func catchUp() { behindUntil = behindUntil.map { _ in 0 } }

    /// A node appends: where that is a claim to lead, the leader that it knows has been silent.
    mutating func claims(
        _ bytes: [UInt8], _ token: Int64, by node: ClusterNode, _ truth: LogReader, isWhole: Bool,
        _ cluster: SimulatedCluster
    ) {
        guard node.member?.replica.role == .campaigning, isWhole,
            claims[node.index] != [Int64(node.generation), token],
            (try? LogMessage(decoding: bytes))?.term == truth.term + 1
        else { return }
        claims[node.index] = [Int64(node.generation), token]
        // Its view is two heartbeats old at most.
        let settings = ReplicaSettings()
        let seen = (cluster.now - settings.lease.count + 50)...(cluster.now - 2 * settings.heartbeat.count - 50)
        guard !truth.hasResigned, node.member?.replica.reader.leader == truth.leader,
            let leader = cluster.nodes.first(where: { $0.instance == truth.leader?.instance && $0.slot != node.slot }),
            // Another process of its name may be heard in its place.
            leader.isLeading, !cluster.hadDuplicateNode(leader), leading[leader.index].contains(where: seen.contains)
        else { return }
        cluster.violated("P7", "\(node.name) tries to lead, and \(leader.name) lives and leads in term \(truth.term)")
    }
}
