internal import TelltaleModel

/// The subjects and streams of a cluster.
public struct Names: Hashable, Sendable {
    let cluster: String

    /// Whether it is a valid name of a cluster or node: 1 to 32 letters, digits, hyphens and underscores, which are
    /// allowed in subjects and stream names.
    public static func isValid(_ name: String) -> Bool { name.isName(with: "-_", upTo: 32) }

    var log: String { "TT_\(cluster)_LOG" }
    var heartbeat: String { "TT_\(cluster)_BEAT" }
    var checkpoint: String { "TT_\(cluster)_BASE" }

    /// Every message of the log has this subject.
    var logSubject: String { "tt.\(cluster).log" }
    var heartbeatSubjects: String { "tt.\(cluster).beat.*" }
    func heartbeatSubject(of node: String) -> String { "tt.\(cluster).beat.\(node)" }
    /// Checkpoints: the pieces of each under one subject, and its manifest under another.
    var checkpointSubjects: String { "tt.\(cluster).base.>" }
    var manifestSubjects: String { "tt.\(cluster).base.*.manifest" }
    var pieceSubjects: String { "tt.\(cluster).base.*.piece" }
    func manifestSubject(of id: String) -> String { "tt.\(cluster).base.\(id).manifest" }
    func pieceSubject(of id: String) -> String { "tt.\(cluster).base.\(id).piece" }
    func allSubjects(of id: String) -> String { "tt.\(cluster).base.\(id).>" }
    /// The id in a subject of pieces; `nil` for another subject.
    func checkpoint(ofPieces subject: String) -> String? {
        let parts = subject.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 5, subject == pieceSubject(of: String(parts[3])) else { return nil }
        return String(parts[3])
    }

    /// The leader announces the newest position here, so that a standby reads immediately. No stream stores it.
    var hintSubject: String { "tt.\(cluster).told" }
}

/// Something to publish.
struct NATSRequest: Hashable, Sendable {
    /// While the connection is busy, a newer request of a lane replaces the waiting one.
    enum Lane: Hashable, Sendable {
        case append, read, last, info, heartbeat, heartbeats, hint, servers, checkpoint, probe
        /// Not answered, and never replaced.
        case removal(String)
    }

    var lane: Lane
    var subject: String
    /// The subject of the answer, after the inbox prefix; `nil` for no answer.
    var answer: String?
    /// The condition of an append.
    var expected: Int64?
    var bytes: [UInt8]

    var header: (name: String, value: String)? {
        if lane == .probe { return Self.refusal }
        return expected.map { ("Nats-Expected-Last-Sequence", String($0)) }
    }

    /// A condition that makes the stream refuse a message. Any answer then shows that this node may publish there.
    static let refusal = (name: "Nats-Expected-Stream", value: "none")

    /// The longest ``header`` of an append, as the server counts it.
    static let headerByteCount = 64
}

/// A received message.
struct Incoming: Hashable, Sendable {
    var subject: String
    /// The status of a message without content, as in HTTP; 0 for none.
    var status: Int
    /// Its sequence number in its stream; -1 for none.
    var sequence: Int64
    /// The number of messages after it in the stream; -1 for none.
    var pending: Int64
    var bytes: [UInt8]
}
