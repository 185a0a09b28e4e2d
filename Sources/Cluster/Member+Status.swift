public import Hub
public import Replication
public import TelltaleModel

// What clients are sent.
extension Member {
    /// The leader has handed over: the process may end.
    public var hasHandedOver: Bool { handover == .done }

    /// The node that leads, as far as this one knows; `nil` after a resignation, and before the first term.
    public var leader: LogReader.Leader? {
        guard let leader = replica.reader.leader, !replica.reader.hasResigned else { return nil }
        // A term of a life before, or one that is not confirmed.
        return leader.node == replica.node && !isLeading ? nil : leader
    }

    public func status(at now: MonotonicTime) -> ClusterStatus {
        let standby = replica.isObserver ? ClusterStatus.Role.observer : .standby
        var status = ClusterStatus(node: replica.node, role: isLeading ? .leader : standby)
        status.term = replica.term
        // Clients go where they are sent. The address of a machine that is gone would cost each of them its patience.
        if isLeading || leaderDetector.isFresh(at: now) {
            status.leader = leader.map { ($0.node, $0.address) }
        }
        status.serves = isServing
        status.leaderKey = isLeading ? replica.instance : leader?.instance
        status.lease = replica.lease
        status.patience = replica.giveUp
        if hasServed, !isLeading, now.milliseconds(since: currentAt) > replica.lease { status.staleSince = currentAt }
        status.position = replica.reader.position
        status.historySince = replica.reader.origin.map { ($0.sequence, $0.time) }
        status.lag = max(0, newest - replica.reader.position)
        status.peers = peers.values.sorted { $0.node < $1.node }.map { heartbeat in
            var peer = ClusterStatus.Peer(
                node: heartbeat.node, role: heartbeat.isObserver ? "observer" : heartbeat.role.rawValue,
                term: heartbeat.term, position: heartbeat.position,
                address: heartbeat.address, release: heartbeat.release)
            if let service = heartbeat.service {
                (peer.connections, peer.serves) = (service.connections, service.isServing)
                peer.isDraining = service.isDraining
            }
            peer.isHeard = heardAt[heartbeat.node].map { now.milliseconds(since: $0) <= replica.lease } ?? false
            return peer
        }
        return status
    }

    /// The performer notes this each second, for the heartbeats.
    ///
    /// - Parameters:
    ///   - connections: ``Server/Server/clientCount``.
    ///   - isDraining: ``Server/Server/isDraining``.
    public mutating func noteClients(_ connections: Int, isDraining: Bool) {
        replica.service = NodeService(connections: connections, isServing: isServing, isDraining: isDraining)
    }

    /// The name of a peer that makes room for another one; never the leader's.
    var longestUnheardPeer: String? {
        peers.keys.filter { $0 != replica.reader.leader?.node }.min {
            let (left, right) = (heardAt[$0]?.milliseconds ?? 0, heardAt[$1]?.milliseconds ?? 0)
            return left == right ? $0 < $1 : left < right
        }
    }
}
