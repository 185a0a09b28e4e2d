import Hub

/// The connection of a node that follows to its leader.
final class LeaderPipe {
    let follower: ClusterNode
    let leader: ClusterNode
    /// At the leader; `nil` before it was accepted, and when it is gone.
    var session: SessionID?
    /// Neither end has closed it.
    var isOpen = true
    /// The newest arrival at each end, so that bytes arrive in the order in which they were sent.
    private var lastArrivals: [Int: Int64] = [:]
    let begunAt: Int64

    init(of follower: ClusterNode, to leader: ClusterNode) {
        (self.follower, self.leader, begunAt) = (follower, leader, leader.cluster.now)
    }

    /// Happens at an end after what was sent there before.
    func send(to end: ClusterNode, after delay: Int64, _ body: @escaping () -> Void) {
        let cluster = end.cluster
        let arrival = max(lastArrivals[end.index] ?? 0, cluster.now + delay)
        lastArrivals[end.index] = arrival
        let life = end.generation
        cluster.schedule(after: arrival - cluster.now) { if end.generation == life { end.whenAwake(body) } }
    }
}
