internal import AtomicFile
internal import Glibc
internal import Hub
public import TelltaleModel

/// Edits a file of principals: the whole file is replaced at once, and keeps its mode and its owner.
public struct PrincipalEditor {
    private let file: AtomicFile
    private var path: String { file.path }

    /// An edit that cannot be done, for people.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String

        init(description: String) { self.description = description }

        init(_ failure: AtomicFile.Failure) { description = failure.description }
    }

    /// The purpose of a new token.
    public struct Grant {
        public var name: String
        /// Empty for a principal that exists.
        public var scopes: [String] = []
        public var account: String?
        public var sources: [String] = []
        public var rate: Int?
        public var connections: Int?
        public var expires: Timestamp?

        public init(name: String) {
            self.name = name
        }
    }

    public init(_ path: String) {
        // A link stays one, and what it names is edited.
        file = AtomicFile(Self.resolved(path) ?? path)
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    // MARK: Edits

    /// Adds a token, and its principal where there is none of the name. Makes the file where it is missing.
    ///
    /// - Returns: The token, which is nowhere else.
    public func add(_ grant: Grant) throws(Failure) -> String {
        try editPrincipals { (principals: inout [JSON]) throws(Failure) -> String in
            var used: Set<String> = []
            for principal in principals {
                for token in principal["tokens"]?.array ?? [] { if let id = token["id"]?.string { used.insert(id) } }
            }
            var id = Self.random(TokenText.idLength, of: "abcdefghijklmnopqrstuvwxyz234567")
            while used.contains(id) { id = Self.random(TokenText.idLength, of: "abcdefghijklmnopqrstuvwxyz234567") }
            let text = "tt_\(id)_" + Self.secret()
            var token = JSONObject()
            token["id"] = .string(id)
            token["sha256"] = .string(Hexadecimal.text(Digest.sha256(text)))
            if let expires = grant.expires { token["expires"] = .string(UTCDate.text(expires)) }
            if let index = principals.firstIndex(where: { $0["name"]?.string == grant.name }) {
                try Self.append(.object(token), to: &principals[index], grant)
            } else {
                principals.append(.object(Self.principal(grant, .object(token))))
            }
            return text
        }
    }

    private static func append(_ token: JSON, to principal: inout JSON, _ grant: Grant) throws(Failure) {
        guard case .object(var object) = principal else { return }
        let scopes = Set((object["scopes"]?.array ?? []).compactMap(\.string))
        let differs =
            (!grant.scopes.isEmpty && Set(grant.scopes) != scopes)
            || (grant.account != nil && grant.account != object["account"]?.string) || !grant.sources.isEmpty
            || grant.rate != nil || grant.connections != nil
        guard !differs else {
            throw Failure(
                description:
                    "\(grant.name) is there with other rights; add the token with its name alone, or edit the file")
        }
        guard let tokens = (object["tokens"] ?? []).array else {
            throw Failure(description: "the tokens of \(grant.name) are to be an array of tokens; edit the file")
        }
        object["tokens"] = .array(tokens + [token])
        principal = .object(object)
    }

    private static func principal(_ grant: Grant, _ token: JSON) -> JSONObject {
        var object = JSONObject()
        object["name"] = .string(grant.name)
        object["scopes"] = .array(grant.scopes.map { .string($0) })
        if let account = grant.account { object["account"] = .string(account) }
        if !grant.sources.isEmpty { object["sources"] = .array(grant.sources.map { .string($0) }) }
        if let rate = grant.rate { object["rate"] = .integer(Int64(rate)) }
        if let connections = grant.connections { object["connections"] = .integer(Int64(connections)) }
        object["tokens"] = .array([token])
        return object
    }

    /// Removes the token of an id, or every token of a principal.
    ///
    /// - Returns: The ids of what was removed.
    public func revoke(_ idOrName: String) throws(Failure) -> [String] {
        try editPrincipals { (principals: inout [JSON]) throws(Failure) -> [String] in
            var removed: [String] = []
            for index in principals.indices {
                guard case .object(var object) = principals[index], let tokens = object["tokens"]?.array else {
                    continue
                }
                let isNamed = object["name"]?.string == idOrName
                let kept = tokens.filter { !isNamed && $0["id"]?.string != idOrName }
                guard kept.count < tokens.count else { continue }
                removed += tokens.filter { !kept.contains($0) }.compactMap { $0["id"]?.string }
                object["tokens"] = .array(kept)
                principals[index] = .object(object)
            }
            guard !removed.isEmpty else {
                throw Failure(description: "\(path): no token and no principal with a token is named \(idOrName)")
            }
            return removed
        }
    }

    /// The principals, which hold no secret, and the revocations of signed tokens, as the file has them.
    public func listing() throws(Failure) -> (principals: [JSON], revocations: [JSON]) {
        guard let object = try content() else { throw Failure(description: "\(path): there is no such file") }
        return (try principals(of: object), try revocations(of: object))
    }

    /// Refuses signed tokens from now on. A revocation that the new one contains goes.
    ///
    /// - Throws: ``Failure``, also where the file has no issuer, because no signed token is accepted then.
    public func revoke(_ revocation: Revocation) throws(Failure) {
        try edit { (object: inout JSONObject) throws(Failure) in
            guard object["issuers"]?.array?.isEmpty == false else {
                throw Failure(description: "\(path): the file has no issuers, so there are no signed tokens to revoke")
            }
            let kept = try revocations(of: object).filter { json in
                Revocation(json).map { !revocation.contains($0) } ?? true
            }
            let isContained = kept.contains { Revocation($0)?.contains(revocation) == true }
            object["revoked"] = .array(isContained ? kept : kept + [revocation.json])
        }
    }

    // MARK: The file

    private func revocations(of object: JSONObject) throws(Failure) -> [JSON] {
        guard let json = object["revoked"] else { return [] }
        guard let revoked = json.array else {
            throw Failure(description: "\(path): revoked: is to be an array of revocations")
        }
        return revoked
    }

    private func principals(of object: JSONObject) throws(Failure) -> [JSON] {
        guard let json = object["principals"] else { return [] }
        guard let principals = json.array else {
            throw Failure(description: "\(path): principals: is to be an array of principals")
        }
        return principals
    }

    /// Some ten thousand principals.
    private static let byteCountLimit = 16 << 20

    /// The file's object; `nil` = there is no such file.
    private func content() throws(Failure) -> JSONObject? {
        let bytes: [UInt8]
        do throws(AtomicFile.Failure) {
            guard let content = try file.read(limit: Self.byteCountLimit) else { return nil }
            bytes = content.bytes
        } catch {
            throw Failure(error)
        }
        let json: JSON
        do throws(JSONError) {
            json = try JSONParser().parse(bytes.span)
        } catch {
            throw Failure(description: "\(path): \(error)")
        }
        guard case .object(let object) = json else {
            throw Failure(description: "\(path): the file: is to hold one JSON object")
        }
        return object
    }

    private func edit<Value>(_ body: (inout JSONObject) throws(Failure) -> Value) throws(Failure) -> Value {
        let lock: FolderLock
        do throws(AtomicFile.Failure) { lock = try file.lock() } catch { throw Failure(error) }
        var object = try content() ?? JSONObject()
        if object["version"] == nil { object["version"] = 1 }
        let value = try body(&object)
        if object["principals"] == nil { object["principals"] = .array([]) }
        do throws(PrincipalFaults) {
            _ = try PrincipalReader.read(.object(object))
        } catch {
            throw Failure(description: error.faults.map { "\(path): \($0)" }.joined(separator: "\n"))
        }
        do throws(AtomicFile.Failure) {
            try file.replace(with: Self.text(of: object))
        } catch {
            throw Failure(error)
        }
        _ = consume lock
        return value
    }

    private func editPrincipals<Value>(
        _ body: (inout [JSON]) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try edit { (object: inout JSONObject) throws(Failure) -> Value in
            var principals = try principals(of: object)
            let value = try body(&principals)
            object["principals"] = .array(principals)
            return value
        }
    }

    /// A principal a line, so that a person can read it and a difference is a line.
    private static func text(of object: JSONObject) -> [UInt8] {
        var lines: [String] = []
        for member in object {
            let name = JSON.string(member.name).description
            guard member.name == "principals", let principals = member.value.array, !principals.isEmpty else {
                lines.append("  \(name): \(member.value)")
                continue
            }
            let texts = principals.map { "    \($0)" }
            lines.append("  \(name): [\n" + texts.joined(separator: ",\n") + "\n  ]")
        }
        return Array(("{\n" + lines.joined(separator: ",\n") + "\n}\n").utf8)
    }

    // MARK: Randomness

    /// From the system's generator, which is one for secrets.
    private static func random(_ count: Int, of alphabet: String) -> String {
        let letters = Array(alphabet.utf8)
        return String(decoding: (0..<count).map { _ in letters[Int.random(in: letters.indices)] }, as: UTF8.self)
    }

    /// 256 random bits: 42 digits of 6 bits, and one of 4 bits.
    private static func secret() -> String {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        let last = random(1, of: "AEIMQUYcgkosw048")
        return random(TokenText.secretLength - 1, of: alphabet) + last
    }
}
