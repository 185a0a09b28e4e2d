import Hub
import TelltaleModel
import Testing

/// What becomes of a connection when its principal's file changes, when its token expires, and when it says `HELLO` again.
struct AccessRightsTests {
    private static func principal(
        _ name: String, _ scopes: [String], _ accounts: Principal.Accounts = .none
    ) throws -> Principal {
        Principal(name: name, scopes: Set(try scopes.map { try #require(Scope($0)) }), accounts: accounts)
    }

    @Test func `a connection made with a secret that was replaced ends`() throws {
        var access = try AccessHarness()
        let token = access.insert(try Self.principal("p", ["stats"]))
        let client = access.connect(with: token)
        let other = String(token.dropLast()) + "y"
        var directory = PrincipalDirectory { Array($0.utf8) }
        directory.insert(
            try Self.principal("p", ["stats"]), tokens: [.init(id: "aaaaaaab", digest: Array(other.utf8))])
        access.harness.hub.principalsLoaded(directory)
        access.harness.turn()
        #expect(access.harness.lines(of: client) == ["BYE code=auth_revoked"] && client.isFinished)
        #expect(access.connect(with: other).isFinished == false)
    }
}
