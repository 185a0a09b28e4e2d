internal import DequeModule
internal import TelltaleModel

/// An operator takes this node of a cluster out of service: which of its clients are sent to other nodes, and when.
///
/// Invariants:
/// - Departures are evenly spread. A node that was busy or stopped meanwhile does not make up for more than one of them at once.
/// - Nobody is sent away while no other node serves: the hub asks ``dueSession(at:)`` only where one does.
/// - A client that connects during the drain is sent away with the first request for which a client needs a serving node, or when
///   it has asked for nothing within ``patience``. What an operator says is answered.
struct DrainSchedule: ~Copyable {
    private(set) var isOn = false
    /// The clients that were there when it began, in the order of their departures.
    private var waiting: Deque<SessionID> = []
    /// Those of them whose connections are open.
    private var leaving: Set<SessionID> = []
    /// The next departure, and the nanoseconds between two.
    private var nextDeparture = MonotonicTime.distantFuture
    private var interval: Int64 = 0
    /// Clients that came since, and where each was sent by its greeting.
    private var newcomers: [SessionID: Newcomer] = [:]
    /// In the order in which their patience ends. Those that left meanwhile stay until then.
    private var silent: Deque<(session: SessionID, end: MonotonicTime)> = []
    var balance = NodeBalance()

    struct Newcomer {
        let address: String
        /// It has made a request of an operator, and may stay as long as it makes no other one.
        var isOperator = false
    }

    /// How long a client that asks for nothing may stay.
    static let patience = Milliseconds.seconds(1)
    /// By how much a departure may be late without delaying those after it.
    private static let slack = Milliseconds(250)

    /// How many are still connected of those that were there.
    var leavingCount: Int { leaving.count }
    var hasNewcomers: Bool { !newcomers.isEmpty }

    // MARK: The operator

    /// Begins, or begins again.
    ///
    /// - Parameter sessions: Those to send away, in this order.
    mutating func start(_ sessions: [SessionID], over span: Milliseconds, at now: MonotonicTime) {
        isOn = true
        (waiting, leaving) = (Deque(sessions), Set(sessions))
        (newcomers, silent) = ([:], [])
        nextDeparture = now
        interval = span.count * 1_000_000 / Int64(max(1, sessions.count))
    }

    /// Clients stay, and new ones are taken.
    mutating func stop() {
        isOn = false
        (waiting, leaving, newcomers, silent) = ([], [], [:], [])
    }

    // MARK: Clients that were there

    /// The next client to send away, if it is time. Call ``departed(at:)`` or ``skip()`` then.
    func dueSession(at now: MonotonicTime) -> SessionID? { now >= nextDeparture ? waiting.first : nil }

    mutating func departed(at now: MonotonicTime) {
        skip()
        let start = now.milliseconds(since: nextDeparture) > Self.slack ? now : nextDeparture
        nextDeparture = MonotonicTime(nanoseconds: start.nanoseconds + interval)
    }

    /// The next client has gone by itself.
    mutating func skip() { _ = waiting.popFirst() }

    // MARK: Clients that come

    mutating func opened(_ session: SessionID, sentTo address: String, at now: MonotonicTime) {
        newcomers[session] = Newcomer(address: address)
        silent.append((session, now + Self.patience))
    }

    /// A client that came while no other node served stays until one does.
    mutating func opened(_ session: SessionID) {
        waiting.append(session)
        leaving.insert(session)
    }

    func newcomer(_ session: SessionID) -> Newcomer? { newcomers[session] }

    mutating func isOperator(_ session: SessionID) { newcomers[session]?.isOperator = true }

    mutating func closed(_ session: SessionID) {
        guard isOn else { return }
        newcomers[session] = nil
        leaving.remove(session)
    }

    /// The next client that has asked for nothing in time.
    mutating func takeSilent(at now: MonotonicTime) -> (session: SessionID, newcomer: Newcomer)? {
        while let first = silent.first, first.end <= now {
            silent.removeFirst()
            guard let newcomer = newcomers[first.session], !newcomer.isOperator else { continue }
            return (first.session, newcomer)
        }
        return nil
    }

    /// When a client is to be sent away next; `nil` = none is.
    var nextMoment: MonotonicTime? {
        let departure = waiting.isEmpty ? nil : nextDeparture
        guard let end = silent.first?.end else { return departure }
        return departure.map { min($0, end) } ?? end
    }
}

/// Chooses the node to which a client is sent: the one with the fewest connections. What was sent there since its last report counts.
struct NodeBalance {
    /// By address: those sent since the last report, and in the second before, which that report may lack.
    private var sent: [String: Int] = [:]
    private var sentBefore: [String: Int] = [:]
    private var reportedAt = MonotonicTime.distantPast

    private static let interval = Milliseconds.seconds(1)

    /// The counts of the other nodes are those of now.
    mutating func reported(at now: MonotonicTime) {
        guard now >= reportedAt + Self.interval else { return }
        (sentBefore, sent, reportedAt) = (sent, [:], now)
    }

    /// - Parameter peers: In an order that does not change.
    mutating func next(among peers: [ClusterStatus.Peer]) -> String? {
        let peers = peers.filter(\.takesClients)
        // A node that reports no count, of an earlier release, counts as the fullest.
        let most = peers.compactMap(\.connections).max() ?? 0
        let address = peers.min { load(of: $0, most) < load(of: $1, most) }?.address
        if let address { sent[address, default: 0] += 1 }
        return address
    }

    private func load(of peer: ClusterStatus.Peer, _ most: Int) -> Int {
        (peer.connections ?? most) + (sent[peer.address] ?? 0) + (sentBefore[peer.address] ?? 0)
    }
}

extension ClusterStatus.Peer {
    /// Whether clients may be sent there.
    var takesClients: Bool {
        isHeard && !address.isEmpty && role != "stopped" && serves != false && !isDraining
    }
}
