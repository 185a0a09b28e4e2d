/// The reason why a request has no result, or a follower has ended. No error shows a token.
public enum TelltaleError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A value cannot stand in a request. Nothing was sent.
    case invalidRequest(String)
    /// The server answered with an error.
    case refused(Refusal)
    /// No server answered within the time limit. Nothing was sent.
    case unreachable(String)
    /// The server's certificate is of an authority that is not trusted, or of another name. Nothing was sent.
    case untrusted(String)
    /// The request was sent, and no answer came within the time limit: it may have taken effect. With the event id it
    /// can be made again, and takes effect once.
    case outcomeUnknown(eid: String?)
    /// The connection was lost before the answer, and the request must not be repeated. It may have taken effect.
    case connectionLost(String)
    /// The peer is no Telltale server, or one of another version of the protocol.
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
