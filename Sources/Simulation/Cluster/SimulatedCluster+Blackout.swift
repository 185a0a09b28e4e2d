import Replication
import TelltaleModel

// The end of all processes at once.
extension SimulatedCluster {
    /// Everything is killed at once, and comes back. Where each node can lead, one does soon behind the engine's election: no lease of
    /// a process that is gone is waited for.
    func blackOut() {
        isDark = true
        trace?(now, -1, "everything is killed")
        let isLed = log.isLed
        log.blackOut()
        mendSync()
        for node in nodes {
            if node.isUp {
                node.kill(losing: 0)
                checks.lost(node, isWhole: true)
            }
            schedule(after: random.pick(200...1_500)) { node.start() }
        }
        schedule(after: log.electionEnd - now + Self.darkness) { [self] in
            isDark = false
            let isTrusted = weather.skews.allSatisfy { abs($0) < ReplicaSettings().trustedSkew.count }
            guard isLed, isTrusted, !nodes.contains(where: \.isOutdated), !nodes.contains(where: \.isLeading) else {
                return
            }
            violated("P4", "nobody leads \(Self.darkness) ms behind the engine's election, and all processes run")
        }
    }

    private static let darkness: Int64 = 1_500
}
