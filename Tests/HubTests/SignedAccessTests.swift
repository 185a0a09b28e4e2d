import Hub
import TelltaleModel
import TestSupport
import Testing

/// Issuers whose tokens are `NAME.SCOPES.LIFE`, in seconds from the moment at which they are looked at.
private struct FakeIssuers: TokenIssuers {
    var revoked: Set<String> = []
    var scopes: Set<Scope> = [.read(.all), .stats]

    static let leeway = Milliseconds.seconds(30)

    func assertion(of text: String, at wall: Timestamp) throws(AssertionRefusal) -> Assertion {
        let parts = text.split(separator: ".").map(String.init)
        guard parts.count == 3, let life = Int64(parts[2]) else { throw AssertionRefusal("has not three parts") }
        guard !revoked.contains(parts[0]) else { throw AssertionRefusal("of \(parts[0]) was revoked") }
        let asked = Set(parts[1].split(separator: "+").compactMap { Scope(String($0)) })
        var claims = SignedClaims(
            issuer: "i", subject: parts[0], audiences: [], scopes: asked, issued: wall, expires: wall + .seconds(life))
        claims.account = "alice"
        return assertion(of: claims)
    }

    func renewed(_ assertion: Assertion) -> Assertion? {
        revoked.contains(assertion.claims.subject) ? nil : self.assertion(of: assertion.claims)
    }

    private func assertion(of claims: SignedClaims) -> Assertion {
        var principal = Principal(name: "i/\(claims.subject)", scopes: claims.scopes.intersection(scopes))
        principal.accounts = .one("alice")
        principal.connections = 2
        return Assertion(principal: principal, claims: claims, key: 0, leeway: Self.leeway)
    }
}

struct SignedAccessTests {
    private static func harness(_ issuers: FakeIssuers = FakeIssuers()) throws -> HubHarness {
        let harness = try HubHarness()
        load(issuers, harness)
        return harness
    }

    private static func load(_ issuers: FakeIssuers, _ harness: HubHarness) {
        var directory = PrincipalDirectory { Array($0.utf8) }
        directory.issuers = issuers
        harness.hub.principalsLoaded(directory)
    }

    @Test func `a signed token is told its principal, its account, and when it expires`() throws {
        let harness = try Self.harness()
        let until = harness.time + .seconds(60)
        #expect(
            harness.send("HELLO id=1 {\"token\":\"car.read:*.60\"}", from: harness.connect()) == [
                "OK id=1 conn=c1 hb=20000 principal=i/car account=alice until=\(until.milliseconds)"
            ])
    }

    @Test func `a connection ends when its signed token has expired, after the time that clocks may differ`() throws {
        let harness = try Self.harness()
        let client = harness.connect()
        harness.send("HELLO token=car.stats.5", from: client)
        for _ in 1...34 { harness.advance(by: .seconds(1)) }
        #expect(harness.send("STATS", from: client).last?.hasPrefix("OK ") == true)
        for _ in 1...2 { harness.advance(by: .seconds(1)) }
        #expect(harness.lines(of: client).last == "BYE code=auth_expired" && client.isFinished)
    }

    @Test func `a revoked subject ends, and is told what every bad token is told`() throws {
        let harness = try Self.harness()
        let (client, other) = (harness.connect(), harness.connect())
        harness.send("HELLO token=car.read:*.60", from: client)
        harness.send("HELLO token=watch.read:*.60", from: other)
        harness.send("SUB *", from: client)
        Self.load(FakeIssuers(revoked: ["car"]), harness)
        harness.turn()
        #expect(harness.lines(of: client).last == "BYE code=auth_revoked" && client.isFinished)
        #expect(!other.isFinished)
        #expect(
            harness.send("HELLO token=car.read:*.60", from: harness.connect()) == [
                #"ERR code=auth_failed retry=auth {"msg":"this token is not accepted; ask for a new one"}"#
            ])
        #expect(harness.takeReports().contains { $0.contains("i/car was revoked") || $0.contains("car was revoked") })
    }

    @Test func `no reply overtakes one that a revoked connection is not given`() throws {
        let harness = try Self.harness()
        let client = harness.connect()
        harness.send("HELLO token=car.read:*.60", from: client)
        harness.post("PING id=1", from: client)
        harness.post("LIST", from: client)
        harness.post("PING id=2", from: client)
        harness.commit()
        Self.load(FakeIssuers(revoked: ["car"]), harness)
        harness.turn()
        #expect(harness.lines(of: client) == ["PONG id=1", "BYE code=auth_revoked"])
    }

    @Test func `issuers that are gone take their connections with them`() throws {
        let harness = try Self.harness()
        let client = harness.connect()
        harness.send("HELLO token=car.read:*.60", from: client)
        harness.hub.principalsLoaded(PrincipalDirectory { Array($0.utf8) })
        harness.turn()
        #expect(harness.lines(of: client) == ["BYE code=auth_revoked"])
        #expect(
            harness.send("HELLO token=car.read:*.60", from: harness.connect()).first?.contains("auth_failed") == true)
    }

    @Test func `an issuer that grants less ends connections that had more, and no others`() throws {
        let harness = try Self.harness()
        let (both, one) = (harness.connect(), harness.connect())
        harness.send("HELLO token=a.read:*+stats.60", from: both)
        harness.send("HELLO token=b.read:*.60", from: one)
        Self.load(FakeIssuers(scopes: [.read(.all)]), harness)
        harness.turn()
        #expect(harness.lines(of: both) == ["BYE code=auth_revoked"])
        #expect(harness.send("GET coffee-order/1", from: one).first?.contains("unknown_key") == true)
    }

    @Test func `a newer token keeps the connection, unless it has fewer rights`() throws {
        let harness = try Self.harness()
        let client = harness.connect()
        harness.send("HELLO token=a.read:*.5", from: client)
        #expect(
            harness.send("HELLO token=a.stats.600", from: client).first?.hasPrefix("ERR code=forbidden") == true)
        #expect(harness.send("HELLO token=a.read:*+stats.600", from: client).first?.hasPrefix("OK ") == true)
        for _ in 1...60 { harness.advance(by: .seconds(1)) }
        #expect(harness.send("STATS", from: client).last?.hasPrefix("OK ") == true)
    }

    @Test func `the connections of one subject are counted together`() throws {
        let harness = try Self.harness()
        for _ in 1...2 { harness.send("HELLO token=a.stats.60", from: harness.connect()) }
        #expect(harness.send("HELLO token=a.stats.60", from: harness.connect()).first?.contains("limit_conns") == true)
        #expect(harness.send("HELLO token=b.stats.60", from: harness.connect()).first?.hasPrefix("OK ") == true)
    }
}
