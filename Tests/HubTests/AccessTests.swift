import Hub
import Journal
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// A hub with principals. A token is its own digest here.
struct AccessHarness {
    let harness: HubHarness
    private var directory = PrincipalDirectory { Array($0.utf8) }
    private var count = 0

    static let toggle = """
        {"kind":"porch-light","type":"toggle","version":1,"app":"com.example.home","title":"Porch light",
         "instances":[{"id":"front"}],"states":{"on":{"title":"On"},"off":{"title":"Off"}}}
        """

    init(kinds: [String] = [HubHarness.coffee]) throws {
        harness = try HubHarness(kinds: kinds)
        harness.hub.principalsLoaded(directory)
    }

    /// Adds a principal.
    ///
    /// - Returns: Its token.
    mutating func insert(_ principal: Principal, expires: Timestamp? = nil) -> String {
        count += 1
        let id = "aaaaaaa\(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"][count])"
        let token = "tt_\(id)_" + String(repeating: "x", count: 43)
        directory.insert(principal, tokens: [.init(id: id, digest: Array(token.utf8), expires: expires)])
        harness.hub.principalsLoaded(directory)
        return token
    }

    mutating func removeAll() {
        directory = PrincipalDirectory { Array($0.utf8) }
        harness.hub.principalsLoaded(directory)
    }

    func connect(with token: String, _ more: String = "") -> HubHarness.Client {
        let client = harness.connect()
        let reply = harness.send("HELLO token=\(token)\(more)", from: client)
        #expect(reply.first?.hasPrefix("OK ") == true, "\(reply)")
        return client
    }
}

struct AccessTests {
    private static func principal(
        _ name: String, _ scopes: [String], _ accounts: Principal.Accounts = .none
    ) throws -> Principal {
        Principal(name: name, scopes: Set(try scopes.map { try #require(Scope($0)) }), accounts: accounts)
    }

    @Test func `the table of requests and scopes holds`() throws {
        let table = try TableFile("Line/access.table")
        let header = try #require(table.rows.first).cells
        var verbs: Set<String> = []
        for row in table.rows.dropFirst() {
            verbs.insert(String(row[0].prefix { $0 != " " }))
            for column in 1..<header.count - 1 { try check(row, under: header[column], is: row[column]) }
        }
        #expect(verbs == Set(Verb.allCases.map(\.rawValue)))
    }

    private func check(_ row: TableFile.Row, under scope: String, is expected: String) throws {
        var access = try AccessHarness()
        let client: HubHarness.Client
        if scope == "-" {
            client = access.harness.connect()
        } else {
            let accounts: Principal.Accounts =
                scope.hasPrefix("read:") || scope.hasPrefix("act:") ? .one("alice") : .none
            client = access.connect(with: access.insert(try Self.principal("p", [scope], accounts)))
        }
        let reply = access.harness.send(row[0] + " id=x", from: client).joined(separator: "\n")
        let refusal = scope == "-" ? "ERR id=x code=auth_required retry=auth" : "ERR id=x code=forbidden retry=no"
        let isRefused =
            reply.hasPrefix(refusal) && (scope == "-" || reply.contains("\"need\":\"\(row.cells.last ?? "")\""))
        let isAllowed = !reply.contains("code=auth") && !reply.contains("\"need\":")
        #expect(expected == "yes" ? isAllowed : isRefused, "\(row) under \(scope): \(reply)")
    }

    @Test func `without principals a token means nothing, and every verb is free`() throws {
        let harness = try HubHarness()
        let client = harness.connect()
        #expect(harness.send("HELLO id=1 token=tt_x", from: client).last == "OK id=1 conn=c1 hb=20000 ignored=token")
        #expect(
            harness.send("EVT coffee-order/1 type=start", from: client) == ["OK verdict=applied rev=3 state=placed"])
    }

    @Test func `a greeting says that a token is wanted, and HELLO says what it gave`() throws {
        var access = try AccessHarness()
        let until = Timestamp(milliseconds: 1_763_719_300_000)
        let token = access.insert(try Self.principal("car", ["read:*"], .one("alice")), expires: until)
        let client = access.harness.connect()
        #expect(
            access.harness.send("HELLO id=1 {\"token\":\"\(token)\"}", from: client) == [
                "OK id=1 conn=c1 hb=20000 principal=car account=alice until=1763719300000"
            ])
    }

    @Test func `four bad tokens are answered alike, and the third ends the connection`() throws {
        var access = try AccessHarness()
        let good = access.insert(try Self.principal("p", ["stats"]))
        let old = access.insert(try Self.principal("q", ["stats"]), expires: access.harness.time)
        let unknown = "tt_zzzzzzzz_" + String(repeating: "x", count: 43)
        let wrong = String(good.dropLast()) + "y"
        var replies: Set<String> = []
        for bad in ["garbage", old, unknown, wrong] {
            let client = access.harness.connect()
            replies.formUnion(access.harness.send("HELLO token=\(bad)", from: client))
            #expect(!client.isFinished)
        }
        #expect(replies.count == 1, "\(replies)")
        let client = access.harness.connect()
        for _ in 1...2 { access.harness.send("HELLO token=\(wrong)", from: client) }
        access.harness.post("HELLO token=\(wrong)", from: client)
        let last = access.harness.send("HELLO token=\(good)", from: client)
        #expect(last.count == 1 && last[0].hasPrefix("ERR code=auth_failed retry=auth fatal=1"), "\(last)")
        #expect(client.isFinished)
        let notices = access.harness.takeReports()
        #expect(notices.contains { $0.contains("zzzzzzzz") } && !notices.joined().contains("xxxx"), "\(notices)")
    }

    @Test func `a connection without a token ends after ten seconds, and one with a token stays`() throws {
        var access = try AccessHarness()
        let token = access.insert(try Self.principal("p", ["stats"]))
        let (silent, good) = (access.harness.connect(), access.connect(with: token))
        access.harness.advance(by: Milliseconds(9_999))
        #expect(!silent.isFinished)
        access.harness.advance(by: Milliseconds(1))
        let last = access.harness.lines(of: silent)
        #expect(
            silent.isFinished && last.last?.hasPrefix("ERR code=auth_required retry=auth fatal=1") == true, "\(last)")
        #expect(!good.isFinished)
    }

