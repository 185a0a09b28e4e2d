internal import Hub
internal import TelltaleModel

/// A token in the compact form of RFC 7515: HEADER.CLAIMS.SIGNATURE. Nothing of it is true before its signature is good.
struct SignedToken {
    let algorithm: String
    /// `kid`.
    let keyName: String?
    let claims: JSONObject
    private let signature: [UInt8]
    /// The signed bytes: the header and the claims as they came.
    private let message: [UInt8]

    /// A longer one does not fit into the first line of a connection.
    static let lengthLimit = 4_096

    init(_ text: String) throws(AssertionRefusal) {
        guard text.utf8.count <= Self.lengthLimit else {
            throw AssertionRefusal("is longer than \(Self.lengthLimit) bytes")
        }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw AssertionRefusal("has not three parts") }
        guard let header = Base64.bytes(parts[0], .url), let claims = Base64.bytes(parts[1], .url),
            let signature = Base64.bytes(parts[2], .url)
        else { throw AssertionRefusal("is not base64url without padding") }
        let fields = try Self.object(header)
        guard let algorithm = fields["alg"]?.string else { throw AssertionRefusal("has a header without alg") }
        guard fields["crit"] == nil else { throw AssertionRefusal("has a critical header, and none is known") }
        guard let type = fields["typ"]?.string, Self.types.contains(type.lowercased()) else {
            throw AssertionRefusal("has a typ that is neither at+jwt nor JWT")
        }
        if let name = fields["kid"], name.string == nil { throw AssertionRefusal("has a kid that is no text") }
        self.algorithm = algorithm
        keyName = fields["kid"]?.string
        self.claims = try Self.object(claims)
        self.signature = signature
        message = Array(bytes[..<parts[1].endIndex])
    }

    private static let types: Set<String> = ["at+jwt", "application/at+jwt", "jwt"]

    private static func object(_ bytes: [UInt8]) throws(AssertionRefusal) -> JSONObject {
        do throws(JSONError) {
            if case .object(let object) = try JSONParser().parse(bytes.span) { return object }
        } catch {}
        throw AssertionRefusal("has a part that is no JSON object")
    }

    func isSigned(by key: SignatureKey) -> Bool { key.verifies(signature, of: message) }
}

extension SignedClaims {
    /// Reads the claims of a token whose signature is good.
    init(_ object: JSONObject, of issuer: Issuer) throws(AssertionRefusal) {
        func refusal(_ text: String) -> AssertionRefusal { AssertionRefusal("of \(issuer.host) \(text)") }
        guard let subject = object["sub"]?.string, !subject.isEmpty else { throw refusal("has no sub") }
        guard let audiences = Self.audiences(object["aud"]) else { throw refusal("has no aud") }
        guard let issued = Self.date(object["iat"]) else { throw refusal("has no iat") }
        guard let expires = Self.date(object["exp"]) else { throw refusal("has no exp") }
        self.init(
            issuer: issuer.name, subject: subject, audiences: audiences, scopes: Self.scopes(object["scope"]),
            issued: issued, expires: expires)
        if let begins = object["nbf"] {
            guard let date = Self.date(begins) else { throw refusal("has an nbf that is no date") }
            self.begins = date
        }
        if let id = object["jti"] {
            guard let text = id.string else { throw refusal("has a jti that is no text") }
            tokenID = text
        }
        guard let account = object["account"] else { return }
        // It is a name and never a pattern: a person may have chosen it.
        guard let name = account.string, PrincipalReader.isAccount(name), name != "*" else {
            throw refusal("has an account that is no name of one")
        }
        self.account = name
    }

    private static func audiences(_ json: JSON?) -> [String]? {
        guard let json else { return nil }
        if let text = json.string { return [text] }
        guard let texts = json.array?.map(\.string), !texts.contains(nil) else { return nil }
        return texts.compactMap(\.self)
    }

    /// Seconds since 1970, up to the end of the year 9999; fractions are allowed.
    static func date(_ json: JSON?) -> Timestamp? {
        guard let seconds = json?.double, (0...253_402_300_799).contains(seconds) else { return nil }
        return Timestamp(seconds: seconds)
    }

    private static func scopes(_ json: JSON?) -> Set<Scope> {
        Set((json?.string ?? "").split(separator: " ").compactMap { Scope(String($0)) })
    }

    /// Whether it is for this server, and lives no longer than its issuer may let it.
    func isMeant(for issuer: Issuer) -> Bool {
        audiences.contains(issuer.audience) && expires - issued <= issuer.maxLifetime
    }

    func check(for issuer: Issuer, at wall: Timestamp, leeway: Milliseconds) throws(AssertionRefusal) {
        func refusal(_ text: String) -> AssertionRefusal { AssertionRefusal("of \(issuer.host) \(text)") }
        guard audiences.contains(issuer.audience) else { throw refusal("is for another audience") }
        guard isMeant(for: issuer), expires >= issued else {
            throw refusal("has a life that is longer than maxLifetime")
        }
        guard wall < expires + leeway else { throw refusal("has expired") }
        guard issued <= wall + leeway else { throw refusal("was issued later than now") }
        if let begins { guard begins <= wall + leeway else { throw refusal("is not valid yet") } }
    }
}
