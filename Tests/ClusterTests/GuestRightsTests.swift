import Hub
import Server
import TelltaleModel
import Testing

/// What the clients of a following node may do, where the servers know principals: their node says who they are, and the leader
/// checks each request.
struct GuestRightsTests {
    private let cluster: TestCluster
    private let node: TestDaemon
    private static let token = "tt_aaaaaaab_" + String(repeating: "x", count: 43)

    init() throws {
        cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        try #require(cluster.leaders.count == 1)
        node = try #require(cluster.daemons.first { !$0.isLeading })
    }

    /// Every server knows this principal from now on.
    private func know(_ scopes: [String], _ accounts: Principal.Accounts = .none) throws {
        for daemon in cluster.daemons {
            var directory = PrincipalDirectory { Array($0.utf8) }
            let granted = Set(try scopes.map { scope in try #require(Scope(scope)) })
            directory.insert(
                Principal(name: "till", scopes: granted, accounts: accounts),
                tokens: [.init(id: "aaaaaaab", digest: Array(Self.token.utf8))])
            daemon.server?.principalsLoaded(directory)
        }
        cluster.settle()
    }

    private func connect(_ more: String = "") throws -> TestClient {
        let client = node.connect()
        _ = client.take()
        let reply = node.send("HELLO token=\(Self.token)\(more)", from: client)
        try #require(reply.first?.hasPrefix("OK") == true, "\(reply)")
        return client
    }

    private static func codes(_ lines: [String]) -> [String] {
        lines.map { line in
            line.split(separator: " ").first { $0.hasPrefix("code=") }.map(String.init) ?? String(line.prefix(2))
        }
    }

    @Test func `a client may do at the leader what its principal may, and no more`() throws {
        try know(["post:tea/*", "read:*"])
        let lines = node.send(
            "EVT tea/1 type=start\nEVT tea/1 type=pour src=other\nSERVE lamp\nSET lamp/hall value=on\nDONE op=o1\nDISMISS tea/1",
            from: try connect())
        #expect(
            Self.codes(lines) == ["OK"] + Array(repeating: "code=forbidden", count: 5), "\(lines)")
    }

    @Test func `a record names the principal that its node has authenticated`() throws {
        try know(["post:*", "read:*"])
        let client = try connect()
        node.send("EVT tea/1 type=start", from: client)
        #expect(node.send("HISTORY tea/1", from: client).contains { $0.contains(#""by":"till""#) })
    }

    @Test func `a client without a token writes nothing at a node`() throws {
        try know(["post:*"])
        let client = node.connect()
        _ = client.take()
        #expect(Self.codes(node.send("EVT tea/1 type=start", from: client)).first == "code=auth_required")
    }

    @Test func `a principal that loses a right loses it at every node`() throws {
        try know(["post:*", "serve:*", "read:*"])
        let client = try connect()
        #expect(node.send("EVT tea/1 type=start\nSERVE lamp", from: client).map { $0.prefix(2) } == ["OK", "OK"])
        try know(["post:*"])
        cluster.pass(.seconds(1))
        #expect(client.isClosed && client.take().contains { $0.hasPrefix("BYE code=auth_revoked") })
    }

    @Test func `an account of a principal is the account of its client`() throws {
        try know(["post:*", "act:*", "read:*"], .one("alice"))
        let client = try connect()
        node.send("EVT tea/1 type=start for=alice\nEVT tea/2 type=start for=bob", from: client)
        #expect(Self.codes(node.send("DISMISS tea/1\nDISMISS tea/2", from: client)) == ["OK", "code=unknown_key"])
    }
}
