import TelltaleModel

// Another machine is given the name of a node: by a copied configuration, or with a copy of its disk.
extension SimulatedCluster {
    private static let memory: Int64 = 30_000
    /// So many seconds two processes of one name may run beside each other, where both hear the other.
    private static let patience = 20

    var namesake: ClusterNode? { nodes.first(where: \.isNamesake) }

    /// The process begins while the node runs, or both begin at once.
    func beginNamesake() {
        guard let namesake, !namesake.isUp else { return }
        let node = nodes[namesake.slot]
        trace?(now, namesake.index, "is given the name of \(node.name)")
        if random.chance(400) { namesake.copy = LocalCopy(node.copy.contents) }
        if random.chance(400) {
            node.kill(losing: 0)
            schedule(after: 1_000) { node.start() }
            schedule(after: 1_000 + random.pick(0...3)) { namesake.startAsNamesake() }
        } else {
            namesake.startAsNamesake()
        }
        schedule(after: random.pick(5_000...60_000)) { [self] in endNamesake() }
        watchNamesakes()
    }

    /// An operator ends the second process.
    func endNamesake() {
        guard let namesake else { return }
        namesake.kill(losing: 0)
    }

    private func watchNamesakes(_ seconds: Int = 0, life: Int = 0) {
        schedule(after: 1_000) { [self] in
            guard let namesake, !isCalm else { return }
            let both = [namesake, nodes[namesake.slot]]
            let isHeard = both.allSatisfy { $0.isUp && !$0.isPaused && !$0.isStopped && log.links[$0.index] == .whole }
            let now = both.reduce(0) { $0 + $1.generation }
            let next = isHeard && now == life ? seconds + 1 : 0
            guard next <= Self.patience else {
                return violated("P4", "two processes run as \(namesake.name), and have for \(next) s")
            }
            watchNamesakes(next, life: now)
        }
    }

    /// Whether another process than the one of this node has run with its name just now.
    func hadNamesake(_ node: ClusterNode) -> Bool {
        guard let namesake, namesake.slot == node.slot else { return false }
        let other = node.isNamesake ? nodes[node.slot] : namesake
        return other.isUp || other.endedAt.map { now - $0 < Self.memory } ?? false
    }

    /// A process has ended for the sake of another one of its name. The service manager starts it again.
    func gaveWay(_ node: ClusterNode) {
        guard hadNamesake(node) else {
            return violated("P4", "\(node.name) gives way to a namesake, and none has run")
        }
        if !node.isNamesake { startLater(node) }
    }
}
