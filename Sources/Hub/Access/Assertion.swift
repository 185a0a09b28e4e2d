public import TelltaleModel

/// Checks the tokens that issuers sign for devices of end users (JSON Web Tokens, RFC 7519).
///
/// The performer implements it, because it needs cryptography. Both functions are pure: the same arguments give the same result
/// for the lifetime of the value.
public protocol TokenIssuers: Sendable {
    /// The claims of a token.
    ///
    /// - Parameter wall: The real time.
    /// - Throws: ``AssertionRefusal`` for a token that is malformed, not signed by an issuer, expired, or revoked.
    func assertion(of text: String, at wall: Timestamp) throws(AssertionRefusal) -> Assertion

    /// The claims of a connection under these issuers; `nil` if its token would no longer be accepted.
    ///
    /// It ignores expiry.
    func renewed(_ assertion: Assertion) -> Assertion?
}

/// Why a signed token is rejected, for a log. It includes token text only if the signature was valid.
public struct AssertionRefusal: Error, Hashable, Sendable {
    public let reason: String

    public init(_ reason: String) {
        self.reason = reason
    }
}

/// The claims of a signed token (RFC 7519 §4.1) that this server reads.
public struct SignedClaims: Hashable, Sendable {
    /// `iss`.
    public var issuer: String
    /// `sub`.
    public var subject: String
    /// `aud`, one or several.
    public var audiences: [String]
    /// `jti`.
    public var tokenID: String?
    /// The scopes that the token requests. Unknown scopes are left out.
    public var scopes: Set<Scope>
    public var account: String?
    /// `iat`.
    public var issued: Timestamp
    /// `nbf`.
    public var begins: Timestamp?
    /// `exp`.
    public var expires: Timestamp

    public init(
        issuer: String, subject: String, audiences: [String], scopes: Set<Scope>, issued: Timestamp, expires: Timestamp
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audiences = audiences
        self.scopes = scopes
        self.issued = issued
        self.expires = expires
    }
}

/// An accepted signed token, and the principal that it stands for.
public struct Assertion: Hashable, Sendable {
    /// Its scopes are those of the token that the issuer may grant.
    public var principal: Principal
    public var claims: SignedClaims
    /// The number of the key that signed it.
    public var key: Int
    /// How long after its expiry it is still accepted, to allow for clock skew.
    public var leeway: Milliseconds

    public init(principal: Principal, claims: SignedClaims, key: Int, leeway: Milliseconds) {
        self.principal = principal
        self.claims = claims
        self.key = key
        self.leeway = leeway
    }
}

/// The proof that a connection speaks for a principal.
struct Credential: Hashable, Sendable {
    var principal: Principal
    var proof: Proof
    /// On the real clock; `nil` = it does not expire.
    var expires: Timestamp?
    /// When the connection ends: ``expires`` plus the leeway for clock skew.
    var ends: Timestamp?

    enum Proof: Hashable {
        /// A token of the directory, by its id, and its digest at that time.
        case token(id: String, digest: [UInt8])
        case assertion(Assertion)
    }

    init(_ assertion: Assertion) {
        principal = assertion.principal
        proof = .assertion(assertion)
        expires = assertion.claims.expires
        ends = assertion.claims.expires + assertion.leeway
    }

    init(_ principal: Principal, _ token: PrincipalDirectory.Token) {
        self.principal = principal
        proof = .token(id: token.id, digest: token.digest)
        expires = token.expires
        ends = token.expires
    }
}
