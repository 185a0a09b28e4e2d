internal import TelltaleWire

/// An operator's request that this leader step down.
public struct Handover: Hashable, Sendable {
    /// The node that should lead; `nil` = any.
    public var successor: String?

    public init(successor: String? = nil) {
        self.successor = successor
    }
}

// `HANDOVER`.
extension Hub {
    /// Takes the request, if there is one: its reply has been rendered.
    public mutating func takeHandover() -> Handover? { access.handover.take() }

    mutating func handOver(to successor: String?, _ request: Request, to writer: inout LineWriter) {
        guard let status else {
            return writer.error(
                WireError(.unknownVerb, "HANDOVER: this server is by itself; it is for the leader of a cluster"),
                id: request.id)
        }
        let ready = status.peers.filter { status.keepsUp($0) }.map(\.node)
        let listed = ready.isEmpty ? "no standby keeps up" : "those that keep up: \(ready.joined(separator: ", "))"
        if let successor, !ready.contains(successor) {
            return writer.error(
                WireError(.unavailable, "\(successor) is no standby that keeps up (\(listed)); see STATS"),
                id: request.id)
        }
        guard !ready.isEmpty else {
            return writer.error(WireError(.unavailable, "\(listed), and nobody would lead; see STATS"), id: request.id)
        }
        access.handover = Handover(successor: successor)
        writer.ok(id: request.id, ignored: request.ignored)
    }
}

extension ClusterStatus {
    /// A standby this many messages behind would not be able to lead at once.
    private static let lagLimit: Int64 = 1_000

    fileprivate func keepsUp(_ peer: Peer) -> Bool {
        peer.role == "standby" && peer.isHeard && peer.position >= position - Self.lagLimit
    }
}
