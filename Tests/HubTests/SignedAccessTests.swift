import Hub
import Synchronization
import TelltaleModel
import Testing

/// Issuers whose tokens are `NAME.SCOPES.LIFE`, in seconds from the moment at which they are looked at.
private struct FakeIssuers: TokenIssuers {
    var revoked: Set<String> = []
    var scopes: Set<Scope> = [.read(.all), .stats]
    var rate: Int?
    let counter = Counter()

    final class Counter: Sendable {
        private let value = Mutex(0)

        func add() { value.withLock { $0 += 1 } }
        /// Of tokens whose signatures were looked at.
        var count: Int { value.withLock { $0 } }
    }

    static let leeway = Milliseconds.seconds(30)

    func assertion(of text: String, at wall: Timestamp) throws(AssertionRefusal) -> Assertion {
        counter.add()
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
        principal.rate = rate
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

    @Test func `a signed token is sent its principal, its account, and when it expires`() throws {
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

    @Test func `a revoked subject ends, and is sent what every bad token is reported`() throws {
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

    // MARK: Checks

    @Test func `the loop checks no signature, however many strangers bring one, and others are answered meanwhile`()
        throws
    {
        let issuers = FakeIssuers(revoked: ["eve"])
        let harness = try Self.harness(issuers)
        let calm = harness.connect()
        harness.send("HELLO token=car.read:*+stats.60", from: calm)
        let before = issuers.counter.count
        harness.holdsChecks = true
        let strangers = (0..<1_500).map { _ in harness.connect() }
        for stranger in strangers { for _ in 1...3 { harness.post("HELLO token=eve.stats.60", from: stranger) } }
        #expect(harness.send("STATS id=1", from: calm).first?.hasPrefix("OK id=1 ") == true)
        #expect(issuers.counter.count == before)
        // Nobody waits for a decision: the loop would spin.
        holds(harness.hub.waitingCount == 0 && !harness.hub.hasWork(at: harness.now))
        // A connection has one check at a time.
        for round in 1...3 {
            #expect(harness.checkTokens() == 1_500)
            #expect(issuers.counter.count == before + round * 1_500)
        }
        #expect(harness.checkTokens() == 0)
        #expect(strangers.allSatisfy { $0.isFinished })
        #expect(strangers.allSatisfy { stranger in harness.lines(of: stranger).count == 3 })
    }

    @Test func `what a connection says behind a token waits for its check, and is answered in order`() throws {
        let harness = try Self.harness()
        harness.holdsChecks = true
        let client = harness.connect()
        harness.send("PING id=0", from: client)
        for line in ["HELLO id=1 token=car.read:*.60", "PING id=2", "HELLO id=3 token=car.read:*+stats.60"] {
            harness.post(line, from: client)
        }
        harness.turn()
        harness.post("PING id=4", from: client)
        harness.turn()
        #expect(harness.lines(of: client) == [])
        harness.checkTokens()
        #expect(harness.lines(of: client).map { String($0.prefix(9)) } == ["OK id=1 c", "PONG id=2"])
        harness.checkTokens()
        #expect(harness.lines(of: client).map { String($0.prefix(9)) } == ["OK id=3 c", "PONG id=4"])
    }

    @Test func `a token that is revoked while it is checked is not accepted`() throws {
        let harness = try Self.harness()
        harness.holdsChecks = true
        let client = harness.connect()
        harness.send("HELLO token=car.read:*.60", from: client)
        Self.load(FakeIssuers(revoked: ["car"]), harness)
        harness.turn()
        // The good verdict of before, then the bad one.
        for _ in 1...2 { harness.checkTokens() }
        #expect(harness.lines(of: client).first?.hasPrefix("ERR code=auth_failed") == true)
    }

    @Test func `a verdict means nothing to a connection that is gone, that ends, or that has it already`() throws {
        let harness = try Self.harness()
        let late = harness.connect()
        harness.send("HELLO token=eve.stats.60", from: late)
        harness.holdsChecks = true
        let gone = harness.connect()
        for client in [gone, late] { harness.send("HELLO token=car.stats.60", from: client) }
        harness.disconnect(gone)
        let next = harness.connect()
        #expect(next.id.slot == gone.id.slot)
        Self.load(FakeIssuers(revoked: ["eve"]), harness)
        harness.turn()
        #expect(harness.lines(of: late) == ["BYE code=auth_revoked"] && late.isFinished)
        #expect(harness.checkTokens() == 2)
        #expect(harness.lines(of: late) == [])
        holds(!harness.hub.hasWork(at: harness.now))
    }

    @Test
    func `a connection whose token waits for its check is not late, and has its ten seconds again when that is bad`()
        throws
    {
        let harness = try Self.harness(FakeIssuers(revoked: ["eve"]))
        harness.holdsChecks = true
        let (good, bad, silent) = (harness.connect(), harness.connect(), harness.connect())
        harness.send("HELLO token=car.stats.600", from: good)
        harness.send("HELLO token=eve.stats.600", from: bad)
        for _ in 1...60 { harness.advance(by: .seconds(1)) }
        #expect(silent.isFinished && !good.isFinished && !bad.isFinished)
        // The loop would spin.
        holds(harness.hub.nextSessionDeadline.map { $0 > harness.now.monotonic } != false)
        #expect(harness.checkTokens() == 2)
        #expect(harness.lines(of: good).last?.hasPrefix("OK conn=") == true)
        #expect(harness.lines(of: bad).last?.hasPrefix("ERR code=auth_failed") == true)
        harness.advance(by: Milliseconds(9_999))
        #expect(!bad.isFinished)
        harness.advance(by: Milliseconds(1))
        #expect(bad.isFinished && harness.lines(of: bad).last?.hasPrefix("ERR code=auth_required") == true)
        #expect(!good.isFinished)
    }

    @Test func `good tokens for the account of another keep no connection open: the third one ends it`() throws {
        let harness = try Self.harness()
        harness.holdsChecks = true
        let client = harness.connect()
        for attempt in 1...3 {
            harness.send("HELLO token=car.stats.600 account=bob", from: client)
            for _ in 1...11 { harness.advance(by: .seconds(1)) }
            #expect(!client.isFinished && harness.checkTokens() == 1)
            let reply = harness.lines(of: client).last
            #expect(reply?.hasPrefix("ERR code=forbidden") == true && client.isFinished == (attempt == 3))
        }
    }

    @Test func `a token that is refused in time does not prolong the ten seconds`() throws {
        let harness = try Self.harness(FakeIssuers(revoked: ["eve"]))
        let client = harness.connect()
        harness.advance(by: .seconds(9))
        harness.send("HELLO token=eve.stats.60", from: client)
        harness.advance(by: .seconds(1))
        #expect(client.isFinished)
    }

    @Test func `a connection whose newer token waits for its check does not expire before that is refused`() throws {
        let harness = try Self.harness(FakeIssuers(revoked: ["eve"]))
        let (renewed, refused) = (harness.connect(), harness.connect())
        for client in [renewed, refused] { harness.send("HELLO token=car.stats.5", from: client) }
        harness.holdsChecks = true
        harness.send("HELLO token=car.stats.600", from: renewed)
        harness.send("HELLO token=eve.stats.600", from: refused)
        for _ in 1...60 { harness.advance(by: .seconds(1)) }
        #expect(!renewed.isFinished && !refused.isFinished)
        #expect(harness.checkTokens() == 2)
        #expect(harness.lines(of: renewed).last?.hasPrefix("OK conn=") == true && !renewed.isFinished)
        harness.advance(by: .seconds(1))
        let last = harness.lines(of: refused).suffix(2)
        #expect(last.first?.hasPrefix("ERR code=auth_failed") == true && last.last == "BYE code=auth_expired")
        #expect(refused.isFinished)
        for _ in 1...700 { harness.advance(by: .seconds(1)) }
        #expect(harness.lines(of: renewed).last == "BYE code=auth_expired")
    }

    @Test func `tokens that are sent one after another do not keep an expired connection`() throws {
        let harness = try Self.harness()
        let client = harness.connect()
        harness.send("HELLO token=car.stats+read:*.5", from: client)
        harness.holdsChecks = true
        // They are good, and have fewer rights than the one before.
        for _ in 1...3 { harness.send("HELLO token=car.stats.600", from: client) }
        for _ in 1...60 { harness.advance(by: .seconds(1)) }
        #expect(!client.isFinished && harness.checkTokens() == 1)
        harness.advance(by: .seconds(1))
        let last = harness.lines(of: client).suffix(2)
        #expect(last.first?.hasPrefix("ERR code=forbidden") == true && last.last == "BYE code=auth_expired")
        #expect(client.isFinished)
    }

    @Test func `a token that replaced issuers refused is checked by those in force, and counted once`() throws {
        var issuers = FakeIssuers(revoked: ["car"])
        issuers.rate = 1
        let harness = try Self.harness(issuers)
        let (client, guest) = (harness.connect(), harness.connect())
        harness.send("HELLO token=watch.stats.60", from: client)
        harness.holdsChecks = true
        harness.send("HELLO token=watch.stats.x", from: client)
        harness.send("HELLO token=car.stats.60", from: guest)
        issuers.revoked = []
        Self.load(issuers, harness)
        harness.turn()
        #expect(harness.checkTokens() == 2 && harness.lines(of: guest) == [] && harness.lines(of: client) == [])
        // The first verdicts of those in force are the last.
        #expect(harness.checkTokens() == 2 && harness.checkTokens() == 0)
        #expect(harness.lines(of: guest).first?.hasPrefix("OK conn=") == true)
        #expect(harness.lines(of: client).first?.hasPrefix("ERR code=auth_failed") == true)
        // The bucket holds two, and the check took one.
        #expect(harness.send("PING", from: client) == ["PONG"])
        #expect(harness.send("PING", from: client).first?.contains("limit_rate") == true)
    }

    @Test func `a token that waits while its issuers go is refused`() throws {
        let harness = try Self.harness()
        harness.holdsChecks = true
        let client = harness.connect()
        harness.send("HELLO token=car.read:*.60", from: client)
        harness.hub.principalsLoaded(PrincipalDirectory { Array($0.utf8) })
        harness.checkTokens()
        #expect(harness.lines(of: client).first?.hasPrefix("ERR code=auth_failed") == true)
    }

    @Test func `a principal that is over its rate has nothing checked, and a check is counted once`() throws {
        var issuers = FakeIssuers()
        issuers.rate = 2
        let harness = try Self.harness(issuers)
        let client = harness.connect()
        harness.send("HELLO token=car.stats.60", from: client)
        // The bucket holds those of two seconds.
        let answers = (1...6).map { _ in harness.send("HELLO token=car.stats.60", from: client).first ?? "" }
        #expect(answers.filter { $0.hasPrefix("OK ") }.count == 4)
        #expect(answers.suffix(2).allSatisfy { $0.hasPrefix("ERR code=limit_rate") })
        #expect(issuers.counter.count == 5)
    }

    @Test func `a flood of bad tokens is eight lines of the log in a second`() throws {
        let harness = try Self.harness(FakeIssuers(revoked: ["eve"]))
        func failures(_ count: Int) -> Int {
            for _ in 0..<count { harness.send("HELLO token=eve.stats.60", from: harness.connect()) }
            return harness.takeReports().count
        }
        #expect(failures(100) == 8)
        harness.advance(by: .seconds(1))
        #expect(failures(100) == 8)
    }
}
