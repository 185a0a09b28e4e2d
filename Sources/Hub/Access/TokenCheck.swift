internal import TelltaleModel

/// A signed token that a connection sent, as the performer is to check it: on another thread, because a signature takes as long
/// as many requests.
public struct TokenCheck: Sendable {
    /// Whose `HELLO` waits for it. A connection has one check at a time.
    public let session: SessionID
    let token: String
    let issuers: any TokenIssuers
    let wall: Timestamp

    /// The result, a pure function of the check. Give it to ``Hub/tokenChecked(_:)``.
    public func verdict() -> TokenVerdict {
        let result: Result<Assertion, AssertionRefusal>
        do throws(AssertionRefusal) {
            result = .success(try issuers.assertion(of: token, at: wall))
        } catch {
            result = .failure(error)
        }
        return TokenVerdict(session: session, token: token, result: result)
    }
}

/// What a ``TokenCheck`` came to.
public struct TokenVerdict: Sendable {
    let session: SessionID
    let token: String
    let result: Result<Assertion, AssertionRefusal>
}