    @Test func `an account is the token's own, or refused`() throws {
        var access = try AccessHarness()
        let one = access.insert(try Self.principal("car", ["read:*"], .one("alice")))
        let any = access.insert(try Self.principal("gateway", ["read:*"], .any))
        let none = access.insert(try Self.principal("pos", ["post:*"]))
        let harness = access.harness
        for (token, account) in [(one, "bob"), (none, "alice")] {
            let reply = harness.send("HELLO token=\(token) account=\(account)", from: harness.connect())
            #expect(reply.first?.hasPrefix("ERR code=forbidden") == true, "\(reply)")
        }
        let car = access.connect(with: one)
        #expect(harness.send("SUB * for=bob", from: car).first?.hasPrefix("ERR code=forbidden") == true)
        #expect(harness.send("SUB * for=alice", from: car).first == "OK sub=1 view=full")
        let pos = access.connect(with: none)
        harness.send("EVT coffee-order/1 type=start for=bob", from: pos)
        #expect(harness.send("GET coffee-order/1", from: car).first?.hasPrefix("ERR code=unknown_key") == true)
        let gateway = access.connect(with: any)
        #expect(harness.send("GET coffee-order/1", from: gateway).first?.hasPrefix("OK ") == true)
        #expect(harness.send("HELLO account=alice", from: gateway).first?.contains("account=alice") == true)
        #expect(harness.send("GET coffee-order/1", from: gateway).first?.hasPrefix("ERR code=unknown_key") == true)
    }

    @Test func `src= belongs to the principal, and is its name by default`() throws {
        var access = try AccessHarness()
        var principal = try Self.principal("pos-7", ["post:*", "read:*"], .any)
        principal.sources = ["till", "apns:*"]
        let client = access.connect(with: access.insert(principal), " client=other/1")
        let harness = access.harness
        for (source, isAllowed) in [
            ("pos-7", true), ("till", true), ("apns:T1", true), ("pos-8", false), ("apns", false),
        ] {
            let reply = harness.send("EVT coffee-order/1 type=start src=\(source)", from: client)
            #expect(reply.first?.hasPrefix(isAllowed ? "OK " : "ERR code=forbidden") == true, "\(source): \(reply)")
        }
        harness.send("EVT coffee-order/2 type=start {\"by\":\"forged\"}", from: client)
        let history = harness.send("HISTORY coffee-order/2", from: client)
        #expect(
            history.first?.hasSuffix(#"{"seq":6,"state":"active placed","by":"pos-7","src":"pos-7","ignored":["by"]}"#)
                == true,
            "\(history)")
    }

