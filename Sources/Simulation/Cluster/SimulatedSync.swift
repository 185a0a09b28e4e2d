import Replication

/// The monitors of the log store's servers, which report whether each syncs before it acknowledges.
struct SimulatedSync {
    /// A server was started again without the setting.
    private(set) var isRefuted = false
    /// When each process asks next, and whether it led when it asked last.
    private var next: [Int64] = Array(repeating: 0, count: SimulatedCluster.processLimit)
    private var isLeading: [Bool] = Array(repeating: false, count: SimulatedCluster.processLimit)

    private static let interval: Int64 = 6_000
    private static let doubtfulInterval: Int64 = 600

    mutating func lapse() { (isRefuted, next) = (true, next.map { _ in 0 }) }
    mutating func mend() { isRefuted = false }

    /// Asked at each heartbeat. A node that begins to lead asks at once.
    mutating func isDue(_ heartbeat: Heartbeat, of index: Int, at now: Int64) -> Bool {
        let begins = heartbeat.role == .leading && !isLeading[index]
        isLeading[index] = heartbeat.role == .leading
        guard begins || now >= next[index] else { return false }
        next[index] = now + (isRefuted ? Self.doubtfulInterval : Self.interval)
        return true
    }
}

extension SimulatedLog {
    /// A node asks at its heartbeat. The monitor of the server that does not sync may say nothing.
    func askForSync(_ heartbeat: Heartbeat, of node: ClusterNode) {
        guard cluster.weather.syncLapses > 0, links[node.index] == .whole,
            sync.isDue(heartbeat, of: node.index, at: cluster.now)
        else { return }
        let (index, generation) = (node.index, node.generation)
        cluster.schedule(after: random.pick(0...1_000)) { [self] in
            let isSilent = !cluster.isCalm && random.chance(300)
            let reported = isSilent ? LogStoreSync.unknown : sync.isRefuted ? .refuted : .proven
            answer(index, generation) { $0.learned(reported) }
        }
    }
}

extension SimulatedCluster {
    /// A server of the log store is started again with a configuration that does not sync, and mended later.
    func lapseSync() {
        guard !log.sync.isRefuted else { return }
        trace?(now, -2, "a server does not sync any more")
        log.sync.lapse()
        schedule(after: random.pick(3_000...25_000)) { [self] in mendSync() }
    }

    func mendSync() {
        guard log.sync.isRefuted else { return }
        trace?(now, -2, "each server syncs again")
        log.sync.mend()
    }

    /// A process that begins asks before it does anything else, and ends where a server says that it does not sync.
    func refusesToBegin(_ node: ClusterNode) -> Bool {
        guard log.sync.isRefuted, random.chance(700) else { return false }
        trace?(now, node.index, "does not begin over an engine that does not sync")
        startLater(node)
        return true
    }
}
