/// Whether nodes that drain send their clients away one after the other, and to nodes that take them.
struct DrainCheck {
    private struct Drain {
        let generation: Int
        let began: Int64
        let interval: Int64
        /// The screens that were there when it began: nothing but its moment delays the farewell of one.
        let screens: [SimulatedLink]
        /// When some of them were told, the newest last.
        var farewells: [Int64] = []
    }

    private var drains: [Int: Drain] = [:]

    /// A screen that has just connected may wait for its node to read on, and its farewell with it.
    private static let settledAfter: Int64 = 6_000
    /// A node is known to drain by a beat, of which another node may see an old one for a lease.
    private static let knownAfter: Int64 = 10_000

    /// - Parameter interval: Between two farewells, in milliseconds.
    mutating func begins(_ node: ClusterNode, interval: Int64) {
        let cluster = node.cluster
        let screens = node.links.inOrder.filter {
            cluster.clients[$0.client] is Screen && $0.openedAt + Self.settledAfter < cluster.now
        }
        drains[node.index] = Drain(
            generation: node.generation, began: cluster.now, interval: interval, screens: screens)
    }

    mutating func ends(_ node: ClusterNode) { drains[node.index] = nil }

    /// - Returns: What is wrong about what a node writes.
    mutating func written(_ bytes: [UInt8], to link: SimulatedLink, by node: ClusterNode) -> String? {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let bye = lines.last(where: { $0.hasPrefix("BYE ") }) else { return nil }
        if let place = bye.firstRange(of: " to="), let fault = fault(in: bye[place.upperBound...], of: node) {
            return fault
        }
        guard bye.hasPrefix("BYE code=shutting_down"), var drain = drains[node.index],
            drain.generation == node.generation, drain.screens.contains(where: { $0 === link })
        else { return nil }
        // One farewell may wait for a commit, and leave with the next. A third one has no such reason.
        let now = node.cluster.now
        drain.farewells.append(now)
        drains[node.index] = drain
        let count = drain.farewells.count { $0 > now - drain.interval / 2 }
        guard count > 2 else { return nil }
        return
            "\(node.name) drains with a farewell each \(drain.interval) ms, and tells \(count) screens within half of that"
    }

    private func fault(in address: Substring, of node: ClusterNode) -> String? {
        let cluster = node.cluster
        guard address != node.address else { return "\(node.name) sends a client to itself" }
        // Two processes of one name are one node to the others.
        guard cluster.weather.duplicateNodes == 0, let other = cluster.nodes.first(where: { $0.address == address }),
            let drain = drains[other.index], drain.generation == other.generation, other.isUp,
            cluster.now - drain.began > Self.knownAfter
        else { return nil }
        return "\(node.name) sends a client to \(other.name), which has drained for \(cluster.now - drain.began) ms"
    }
}