    @Test func `a sender's tail cannot forge by= on a server without tokens either`() throws {
        let harness = try HubHarness()
        let client = harness.connect()
        harness.send("EVT coffee-order/2 type=start {\"by\":\"forged\"}", from: client)
        #expect(harness.send("HISTORY coffee-order/2", from: client).allSatisfy { !$0.contains("forged") })
    }

    @Test func `rate is a principal's, with a burst of twice as many, and slows no other`() throws {
        var access = try AccessHarness()
        var limited = try Self.principal("slow", ["stats"])
        limited.rate = 10
        let token = access.insert(limited)
        let other = access.connect(with: access.insert(try Self.principal("fast", ["stats"])))
        let clients = [access.connect(with: token), access.connect(with: token)]
        let harness = access.harness
        var pongs = 0
        for turn in 0..<24 where harness.send("PING", from: clients[turn % 2]) == ["PONG"] { pongs += 1 }
        #expect(pongs == 20)
        let refusal = harness.send("PING id=a", from: clients[0])
        #expect(refusal.first?.hasPrefix("ERR id=a code=limit_rate retry=later {\"msg\":") == true, "\(refusal)")
        #expect(refusal.first?.hasSuffix(#""wait":100}"#) == true, "\(refusal)")
        #expect(harness.send("PING", from: other) == ["PONG"])
        harness.advance(by: Milliseconds(100))
        #expect(harness.send("PING", from: clients[1]) == ["PONG"])
        #expect(harness.send("PING", from: clients[1]).first?.contains("limit_rate") == true)
    }

    @Test func `connections of a principal are limited, and one that left gives its place`() throws {
        var access = try AccessHarness()
        var principal = try Self.principal("p", ["stats"])
        principal.connections = 1
        let token = access.insert(principal)
        let first = access.connect(with: token)
        let second = access.harness.connect()
        let reply = access.harness.send("HELLO token=\(token)", from: second)
        #expect(reply.first?.hasPrefix("ERR code=limit_conns retry=later fatal=1") == true && second.isFinished)
        access.harness.disconnect(first)
        _ = access.connect(with: token)
    }

    @Test func `a revoked connection is answered, reported, and shown nothing more`() throws {
        var access = try AccessHarness()
        let reader = access.connect(with: access.insert(try Self.principal("car", ["read:*"], .any)))
        access.harness.send("SUB *", from: reader)
        access.harness.post("PING id=1", from: reader)
        access.removeAll()
        let poster = access.connect(with: access.insert(try Self.principal("pos", ["post:*"])))
        #expect(reader.isFinished)
        access.harness.send("EVT coffee-order/1 type=start", from: poster)
        #expect(access.harness.lines(of: reader) == ["BYE code=auth_revoked"])
    }

    @Test func `a principal that lost a right ends, and one that got one goes on with it`() throws {
        var access = try AccessHarness()
        let token = access.insert(try Self.principal("p", ["post:coffee-order/*", "stats"]))
        let client = access.connect(with: token)
        access.removeAll()
        #expect(access.insert(try Self.principal("p", ["post:coffee-order/*", "stats", "serve:*"])) != token)
        access.harness.turn()
        #expect(client.isFinished, "its token is gone")
        var again = try AccessHarness()
        let same = again.insert(try Self.principal("p", ["stats"]))
        let other = again.connect(with: same)
        var directory = PrincipalDirectory { Array($0.utf8) }
        directory.insert(
            try Self.principal("p", ["stats", "post:*"]), tokens: [.init(id: "aaaaaaab", digest: Array(same.utf8))])
        again.harness.hub.principalsLoaded(directory)
        #expect(again.harness.send("EVT coffee-order/1 type=start", from: other).first?.hasPrefix("OK") == true)
        directory = PrincipalDirectory { Array($0.utf8) }
        directory.insert(try Self.principal("p", ["stats"]), tokens: [.init(id: "aaaaaaab", digest: Array(same.utf8))])
        again.harness.hub.principalsLoaded(directory)
        again.harness.turn()
        #expect(again.harness.lines(of: other) == ["BYE code=auth_revoked"] && other.isFinished)
    }

    @Test func `a token that expires ends its connection, and a newer one keeps it`() throws {
        var access = try AccessHarness()
        let soon = access.harness.time + .seconds(5)
        let principal = try Self.principal("p", ["stats"])
        let first = access.insert(principal, expires: soon)
        let second = access.insert(principal, expires: soon + .seconds(5))
        let (short, renewed) = (access.connect(with: first), access.connect(with: first))
        let reply = access.harness.send("HELLO token=\(second)", from: renewed)
        #expect(reply.first?.contains("until=\((soon + .seconds(5)).milliseconds)") == true, "\(reply)")
        for _ in 1...6 { access.harness.advance(by: .seconds(1)) }
        #expect(access.harness.lines(of: short) == ["BYE code=auth_expired"] && short.isFinished)
        #expect(access.harness.send("STATS", from: renewed).first?.hasPrefix("OK ") == true)
    }

