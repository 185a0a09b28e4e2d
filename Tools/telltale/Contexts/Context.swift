import TelltaleModel

/// A daemon under a name chosen by the user: its address and this user's credentials.
struct Context {
    /// As `--connect` takes it.
    var connect: String
    /// The path of a file that holds the token.
    var tokenFile: String?
    /// The token itself. It is never printed.
    var token: String?
    /// The path of a PEM file of authorities.
    var authorities: String?
    var account: String?

    private static let members = ["connect", "token_file", "token", "ca", "account"]

    init(connect: String) { self.connect = connect }

    /// - Throws: ``ContextFailure`` with what is wrong, without a value of the file, which may be a secret.
    init(_ json: JSON) throws(ContextFailure) {
        guard let object = json.object else { throw ContextFailure("it is no JSON object") }
        for member in object where !Self.members.contains(member.name) {
            throw ContextFailure(
                "it has an unknown member \"\(member.name)\"; there are \(Self.members.joined(separator: ", "))")
        }
        func text(_ name: String) throws(ContextFailure) -> String? {
            guard let value = object[name] else { return nil }
            guard let text = value.string, !text.isEmpty else { throw ContextFailure("\"\(name)\" is to be a text") }
            return text
        }
        guard let connect = try text("connect") else { throw ContextFailure("\"connect\" is missing") }
        self.init(connect: connect)
        tokenFile = try text("token_file")
        token = try text("token")
        authorities = try text("ca")
        account = try text("account")
    }

    /// For the file; ``shown(_:isSelected:)`` is for people.
    var json: JSON {
        var object = JSONObject()
        object["connect"] = .string(connect)
        object["token_file"] = tokenFile.map(JSON.string)
        object["token"] = token.map(JSON.string)
        object["ca"] = authorities.map(JSON.string)
        object["account"] = account.map(JSON.string)
        return .object(object)
    }

    /// Without the token; it only shows that there is one.
    func shown(_ name: String, isSelected: Bool) -> JSON {
        var object = JSONObject()
        object["name"] = .string(name)
        object["selected"] = .bool(isSelected)
        object["connect"] = .string(connect)
        object["token_file"] = tokenFile.map(JSON.string)
        object["has_token"] = .bool(token != nil || tokenFile != nil)
        object["ca"] = authorities.map(JSON.string)
        object["account"] = account.map(JSON.string)
        return .object(object)
    }
}

/// Why a context cannot be read or stored, for people.
struct ContextFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
