public import Hub
public import TelltaleModel

/// An issuer of signed tokens, as the file of principals describes it.
public struct Issuer: Hashable, Sendable {
    /// `iss` of its tokens.
    public var name: String
    /// `aud` of its tokens.
    public var audience: String
    public var keys: [SignatureKey]
    /// The most that its tokens may allow.
    public var scopes: Set<Scope>
    /// The longest life of a token.
    public var maxLifetime: Milliseconds
    /// The limits of each of its principals.
    public var rate: Int?
    public var connections: Int?

    /// The beginning of the names of its principals: the host of a URL, else the whole name.
    var host: String {
        guard let scheme = name.utf8.firstIndex(of: UInt8(ascii: ":")), name[scheme...].hasPrefix("://") else {
            return name
        }
        let rest = name[name.utf8.index(scheme, offsetBy: 3)...]
        return String(rest.utf8.prefix { !":/?#".utf8.contains($0) }) ?? ""
    }
}

/// The issuers of a file of principals, and the tokens of theirs that were revoked.
public struct Issuers: TokenIssuers {
    private var issuers: [String: Issuer] = [:]
    private var revokedTokens: Set<String> = []
    /// The moment before which the tokens of a subject were issued that are revoked.
    private var revokedSubjects: [String: Timestamp] = [:]

    public init(_ issuers: [Issuer], revoked: [Revocation]) {
        for issuer in issuers { self.issuers[issuer.name] = issuer }
        for revocation in revoked {
            switch revocation {
            case .token(let id): revokedTokens.insert(id)
            case .subject(let subject, let before):
                revokedSubjects[subject] = max(before ?? .distantFuture, revokedSubjects[subject] ?? .distantPast)
            }
        }
    }

    /// For clocks that differ.
    static let leeway = Milliseconds.seconds(30)

    // MARK: TokenIssuers

    public func assertion(of text: String, at wall: Timestamp) throws(AssertionRefusal) -> Assertion {
        let token = try SignedToken(text)
        guard let issuer = token.claims["iss"]?.string.flatMap({ issuers[$0] }) else {
            throw AssertionRefusal("is of an issuer that is not in the file")
        }
        let key = try key(of: token, issuer)
        guard token.isSigned(by: key) else {
            throw AssertionRefusal("of \(issuer.host) has a signature that is not good")
        }
        let claims = try SignedClaims(token.claims, of: issuer)
        try claims.check(for: issuer, at: wall, leeway: Self.leeway)
        let assertion = try assertion(of: claims, issuer, key)
        if isRevoked(claims) { throw AssertionRefusal("of \(assertion.principal.name) was revoked") }
        return assertion
    }

    public func renewed(_ assertion: Assertion) -> Assertion? {
        let claims = assertion.claims
        guard let issuer = issuers[claims.issuer], !isRevoked(claims), claims.isMeant(for: issuer),
            let key = issuer.keys.first(where: { Self.number(of: $0) == assertion.key })
        else { return nil }
        return try? self.assertion(of: claims, issuer, key)
    }

    // MARK: Keys

    /// The key that a token names. The key reports the algorithm, and the token must name the same one.
    private func key(of token: SignedToken, _ issuer: Issuer) throws(AssertionRefusal) -> SignatureKey {
        let key: SignatureKey?
        if let name = token.keyName {
            key = issuer.keys.first { $0.name == name }
        } else {
            key = issuer.keys.count == 1 ? issuer.keys.first : nil
        }
        guard let key else { throw AssertionRefusal("of \(issuer.host) names none of its keys") }
        guard token.algorithm == key.algorithm else {
            throw AssertionRefusal("of \(issuer.host) has an alg that is not that of the key")
        }
        return key
    }

    /// A number that another key does not have, in this process.
    private static func number(of key: SignatureKey) -> Int { key.hashValue }

    // MARK: Principals

    private func assertion(
        of claims: SignedClaims, _ issuer: Issuer, _ key: SignatureKey
    ) throws(AssertionRefusal) -> Assertion {
        let name = "\(issuer.host)/\(claims.subject)"
        guard Principal.isName(name) else {
            throw AssertionRefusal("of \(issuer.host) has a sub that makes no name of a principal")
        }
        var scopes: Set<Scope> = []
        for scope in claims.scopes {
            for own in issuer.scopes { if let both = own.intersection(scope) { scopes.insert(both) } }
        }
        guard !scopes.isEmpty else { throw AssertionRefusal("of \(name) has no scope that its issuer may grant") }
        var principal = Principal(name: name, scopes: scopes)
        if let account = claims.account {
            principal.accounts = .one(account)
        } else if scopes.contains(where: \.concernsAccounts) {
            throw AssertionRefusal("of \(name) has no account, which read: and act: need")
        }
        principal.rate = issuer.rate
        principal.connections = issuer.connections
        return Assertion(principal: principal, claims: claims, key: Self.number(of: key), leeway: Self.leeway)
    }

    private func isRevoked(_ claims: SignedClaims) -> Bool {
        if let id = claims.tokenID, revokedTokens.contains(id) { return true }
        guard let before = revokedSubjects[claims.subject] else { return false }
        return claims.issued < before
    }
}
