public import Hub
public import TelltaleModel

/// The faults of a file of principals, each with its place. No text of a fault holds a secret.
public struct PrincipalFaults: Error, Hashable, Sendable {
    public let faults: [String]
}

/// Reads the content of a file of principals.
public struct PrincipalReader {
    private var faults: [String] = []
    private var names: Set<String> = []
    private var tokenIDs: Set<String> = []

    /// The principals that `json` describes.
    ///
    /// - Throws: Every fault; nothing is taken from a file with one.
    public static func read(_ json: JSON) throws(PrincipalFaults) -> PrincipalDirectory {
        var reader = PrincipalReader()
        let directory = reader.directory(json)
        guard reader.faults.isEmpty else { throw PrincipalFaults(faults: reader.faults) }
        return directory
    }

    mutating func fault(_ place: String, _ text: String) { faults.append("\(place): \(text)") }

    private mutating func directory(_ json: JSON) -> PrincipalDirectory {
        var directory = PrincipalDirectory { Digest.sha256($0) }
        guard case .object(let object) = json else {
            fault("the file", "is to hold one JSON object")
            return directory
        }
        checkNames(of: object, ["version", "principals", "issuers", "revoked"], at: "")
        if json["version"]?.integer != 1 { fault("version", "is to be 1") }
        let issuers = issuers(json["issuers"])
        let revoked = revocations(json["revoked"])
        if !issuers.isEmpty { directory.issuers = Issuers(issuers, revoked: revoked) }
        guard let principals = json["principals"]?.array else {
            fault("principals", "is to be an array of principals")
            return directory
        }
        for (index, element) in principals.enumerated() {
            let place = "principals[\(index)]"
            guard case .object(let object) = element else {
                fault(place, "is to be an object")
                continue
            }
            guard let principal = principal(object, at: place) else { continue }
            if let issuer = issuers.first(where: { principal.name.hasPrefix("\($0.host)/") }) {
                fault("\(place).name", "begins with \(issuer.host)/, which is for the tokens of \(issuer.name)")
            }
            directory.insert(principal, tokens: tokens(object["tokens"], at: "\(place).tokens"))
        }
        return directory
    }

    mutating func checkNames(of object: JSONObject, _ known: [String], at place: String) {
        for member in object where !known.contains(member.name) {
            fault(
                place.isEmpty ? member.name : "\(place).\(member.name)",
                "no such member; there are \(known.joined(separator: ", "))")
        }
    }

    // MARK: Principals

    private mutating func principal(_ object: JSONObject, at place: String) -> Principal? {
        let known = ["name", "scopes", "account", "sources", "rate", "connections", "tokens"]
        checkNames(of: object, known, at: place)
        guard let name = object["name"]?.string, Principal.isName(name) else {
            fault("\(place).name", "is to be 1 to \(Principal.nameLengthLimit) of A-Z a-z 0-9 . _ ~ : @ / -")
            return nil
        }
        guard names.insert(name).inserted else {
            fault("\(place).name", "two principals are named \(name)")
            return nil
        }
        let scopes = scopes(object["scopes"], at: "\(place).scopes")
        var principal = Principal(name: name, scopes: scopes, accounts: accounts(object["account"], scopes, at: place))
        principal.sources = texts(object["sources"], at: "\(place).sources") { Self.isValue($0) }
        principal.rate = limit(object["rate"], at: "\(place).rate")
        principal.connections = limit(object["connections"], at: "\(place).connections")
        return principal
    }

    mutating func scopes(_ json: JSON?, at place: String) -> Set<Scope> {
        guard let elements = json?.array, !elements.isEmpty else {
            fault(place, "is to be an array of scopes such as \"read:*\"")
            return []
        }
        var scopes: Set<Scope> = []
        for (index, element) in elements.enumerated() {
            guard let text = element.string, let scope = Scope(text) else {
                fault(
                    "\(place)[\(index)]",
                    "is no scope; write post:P, read:P, act:P, serve:KIND, stats or admin, where P is *, kind/* or kind/id"
                )
                continue
            }
            scopes.insert(scope)
        }
        return scopes
    }

    private mutating func accounts(_ json: JSON?, _ scopes: Set<Scope>, at place: String) -> Principal.Accounts {
        guard let json else {
            if scopes.contains(where: \.concernsAccounts) {
                fault(
                    "\(place).account", "is missing: a principal with read: or act: needs an account, or \"*\" for any")
            }
            return .none
        }
        guard let account = json.string, Self.isAccount(account) else {
            fault("\(place).account", "is to be the name of an account, or \"*\" for any")
            return .none
        }
        return account == "*" ? .any : .one(account)
    }

    private mutating func texts(_ json: JSON?, at place: String, _ isGood: (String) -> Bool) -> [String] {
        guard let json else { return [] }
        guard let texts = json.array?.map(\.string), !texts.contains(where: { $0.map { !isGood($0) } ?? true }) else {
            fault(place, "is to be an array of texts of 1 to 256 visible ASCII characters")
            return []
        }
        return texts.compactMap(\.self)
    }

    mutating func limit(_ json: JSON?, at place: String) -> Int? {
        guard let json else { return nil }
        guard let number = json.integer, (1...1_000_000_000).contains(number) else {
            fault(place, "is to be a whole number from 1 to 1000000000")
            return nil
        }
        return Int(number)
    }

    /// Whether the text may be the name of an account.
    static func isAccount(_ text: String) -> Bool { isValue(text) && !text.utf8.contains(UInt8(ascii: ",")) }

    /// Whether the text may stand as the value of an attribute.
    static func isValue(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    // MARK: Tokens

    private mutating func tokens(_ json: JSON?, at place: String) -> [PrincipalDirectory.Token] {
        guard let json else { return [] }
        guard let elements = json.array else {
            fault(place, "is to be an array of tokens")
            return []
        }
        var tokens: [PrincipalDirectory.Token] = []
        for (index, element) in elements.enumerated() {
            if let token = token(element, at: "\(place)[\(index)]") { tokens.append(token) }
        }
        return tokens
    }

    private mutating func token(_ json: JSON, at place: String) -> PrincipalDirectory.Token? {
        guard case .object(let object) = json else {
            fault(place, "is to be an object")
            return nil
        }
        checkNames(of: object, ["id", "sha256", "expires"], at: place)
        guard let id = object["id"]?.string, TokenText.isID(id) else {
            fault("\(place).id", "is to be \(TokenText.idLength) of a-z 2-7")
            return nil
        }
        guard tokenIDs.insert(id).inserted else {
            fault("\(place).id", "two tokens have the id \(id)")
            return nil
        }
        guard let digest = object["sha256"]?.string.flatMap({ Digest.bytes(hexadecimal: $0) }) else {
            fault("\(place).sha256", "is to be 64 hexadecimal digits: the SHA-256 of the whole token")
            return nil
        }
        guard let expires = object["expires"] else { return .init(id: id, digest: digest) }
        guard let time = expires.string.flatMap({ UTCDate.timestamp($0) }) else {
            fault("\(place).expires", "is to be a date such as 2027-11-24T00:00:00Z")
            return nil
        }
        return .init(id: id, digest: digest, expires: time)
    }
}
