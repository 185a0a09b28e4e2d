import Replication
import TelltaleModel

/// What the log store takes of each process: messages up to a length, and appends at all.
struct SimulatedRights {
    enum Refusal {
        /// The log store says nothing.
        case silent
        /// The log store says that the process has no right to append.
        case notified
    }

    /// The longest message; `nil` = any.
    private(set) var longest: Int?
    private var refusals: [Refusal?] = Array(repeating: nil, count: SimulatedCluster.processLimit)
    /// As each process was sent it, in the life of this number.
    private var notifiedLongest: [(life: Int, longest: Int?)] = Array(
        repeating: (0, nil), count: SimulatedCluster.processLimit)
    /// The life of each process that was notified that it has no right, until it is notified of the opposite.
    private var deniedLives: [Int?] = Array(repeating: nil, count: SimulatedCluster.processLimit)

    mutating func limit(to longest: Int) { self.longest = longest }
    mutating func refuse(_ index: Int, _ refusal: Refusal?) { refusals[index] = refusal }
    mutating func mend() { refusals = refusals.map { _ in nil } }

    func refusal(of index: Int) -> Refusal? { refusals[index] }
    func takes(_ bytes: [UInt8]) -> Bool { longest.map { bytes.count <= $0 } ?? true }

    func isDenied(_ index: Int, life: Int) -> Bool { deniedLives[index] == life }
    mutating func deny(_ index: Int, life: Int) { deniedLives[index] = life }

    /// - Returns: Whether the process was notified that it has no right, and has it again.
    mutating func allows(_ index: Int, life: Int) -> Bool {
        guard isDenied(index, life: life), refusals[index] == nil else { return false }
        deniedLives[index] = nil
        return true
    }

    /// - Returns: The length that the process is to be reported.
    mutating func newLongest(for index: Int, life: Int) -> Int? {
        guard let longest, notifiedLongest[index] != (life, longest) else { return nil }
        notifiedLongest[index] = (life, longest)
        return longest
    }
}

extension SimulatedLog {
    /// The library of a process knows what the server takes that it is connected to, and sends nothing longer.
    ///
    /// - Returns: Whether it sends the message.
    func isSent(_ bytes: [UInt8], token: Int64, by node: ClusterNode) -> Bool {
        guard links[node.index] == .whole, let longest = rights.longest, !rights.takes(bytes) else { return true }
        _ = rights.newLongest(for: node.index, life: node.generation)
        answer(node.index, node.generation) { node in
            node.limited(to: longest)
            node.tooLong(token: token)
        }
        return false
    }

    /// - Returns: Whether a server takes a message that has come to it.
    func isTaken(_ bytes: [UInt8], of index: Int, life: Int) -> Bool {
        switch rights.refusal(of: index) {
        case nil: return rights.takes(bytes)
        case .silent?: return false
        case .notified?:
            answer(index, life) { [self] node in
                rights.deny(index, life: life)
                node.denied(true)
            }
            return false
        }
    }

    /// A process sends heartbeats: it sees what has changed, and what it does meanwhile is looked at.
    func noteRights(_ heartbeat: Heartbeat, of node: ClusterNode) {
        let (index, life) = (node.index, node.generation)
        if heartbeat.role == .leading { checkLeader(node) }
        guard links[index] == .whole else { return }
        if let longest = rights.newLongest(for: index, life: life) {
            answer(index, life) { $0.limited(to: longest) }
        }
        if rights.allows(index, life: life) { answer(index, life) { $0.denied(false) } }
    }

    private func checkLeader(_ node: ClusterNode) {
        if rights.isDenied(node.index, life: node.generation) {
            cluster.violated("P4", "\(node.name) leads, and was told that it has no right to append")
        }
        guard let silence = node.appendSilence, silence > Self.appendPatience else { return }
        cluster.violated("P4", "\(node.name) leads, and the log has not taken its message for \(silence) ms")
    }

    private static let appendPatience = ReplicaSettings().giveUp.count + 1_000

    /// The servers are given another limit for the length of messages.
    func limitMessages() {
        let longest = MessageLimits.headByteCount + (random.chance(200) ? 100_000 : Int(random.pick(300...2_000)))
        cluster.trace?(cluster.now, -2, "messages have \(longest) bytes at most")
        rights.limit(to: longest)
    }

    /// For a while the log store takes nothing that a process appends, and takes its heartbeats.
    func refuseAppends(of index: Int) {
        let refusal = random.chance(500) ? SimulatedRights.Refusal.silent : .notified
        cluster.trace?(cluster.now, index, "the engine takes none of its messages (\(refusal))")
        rights.refuse(index, refusal)
        cluster.schedule(after: random.pick(3_000...40_000)) { [self] in
            cluster.trace?(cluster.now, index, "the engine takes its messages again")
            rights.refuse(index, nil)
        }
    }
}
