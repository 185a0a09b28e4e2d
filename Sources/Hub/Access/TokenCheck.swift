internal import TelltaleModel

/// A signed token for the performer to check on another thread, because verifying a signature takes as long as many requests.
public struct TokenCheck: Sendable {
    /// The session whose `HELLO` is waiting. A session has at most one check at a time.
    public let session: SessionID
    let token: String
    let issuers: any TokenIssuers
    /// ``PrincipalDirectory/generation`` of the issuers.
    let generation: Int
    let wall: Timestamp

    /// The result, a pure function of the check. Give it to ``Hub/tokenChecked(_:)``.
    public func verdict() -> TokenVerdict {
        let result: Result<Assertion, AssertionRefusal>
        do throws(AssertionRefusal) {
            result = .success(try issuers.assertion(of: token, at: wall))
        } catch {
            result = .failure(error)
        }
        return TokenVerdict(session: session, token: token, generation: generation, result: result)
    }
}

/// The result of a ``TokenCheck``.
public struct TokenVerdict: Sendable {
    let session: SessionID
    let token: String
    let generation: Int
    let result: Result<Assertion, AssertionRefusal>
}
