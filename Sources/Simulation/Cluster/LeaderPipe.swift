import Hub

/// The connection of a node that follows to its leader.
final class LeaderPipe {
    let follower: ClusterNode
    let leader: ClusterNode
    /// At the leader; `nil` before it was accepted, and when it is gone.
    var session: SessionID?
    /// Neither end has closed it.
    var isOpen = true
    /// The newest arrivals at each end, so that bytes arrive in the order in which they were sent.
    private var lastArrivals: (atLeader: Int64, atFollower: Int64) = (0, 0)

    let begunAt: Int64

    init(of follower: ClusterNode, to leader: ClusterNode) {
        (self.follower, self.leader, begunAt) = (follower, leader, leader.cluster.now)
    }

    /// Happens at the leader after what was sent there before.
    func toLeader(after delay: Int64, _ body: @escaping () -> Void) {
        let cluster = leader.cluster
        lastArrivals.atLeader = max(lastArrivals.atLeader, cluster.now + delay)
        let life = leader.generation
        cluster.schedule(after: lastArrivals.atLeader - cluster.now) { [leader] in
            if leader.generation == life { leader.whenAwake(body) }
        }
    }

    func toFollower(after delay: Int64, _ body: @escaping () -> Void) {
        let cluster = follower.cluster
        lastArrivals.atFollower = max(lastArrivals.atFollower, cluster.now + delay)
        let life = follower.generation
        cluster.schedule(after: lastArrivals.atFollower - cluster.now) { [follower] in
            if follower.generation == life { follower.whenAwake(body) }
        }
    }
}
