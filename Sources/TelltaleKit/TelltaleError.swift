/// Why a request has no result, or why a follower has ended. No error contains a token.
public enum TelltaleError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A value is not allowed in a request. Nothing was sent.
    case invalidRequest(String)
    /// The server answered with an error.
    case refused(Refusal)
    /// No server answered within the time limit. Nothing was sent.
    case unreachable(String)
    /// The server's certificate is from an untrusted authority, or for another name. Nothing was sent.
    case untrusted(String)
    /// The request was sent, and no answer came within the time limit: it may have taken effect. Repeating it with the
    /// same event id is safe: it takes effect once.
    case outcomeUnknown(eid: String?)
    /// The connection was lost before the answer. The request may have taken effect, and must not be repeated.
    case connectionLost(String)
    /// The peer is not a Telltale server, or has another version of the protocol.
    case incompatible(String)
    /// This client, or this follower, was closed, or its task cancelled.
    case closed

    public var description: String {
        switch self {
        case .invalidRequest(let reason): reason
        case .refused(let refusal): refusal.description
        case .unreachable(let reason): "no server answered: \(reason)"
        case .untrusted(let reason): "the server is not trusted: \(reason)"
        case .outcomeUnknown(let eid):
            "no answer came in time, and the request may have taken effect"
                + (eid.map { "; made again with eid \($0) it takes effect once" } ?? "")
        case .connectionLost(let reason): "the connection was lost before the answer: \(reason)"
        case .incompatible(let reason): "the server is not understood: \(reason)"
        case .closed: "the client is closed"
        }
    }

    /// The server's error, if it answered with one.
    public var refusal: Refusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
}
