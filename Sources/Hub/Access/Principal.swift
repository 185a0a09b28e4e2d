public import TelltaleModel

/// A program, a device or a service with its own rights.
public struct Principal: Hashable, Sendable {
    /// The accounts whose data a principal may read and for which it may act.
    public enum Accounts: Hashable, Sendable {
        /// No account.
        case none
        /// This account, always.
        case one(String)
        /// Any account; without a named account, the activities of all.
        case any

        /// One account does not include `none`: a connection without an account that has `read:` would see every account's
        /// activities.
        fileprivate func include(_ other: Accounts) -> Bool { self == .any || self == other }
    }

    public var name: String
    public var scopes: Set<Scope>
    public var accounts: Accounts
    /// The `src=` values that it may use besides its own name: exact texts, or prefixes that end in `*`.
    public var sources: [String] = []
    /// The most requests a second over all its connections, with a burst of twice as many; `nil` = unlimited.
    public var rate: Int?
    /// The most connections at a time; `nil` = unlimited.
    public var connections: Int?

    public init(name: String, scopes: Set<Scope>, accounts: Accounts = .none) {
        self.name = name
        self.scopes = scopes
        self.accounts = accounts
    }

    /// The longest ``name``, in bytes.
    public static let nameLengthLimit = 128

    /// Whether `text` is 1 to 128 characters of `A-Z a-z 0-9 . _ ~ : @ / -`, so that it can be a value on the line and a source
    /// of events.
    public static func isName(_ text: String) -> Bool {
        (1...nameLengthLimit).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                case _: "._~:@/-".utf8.contains(byte)
                }
            }
    }

    private var isAdministrator: Bool { scopes.contains(.admin) }

    func has(_ scope: Scope) -> Bool { scopes.contains { $0.covers(scope) } }

    /// Whether it has the right to act for a provider of some kind.
    var mayServe: Bool { scopes.contains { if case .serve = $0 { true } else { $0 == .admin } } }

    func may(use account: String) -> Bool {
        switch accounts {
        case .none: isAdministrator
        case .one(let own): own == account || isAdministrator
        case .any: true
        }
    }

    func may(postAs source: String) -> Bool {
        if source == name || isAdministrator { return true }
        return sources.contains { pattern in
            guard pattern.utf8.last == UInt8(ascii: "*") else { return pattern == source }
            return source.utf8.starts(with: pattern.utf8.dropLast())
        }
    }

    /// The account of a connection that names none.
    var defaultAccount: String? { if case .one(let account) = accounts { account } else { nil } }

    /// Whether a connection of `other` can switch to this principal: it loses no right, and its existing subscriptions show
    /// nothing new.
    func includes(_ other: Principal) -> Bool {
        other.scopes.allSatisfy(has) && accounts.include(other.accounts)
    }
}

/// Every principal with its tokens, as the performer has read them. Only the digest of a token is kept.
public struct PrincipalDirectory: Sendable {
    /// The record of one token.
    public struct Token: Hashable, Sendable {
        /// 8 of `a-z2-7`; public, because logs and revocations name it.
        public var id: String
        /// The digest of the whole token text.
        public var digest: [UInt8]
        public var expires: Timestamp?

        public init(id: String, digest: [UInt8], expires: Timestamp? = nil) {
            self.id = id
            self.digest = digest
            self.expires = expires
        }
    }

    private var principals: [Principal] = []
    private var tokens: [String: (token: Token, principal: Int)] = [:]
    private let digest: @Sendable (String) -> [UInt8]
    /// The issuers of accepted signed tokens; `nil` = no signed token is accepted.
    public var issuers: (any TokenIssuers)?
    /// How many directories were in force before this one.
    var generation = 0

    /// - Parameter digest: Computes the digest of a token's text; a pure function.
    public init(digest: @escaping @Sendable (String) -> [UInt8]) {
        self.digest = digest
    }

    /// Adds a principal.
    ///
    /// - Precondition: No two tokens have the same id.
    public mutating func insert(_ principal: Principal, tokens: [Token]) {
        for token in tokens {
            precondition(self.tokens[token.id] == nil, "two tokens have the id \(token.id)")
            self.tokens[token.id] = (token, principals.count)
        }
        principals.append(principal)
    }

