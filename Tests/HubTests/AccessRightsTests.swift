import Hub
import TelltaleModel
import Testing

/// Connections whose principal changes in the file, whose token expires, and that say `HELLO` again.
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

    @Test(
        "Rights that cover those before keep a connection",
        arguments: [
            (["read:coffee-order/*"], Principal.Accounts.one("alice"), ["read:*"], Principal.Accounts.one("alice")),
            (["read:coffee-order/1"], .one("alice"), ["read:coffee-order/*", "stats"], .one("alice")),
            (["read:*"], .one("alice"), ["read:*"], .any), (["post:*", "stats"], .none, ["admin"], .none),
            (["post:coffee-order/1*"], .none, ["post:coffee-order/*"], .any),
            (["serve:porch-light"], .none, ["serve:*"], .none),
        ] as [([String], Principal.Accounts, [String], Principal.Accounts)])
    func wider(
        scopes: [String], accounts: Principal.Accounts, newScopes: [String], newAccounts: Principal.Accounts
    ) throws {
        #expect(try stays(Self.principal("p", scopes, accounts), as: Self.principal("p", newScopes, newAccounts)))
    }

    @Test(
        "Rights that cover less, or another account, end a connection",
        arguments: [
            (["read:*"], Principal.Accounts.one("alice"), ["read:coffee-order/*"], Principal.Accounts.one("alice")),
            (["read:*"], .one("alice"), ["read:*"], .one("bob")), (["read:*"], .any, ["read:*"], .one("alice")),
            (["read:*", "stats"], .any, ["read:*"], .any), (["admin"], .none, ["post:*", "stats"], .none),
            // A connection without an account would see those of all.
            (["post:*"], .none, ["post:*", "read:*"], .one("alice")),
        ] as [([String], Principal.Accounts, [String], Principal.Accounts)])
    func fewer(
        scopes: [String], accounts: Principal.Accounts, newScopes: [String], newAccounts: Principal.Accounts
    ) throws {
        #expect(try !stays(Self.principal("p", scopes, accounts), as: Self.principal("p", newScopes, newAccounts)))
    }

    private func stays(_ old: Principal, as new: Principal) throws -> Bool {
        var access = try AccessHarness()
        let token = access.insert(old)
        let client = access.connect(with: token)
        var directory = PrincipalDirectory { Array($0.utf8) }
        directory.insert(new, tokens: [.init(id: "aaaaaaab", digest: Array(token.utf8))])
        access.harness.hub.principalsLoaded(directory)
        access.harness.turn()
        return !client.isFinished
    }

    @Test func `the answer to HELLO reports the rate of a principal that has one`() throws {
        var access = try AccessHarness()
        var limited = try Self.principal("slow", ["stats"])
        limited.rate = 10
        for (principal, more) in [(limited, " rate=10"), (try Self.principal("free", ["stats"]), "")] {
            let token = access.insert(principal)
            let reply = access.harness.send("HELLO token=\(token)", from: access.harness.connect())
            #expect(reply.first?.hasSuffix(" principal=\(principal.name)\(more)") == true, "\(reply)")
        }
    }

    @Test func `HELLO of a connection that has a principal counts against its rate`() throws {
        var access = try AccessHarness()
        var limited = try Self.principal("slow", ["stats"])
        limited.rate = 10
        let token = access.insert(limited)
        let client = access.connect(with: token)
        for _ in 1...20 {
            #expect(access.harness.send("HELLO token=\(token)", from: client).first?.hasPrefix("OK ") == true)
        }
        let refusal = access.harness.send("HELLO id=a token=\(token)", from: client)
        #expect(refusal.first?.hasPrefix("ERR id=a code=limit_rate retry=later {\"msg\":") == true, "\(refusal)")
        #expect(refusal.first?.hasSuffix(#""wait":100}"#) == true, "\(refusal)")
        access.harness.advance(by: Milliseconds(100))
        #expect(access.harness.send("HELLO token=\(token)", from: client).first?.hasPrefix("OK ") == true)
        #expect(!client.isFinished)
    }

    @Test func `an expiry is noticed within a second of a clock that was set ahead, and not before its time`() throws {
        var access = try AccessHarness()
        let principal = try Self.principal("p", ["stats"])
        let soon = access.insert(principal, expires: access.harness.time + .seconds(3_600))
        let late = access.insert(principal, expires: access.harness.time + .seconds(7_200))
        let (short, long) = (access.connect(with: soon), access.connect(with: late))
        access.harness.leap(by: .seconds(3_599))
        access.harness.advance(by: Milliseconds(999))
        #expect(!short.isFinished)
        access.harness.advance(by: Milliseconds(1))
        #expect(access.harness.lines(of: short) == ["BYE code=auth_expired"] && short.isFinished)
        access.harness.leap(by: .seconds(3_600))
        access.harness.advance(by: .seconds(1))
        #expect(access.harness.lines(of: long) == ["BYE code=auth_expired"] && long.isFinished)
    }
}