    @Test func `another principal needs another connection`() throws {
        var access = try AccessHarness()
        let client = access.connect(with: access.insert(try Self.principal("p", ["stats"])))
        let other = access.insert(try Self.principal("q", ["post:*"]))
        #expect(
            access.harness.send("HELLO token=\(other)", from: client).first?.hasPrefix("ERR code=forbidden") == true)
    }

    @Test func `a line before HELLO is shorter, and few of them wait`() throws {
        var access = try AccessHarness()
        let long =
            "PING x=" + String(repeating: "y", count: 200) + " {\"x\":\"" + String(repeating: "z", count: 4_000) + "\"}"
        let stranger = access.harness.connect()
        #expect(access.harness.send(long, from: stranger).first?.hasPrefix("ERR code=line_too_long") == true)
        let client = access.connect(with: access.insert(try Self.principal("p", ["stats"])))
        #expect(access.harness.send(long, from: client) == ["PONG ignored=x"])
        let eager = access.harness.connect()
        for _ in 1...5 { access.harness.post("PING", from: eager) }
        let isFull = !access.harness.hub.wantsInput(eager.id)
        #expect(isFull)
        access.harness.turn()
        let hasRoom = access.harness.hub.wantsInput(eager.id)
        #expect(access.harness.lines(of: eager).count == 5 && hasRoom)
    }

    @Test func `a replay needs no principals, and records of the release before them are read`() throws {
        var access = try AccessHarness()
        let client = access.connect(with: access.insert(try Self.principal("pos", ["post:*"])))
        access.harness.send("EVT coffee-order/1 type=start", from: client)
        access.harness.send("SUB *", from: client)
        let stateHash = access.harness.hub.stateHash
        #expect(try access.harness.recovered().stateHash == stateHash)
        let plain = try HubHarness()
        plain.send("EVT coffee-order/1 type=start src=pos", from: plain.connect())
        // As a daemon without tokens wrote it: version 1, without an author.
        #expect(plain.records.allSatisfy { $0.body.first == 1 })
        #expect(access.harness.records.map { $0.body.first } == [1, 1, 2])
        let plainHash = plain.hub.stateHash
        #expect(try plain.recovered().stateHash == plainHash)
    }

    @Test func `a record that a release without principals wrote says what it said`() throws {
        // Written by that release: a start of coffee-order/7 by pos-7, for alice.
        let digits =
            "01fe95fffdc168000c0d61637469766520706c61636564d297aac2e7d7a0dbff01030e636f666665652d6f726465722f37057374617274"
            + "0105706f732d370102653100000105616c69636507010a617474726962757465730701046974656d050a466c6174207768697465"
        let body = stride(from: 0, to: digits.utf8.count, by: 2).map { offset in
            UInt8(digits.dropFirst(offset).prefix(2), radix: 16) ?? 0
        }
        let record = JournalRecord(
            sequence: 6, time: Timestamp(milliseconds: 1_795_562_661_247), entity: "coffee-order/7", previous: 0,
            body: body)
        #expect(
            String(decoding: Hub.historyLine(of: record), as: UTF8.self)
                == "HIST key=coffee-order/7 rev=6 at=1795562661247 heard=1795562661247 type=start verdict=applied "
                + #"{"seq":6,"state":"active placed","src":"pos-7","eid":"e1","attributes":{"item":"Flat white"}}"#
                + "\n")
    }
}

struct ScopeTests {
    @Test(
        "What is no scope",
        arguments: [
            "", "read", "read:", "read:a", "read:a/b*", "read:a/", "read:*/b", "post:a/b/c", "post:a/*b", "post:*a",
            "serve:", "serve:a/b", "stats:*", "Admin", "act:a b/c", "write:*", "post:/x", "act:a/**",
        ])
    func malformed(text: String) { #expect(Scope(text) == nil) }

    @Test(
        "What is one, and says the same again",
        arguments: [
            "read:*", "read:a/*", "read:a/b", "post:a/b*", "act:a/b.c*", "serve:*", "serve:a", "stats", "admin",
        ])
    func wellFormed(text: String) { #expect(Scope(text)?.description == text) }
}