    public var principalCount: Int { principals.count }

    /// Why a token is rejected. A client gets the same answer for every reason; the log names the reason.
    enum Refusal: Error, Hashable {
        case malformed
        case unknown(id: String)
        case wrongSecret(id: String)
        case expired(id: String)
        case assertion(AssertionRefusal)
    }

    /// The issuers that must check a token first; `nil` for a token that this directory checks itself.
    func checkers(of text: String) -> (any TokenIssuers)? { TokenText.isSigned(text) ? issuers : nil }

    /// Whether a token must be checked again: its verdict is bad, and it is not that of the issuers in force.
    func isOutdated(_ verdict: TokenVerdict) -> Bool {
        verdict.generation != generation && (try? credential(of: verdict)) == nil
    }

    /// The credential of a checked signed token. The issuers that checked it may have been replaced since.
    func credential(of verdict: TokenVerdict) throws(Refusal) -> Credential {
        let assertion: Assertion
        do throws(AssertionRefusal) {
            assertion = try verdict.result.get()
        } catch {
            throw .assertion(error)
        }
        guard let credential = renewed(Credential(assertion)) else {
            throw .assertion(AssertionRefusal("of \(assertion.principal.name) was revoked"))
        }
        return credential
    }

    /// The credential of a token in this directory.
    func credential(of text: String, at wall: Timestamp) throws(Refusal) -> Credential {
        // Computed before the look-up, so that the time of an answer does not depend on whether the id exists.
        let given = digest(text)
        guard let id = TokenText.id(of: text) else { throw .malformed }
        guard let (token, principal) = tokens[id] else { throw .unknown(id: id) }
        guard Self.isSame(given, token.digest) else { throw .wrongSecret(id: id) }
        if let expires = token.expires, expires <= wall { throw .expired(id: id) }
        return Credential(principals[principal], token)
    }

    /// Whether a token of the file of principals has the scope `stats`. Signed tokens do not.
    public func mayReadFigures(_ token: String, at wall: Timestamp) -> Bool {
        (try? credential(of: token, at: wall))?.principal.has(.stats) ?? false
    }

    /// The credential of a connection under this directory; `nil` = it was revoked.
    func renewed(_ credential: Credential) -> Credential? {
        switch credential.proof {
        case .assertion(let assertion): return issuers?.renewed(assertion).map { Credential($0) }
        case .token(let id, let digest):
            // The secret may have been replaced under the same id.
            guard let (token, principal) = tokens[id], Self.isSame(digest, token.digest),
                principals[principal].name == credential.principal.name
            else { return nil }
            return Credential(principals[principal], token)
        }
    }

    /// Compares in constant time.
    private static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }
}

/// The form of a token: `tt_ID_SECRET`.
public enum TokenText {
    /// In bytes.
    public static let idLength = 8
    /// In bytes: 256 random bits in base64url.
    public static let secretLength = 43

    /// The public part of a token; `nil` for what is not of this form.
    public static func id(of text: String) -> String? {
        let bytes = Array(text.utf8)
        let secretStart = 3 + idLength + 1
        guard bytes.count == secretStart + secretLength, bytes.starts(with: "tt_".utf8),
            bytes[secretStart - 1] == UInt8(ascii: "_"), bytes[secretStart...].allSatisfy(isSecretByte)
        else { return nil }
        let id = bytes[3..<3 + idLength]
        return id.allSatisfy(isIDByte) ? String(decoding: id, as: UTF8.self) : nil
    }

    /// Whether `text` may be a signed token: it has dots, which no other token has.
    static func isSigned(_ text: String) -> Bool { text.utf8.contains(UInt8(ascii: ".")) }

    /// Whether `text` is 8 of `a-z2-7`.
    public static func isID(_ text: String) -> Bool {
        text.utf8.count == idLength && text.utf8.allSatisfy(isIDByte)
    }

    private static func isIDByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(byte)
    }

    private static func isSecretByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        case _: false
        }
    }
}
