// Processes of nodes end, and are started again.
extension SimulatedCluster {
    func kill(_ node: ClusterNode, wiping: Bool) {
        guard node.isUp else { return }
        let lostCount = random.chance(300) ? random.below(8) : 0
        node.kill(losing: lostCount)
        if wiping { wipe(node) }
        checks.lost(node, isWhole: lostCount == 0 && !wiping)
        startLater(node)
    }

    private func wipe(_ node: ClusterNode) {
        trace?(now, node.index, "its folder is wiped")
        node.wipe()
    }

    /// A node has stopped because the engine lost messages. It is started again as it is, or with an empty folder, or stays ended.
    func startAgain(_ node: ClusterNode) {
        // Behind this moment the node has too little time to report the loss a second time.
        guard checks.hasEngineBug, now < weather.span + 40_000, random.chance(800) else { return }
        let wipes = random.chance(300)
        schedule(after: random.pick(weather.stops)) { [self] in
            if node.isStopped { kill(node, wiping: wipes) }
        }
    }
}
