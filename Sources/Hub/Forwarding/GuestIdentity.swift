internal import TelltaleModel

/// What the leader has to know of a client whose requests another node forwards.
struct GuestIdentity: Hashable, Sendable {
    var client: String?
    var account: String?
    var isLocked = false
    /// For whom the client acts; `nil` on a server without tokens. The node has authenticated it.
    var principal: Principal?
    /// The kinds that the client serves.
    var served: [String] = []

    init(client: String? = nil, account: String? = nil, isLocked: Bool = false, principal: Principal? = nil) {
        (self.client, self.account, self.isLocked, self.principal) = (client, account, isLocked, principal)
    }

    init?(_ json: JSONObject) {
        client = json["client"]?.string
        account = json["account"]?.string
        isLocked = json["locked"] == .bool(true)
        served = Self.texts(json["serves"])
        guard let principal = json["principal"]?.object else { return }
        guard let name = principal["name"]?.string else { return nil }
        self.principal = Principal(name: name, scopes: Set(Self.texts(principal["scopes"]).compactMap { Scope($0) }))
        self.principal?.sources = Self.texts(principal["sources"])
        if let account = principal["account"]?.string { self.principal?.accounts = .one(account) }
        if principal["account"] == .bool(true) { self.principal?.accounts = .any }
    }

    var json: JSONObject {
        var json = JSONObject()
        if let client { json["client"] = .string(client) }
        if let account { json["account"] = .string(account) }
        if isLocked { json["locked"] = .bool(true) }
        if !served.isEmpty { json["serves"] = .array(served.map { .string($0) }) }
        guard let principal else { return json }
        var member = JSONObject()
        member["name"] = .string(principal.name)
        member["scopes"] = .array(principal.scopes.map(\.description).sorted().map { .string($0) })
        member["sources"] = .array(principal.sources.map { .string($0) })
        switch principal.accounts {
        case .none: break
        case .one(let account): member["account"] = .string(account)
        case .any: member["account"] = .bool(true)
        }
        json["principal"] = .object(member)
        return json
    }

    private static func texts(_ json: JSON?) -> [String] { json?.array?.compactMap(\.string) ?? [] }
}
