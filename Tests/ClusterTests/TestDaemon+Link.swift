import Cluster
import Hub
import Replication
import Server

/// A daemon's connection to its leader.
final class TestLink {
    let leader: TestDaemon
    let id: SessionID
    /// Bytes that wait in the network.
    var isSlow = false
    var toFollower: [[UInt8]] = []

    init(_ leader: TestDaemon, _ id: SessionID) { (self.leader, self.id) = (leader, id) }
}

extension TestDaemon {
    /// Connects to the node that leads, as the edge of `telltaled` does.
    func followLeader() {
        let address = isLeading ? nil : member?.leader?.address
        if let link, link.leader.address != address { loseLink() }
        guard link == nil, !isLinkCut, let address,
            let leader = cluster.daemons.first(where: { $0.address == address && $0.isUp && !$0.isPaused }),
            let id = leader.server?.connected(at: cluster.time)
        else { return }
        link = TestLink(leader, id)
        leader.followers[id] = self
        server?.linkConnected(at: cluster.time)
        cluster.hasHappened = true
    }

    func loseLink() {
        guard let old = link.take() else { return }
        if old.leader.followers.removeValue(forKey: old.id) != nil { old.leader.server?.disconnected(old.id) }
        server?.linkLost(at: cluster.time)
        cluster.hasHappened = true
    }

    func writeToLeader(_ bytes: [UInt8]) {
        guard let link else { return }
        _ = link.leader.server?.received(bytes.span, from: link.id, at: cluster.time)
    }

    /// The leader has written.
    func receiveFromLeader(_ bytes: [UInt8]) {
        guard let link else { return }
        link.toFollower.append(bytes)
        if !link.isSlow { deliverFromLeader() }
    }

    func deliverFromLeader() {
        guard let link else { return }
        for bytes in link.toFollower { server?.linkReceived(bytes.span, at: cluster.time) }
        link.toFollower = []
        cluster.hasHappened = true
    }
}
