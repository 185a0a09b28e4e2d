/// A replicated log in memory, for tests: ``node()`` gives each node its connection to it.
///
/// It stores at once and never lies. Its events wait until ``InMemoryLogNode/deliver()``.
public final class InMemoryLog {
    /// The stored messages; number 1 first.
    public private(set) var messages: [[UInt8]] = []
    /// No message is stored while it is set.
    public var isFull = false
    /// The first message that is not purged.
    public private(set) var first: Int64 = 1
    /// By their ids. A test may take pieces away.
    public var checkpoints: [String: Checkpoint] = [:]

    /// A checkpoint that nodes have stored.
    public struct Checkpoint {
        public var pieces: [[UInt8]] = []
        public var manifest: [UInt8]?

        public init(pieces: [[UInt8]] = [], manifest: [UInt8]? = nil) {
            (self.pieces, self.manifest) = (pieces, manifest)
        }
    }
    /// The newest heartbeat of each node.
    fileprivate var heartbeats: [String: Heartbeat] = [:]
    private var nodes: [Weak] = []

    private struct Weak {
        weak var node: InMemoryLogNode?
    }

    public init() {}

    /// The newest position; 0 for none.
    public var end: Int64 { Int64(messages.count) }

    /// The way of another node to this log.
    public func node() -> InMemoryLogNode {
        let node = InMemoryLogNode(self)
        nodes.append(Weak(node: node))
        return node
    }

    /// Stores a message without a condition, as a stranger does, and reports it.
    public func store(_ bytes: [UInt8]) {
        messages.append(bytes)
        for each in nodes { each.node?.deliverEvent(.read([bytes], from: end - 1, end: end)) }
    }

    /// Loses its newest messages, as a log store must not.
    ///
    /// - Returns: Those that are lost.
    public func lose(_ count: Int) -> [[UInt8]] {
        let lost = Array(messages.suffix(count))
        messages.removeLast(lost.count)
        return lost
    }

    /// Forgets the messages before this one.
    public func purge(before position: Int64) { first = max(first, min(position, end + 1)) }

    fileprivate func answer(_ request: CheckpointRequest) -> CheckpointAnswer? {
        switch request {
        case .list:
            let stored = checkpoints.map {
                StoredCheckpoint(id: $0, manifest: $1.manifest, pieceCount: $1.pieces.count)
            }
            let byteCount = messages.dropFirst(Int(first - 1)).reduce(0) { $0 + Int64($1.count) }
            return .list(stored.sorted { $0.id < $1.id }, LogExtent(first: first, byteCount: byteCount))
        case .store(let piece, let number, let id):
            checkpoints[id, default: Checkpoint()].pieces.append(piece)
            return .stored(number: number, of: id)
        case .finish(let manifest, let id):
            checkpoints[id]?.manifest = manifest
            return .finished(id)
        case .read(let id, let from):
            let pieces = (checkpoints[id]?.pieces ?? []).dropFirst(from).prefix(4)
            return .pieces(Array(pieces), of: id, from: from)
        case .message(let position):
            let isThere = (first...max(first, end)).contains(position) && position <= end
            return .message(isThere ? messages[Int(position) - 1] : nil, at: position)
        case .remove(let id): checkpoints[id] = nil
        case .purge(let before): purge(before: before)
        }
        return nil
    }

    fileprivate func spread(_ heartbeat: Heartbeat, from teller: InMemoryLogNode) {
        heartbeats[heartbeat.node] = heartbeat
        for each in nodes where each.node !== teller { each.node?.deliverEvent(.heard(heartbeat)) }
    }
}

/// The connection of one node to an ``InMemoryLog``.
public final class InMemoryLogNode: ReplicatedLog {
    private let log: InMemoryLog
    private var events: [LogEvent] = []
    private var isClosed = false
    public var onEvent: ((LogEvent) -> Void)?
    /// Called when something begins to wait for ``deliver()``.
    public var onWaiting: (() -> Void)?
    /// Cut off from the log: nothing passes in either direction, and it is lost.
    public var isCutOff = false
    /// A message that it appends is stored. Nothing else arrives, and no answer comes back.
    public var isDeaf = false

    private var isHeld = false
    /// The position from which it reads when it resumes.
    private var held: Int64?

    fileprivate init(_ log: InMemoryLog) {
        self.log = log
    }

    public var status: LogStoreStatus {
        var status = LogStoreStatus(name: "memory")
        status.isConnected = !isCutOff
        return status
    }

    public func append(_ bytes: [UInt8], after position: Int64, token: Int64) {
        guard !isCutOff else { return }
        guard position == log.end else { return deliverEvent(.refused(token: token)) }
        guard !log.isFull else { return deliverEvent(.full(token: token)) }
        log.store(bytes)
        deliverEvent(.stored(token: token, position: log.end))
    }

    public func hold(_ isHeld: Bool) {
        self.isHeld = isHeld
        if !isHeld, let held = held.take() { read(from: held) }
    }

    public func read(from position: Int64) {
        guard !isHeld else {
            held = min(held ?? position, position)
            return
        }
        let from = max(log.first - 1, min(position, log.end))
        deliverEvent(.read(Array(log.messages.dropFirst(Int(clamping: from))), from: from, end: log.end))
    }

    public func heartbeat(_ heartbeat: Heartbeat) {
        guard !isCutOff, !isDeaf else { return }
        log.spread(heartbeat, from: self)
        deliverEvent(.heartbeatStored(number: heartbeat.number))
        for other in log.heartbeats.values.sorted(by: { $0.node < $1.node }) where other.node != heartbeat.node {
            deliverEvent(.heard(other))
        }
        deliverEvent(.heartbeatsShown(through: heartbeat.number))
    }

    public func queryServers(_ request: CheckpointRequest) {
        guard !isCutOff, let answer = log.answer(request) else { return }
        deliverEvent(.checkpoint(answer))
    }

    public func close() {
        isClosed = true
        events = []
    }

    /// Delivers what waits, and what is added meanwhile.
    public func deliver() {
        guard let onEvent else { return }
        while !events.isEmpty { onEvent(events.removeFirst()) }
    }

    fileprivate func deliverEvent(_ event: LogEvent) {
        guard !isCutOff, !isDeaf, !isClosed else { return }
        if isHeld, case .read(_, let from, _) = event {
            held = min(held ?? from, from)
            return
        }
        events.append(event)
        if events.count == 1 { onWaiting?() }
    }
}
