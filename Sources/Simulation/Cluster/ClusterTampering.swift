import Hub
import Journal
import Replication

/// Makes a ``ClusterBug`` in what a node passes on between its replica, its server and the engine.
final class ClusterTampering {
    private let bug: ClusterBug?
    /// The message in flight.
    private var current: (bytes: [UInt8], after: Int64, token: Int64) = ([], 0, 0)
    /// A term that was sent again behind messages that were not read.
    private var staleToken: Int64 = -1
    private var isPipelining = false
    private var awaited: Int64 = -1
    private var held: [JournalRecord] = []
    private var pieces: [UInt8] = []
    private var waiting: [SessionID: [UInt8]] = [:]

    init(_ bug: ClusterBug?) {
        self.bug = bug
    }

    /// Of the message in flight.
    var token: Int64 { current.token }
    func isInFlight(_ bytes: [UInt8]) -> Bool { bytes == current.bytes }

    // MARK: Appends

    func append(_ bytes: [UInt8], after: Int64, token: Int64, of node: ClusterNode) {
        current = (bytes, after, token)
        let isLeading = node.replica?.role == .leading
        node.cluster.log.append(
            bytes, after: bug == .leaseTakenForFence && isLeading ? nil : after, token: token, from: node)
        switch bug {
        case .silenceTakenForLost where isLeading:
            let generation = node.generation
            node.cluster.schedule(after: 200) {
                guard node.generation == generation else { return }
                node.whenAwake { node.full(token: token) }
            }
        case .pipelinedFence where isPipelining:
            awaited = token
            node.replica?.acknowledged(token: token, position: after + 1, at: node.monotonic)
        default: break
        }
    }

    /// - Returns: Whether the batch was appended in another way.
    func appendBatch(_ records: [JournalRecord], of node: ClusterNode) -> Bool {
        guard bug == .pipelinedFence, records.count > 1 else { return false }
        isPipelining = true
        for record in records {
            node.replica?.append([record], at: node.monotonic)
            node.takeActions()
        }
        isPipelining = false
        return true
    }

    /// - Returns: Whether the batch is not settled yet.
    func holds(_ records: [JournalRecord]) -> Bool {
        guard isPipelining else { return false }
        held += records
        return true
    }

    func acknowledged(token: Int64, position: Int64, of node: ClusterNode) -> (token: Int64, position: Int64)? {
        switch bug {
        case .strangersAck: return (current.token, current.after + 1)
        case .leaseTakenForFence, .staleReadLeads:
            let isOwn = token == current.token && (bug == .leaseTakenForFence || token == staleToken)
            return isOwn ? (token, current.after + 1) : (token, position)
        case .pipelinedFence where token == awaited:
            let records = held
            held = []
            if !records.isEmpty { node.settleStored(records) }
            return nil
        default: return (token, position)
        }
    }

    /// - Returns: Whether that was all.
    func refused(token: Int64, last: Int64, of node: ClusterNode) -> Bool {
        guard token == current.token else { return false }
        switch bug {
        case .refusalTakenForStored:
            node.replica?.acknowledged(token: token, position: current.after + 1, at: node.monotonic)
            return true
        case .staleReadLeads where node.replica?.role == .campaigning && last > current.after:
            staleToken = token
            node.cluster.log.append(current.bytes, after: last, token: token, from: node)
            return true
        default: return false
        }
    }

    // MARK: Reads

    func read(_ bytes: [UInt8], of node: ClusterNode) -> [UInt8] {
        guard bug == .chainUnchecked || bug == .halfBatchReplayed, let reader = node.replica?.reader,
            var message = try? LogMessage(decoding: bytes)
        else { return bytes }
        if bug == .chainUnchecked, message.cluster != SimulatedCluster.name, let leader = reader.leader {
            message.cluster = SimulatedCluster.name
            (message.epoch, message.term) = (reader.epoch ?? 0, leader.term)
            (message.node, message.instance) = (leader.node, leader.instance)
            (message.sequence, message.link) = (reader.chain.sequence, reader.chain.link)
            return message.encoded()
        }
        guard bug == .halfBatchReplayed else { return bytes }
        switch message.body {
        case .part(let number, let count, let piece):
            if number == 1 { pieces = [] }
            pieces = number == count ? [] : pieces + piece
        case .term:
            var whole: [JournalRecord] = []
            for length in stride(from: pieces.count, to: 0, by: -1) {
                guard let records = try? LogMessage.records(in: Array(pieces[..<length])) else { continue }
                whole = records
                break
            }
            pieces = []
            node.replay(whole)
        case .batch, .resign, .handOver, .seal: pieces = []
        }
        return bytes
    }

    func replay(_ records: [JournalRecord]) -> [JournalRecord] {
        guard bug == .behindCursorServed else { return records }
        defer { held = records }
        return held
    }

    // MARK: Writes

    /// All connections have ended, and sessions are counted anew.
    func connectionsEnded() { waiting = [:] }

    /// Whether a node that may not show anything goes on with its turn.
    func showsAnyway(isLeading: Bool) -> Bool {
        switch bug {
        case .oldLeaderShows, .doAfterDeposal: isLeading
        case .standbyFiresTimers: !isLeading
        default: false
        }
    }

    /// In limbo the requests to providers leave, and all else waits.
    func written(_ bytes: [UInt8], to session: SessionID, of node: ClusterNode) -> [UInt8] {
        guard bug == .doAfterDeposal else { return bytes }
        guard node.replica?.isInLimbo == true else { return (waiting.removeValue(forKey: session) ?? []) + bytes }
        var requests: [UInt8] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let line = line + [UInt8(ascii: "\n")]
            if line.starts(with: "DO ".utf8) { requests += line } else { waiting[session, default: []] += line }
        }
        return requests
    }
}
