internal import Hub
internal import TelltaleModel

// The members `issuers` and `revoked` of a file of principals.
extension PrincipalReader {
    mutating func issuers(_ json: JSON?) -> [Issuer] {
        guard let json else { return [] }
        guard let elements = json.array else {
            fault("issuers", "is to be an array of issuers")
            return []
        }
        var issuers: [Issuer] = []
        for (index, element) in elements.enumerated() {
            let place = "issuers[\(index)]"
            guard case .object(let object) = element else {
                fault(place, "is to be an object")
                continue
            }
            guard let issuer = issuer(object, at: place) else { continue }
            if issuers.contains(where: { $0.host == issuer.host }) {
                fault(
                    "\(place).issuer", "two issuers have the host \(issuer.host), so their principals would be the same"
                )
            }
            issuers.append(issuer)
        }
        return issuers
    }

    private mutating func issuer(_ object: JSONObject, at place: String) -> Issuer? {
        checkNames(
            of: object, ["issuer", "audience", "keys", "scopes", "maxLifetime", "rate", "connections"], at: place)
        let name = text(object["issuer"], at: "\(place).issuer")
        let audience = text(object["audience"], at: "\(place).audience")
        let keys = keys(object["keys"], at: "\(place).keys")
        let scopes = scopes(object["scopes"], at: "\(place).scopes")
        let rate = limit(object["rate"], at: "\(place).rate")
        let connections = limit(object["connections"], at: "\(place).connections")
        guard let span = object["maxLifetime"]?.string.flatMap(Self.span) else {
            fault("\(place).maxLifetime", "is to be a span such as 15m, 24h or 7d")
            return nil
        }
        guard let name, let audience else { return nil }
        var issuer = Issuer(name: name, audience: audience, keys: keys, scopes: scopes, maxLifetime: span)
        issuer.rate = rate
        issuer.connections = connections
        guard Principal.isName("\(issuer.host)/x"), !issuer.host.isEmpty else {
            fault("\(place).issuer", "is to be a URL whose host is a name, or such a name")
            return nil
        }
        return issuer
    }

    private mutating func text(_ json: JSON?, at place: String) -> String? {
        guard let text = json?.string, Self.isValue(text) else {
            fault(place, "is to be a text of 1 to 256 visible ASCII characters")
            return nil
        }
        return text
    }

    private mutating func keys(_ json: JSON?, at place: String) -> [SignatureKey] {
        guard let elements = json?.array, !elements.isEmpty else {
            fault(place, "is to be an array of JSON Web Keys")
            return []
        }
        var keys: [SignatureKey] = []
        for (index, element) in elements.enumerated() {
            do throws(SignatureKey.Fault) {
                keys.append(try SignatureKey(element))
            } catch {
                fault("\(place)[\(index)]", error.description)
            }
        }
        guard keys.count > 1 else { return keys }
        var names: Set<String> = []
        for (index, key) in keys.enumerated() {
            guard let name = key.name else {
                fault("\(place)[\(index)].kid", "is missing: where there are several keys, a token names its own")
                continue
            }
            if !names.insert(name).inserted { fault("\(place)[\(index)].kid", "two keys have one kid") }
        }
        return keys
    }

    /// A number of seconds, minutes, hours or days: `90s`, `15m`, `24h`, `7d`; ten years at most.
    static func span(_ text: String) -> Milliseconds? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), text.utf8.first.map({ $0 != UInt8(ascii: "+") }) == true,
            let count = Int64(text.dropLast()), (1...315_360_000).contains(count), count * unit <= 315_360_000
        else { return nil }
        return .seconds(count * unit)
    }

    // MARK: Revoked

    mutating func revocations(_ json: JSON?) -> [Revocation] {
        guard let json else { return [] }
        guard let elements = json.array else {
            fault("revoked", "is to be an array of revocations")
            return []
        }
        var revocations: [Revocation] = []
        for (index, element) in elements.enumerated() {
            if let revocation = revocation(element, at: "revoked[\(index)]") { revocations.append(revocation) }
        }
        return revocations
    }

    private mutating func revocation(_ json: JSON, at place: String) -> Revocation? {
        guard case .object(let object) = json else {
            fault(place, "is to be an object")
            return nil
        }
        checkNames(of: object, ["jti", "sub", "issuedBefore"], at: place)
        if let revocation = Revocation(json) { return revocation }
        if object["jti"] == nil, object["sub"]?.string != nil {
            fault("\(place).issuedBefore", "is to be a date in seconds since 1970")
        } else {
            fault(place, "is to have jti, or sub and perhaps issuedBefore")
        }
        return nil
    }
}
