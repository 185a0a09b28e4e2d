import Authenticator
import Foundation
import Hub
import TelltaleModel
import Testing

/// Signed tokens: those that are accepted, and a table of attacks.
struct SignedTokenTests {
    static let now: Int64 = 1_764_000_000
    private static let wall = Timestamp(milliseconds: now * 1_000)

    /// Claims that are accepted.
    static var claims: [String: Any] {
        [
            "iss": "https://shop.example.com", "aud": "telltale", "sub": "alice", "iat": now, "exp": now + 3_600,
            "scope": "read:* act:coffee-order/* openid", "account": "alice", "jti": "t1",
        ]
    }

    static func file(_ keys: [String], revoked: String = "[]", scopes: String = #"["read:*","act:*"]"#) -> String {
        """
        {"version":1,"principals":[],"issuers":[{"issuer":"https://shop.example.com","audience":"telltale",
          "keys":[\(keys.joined(separator: ","))],"scopes":\(scopes),"maxLifetime":"24h"}],"revoked":\(revoked)}
        """
    }

    private static func issuers(_ text: String) throws -> any TokenIssuers {
        try #require(try PrincipalReader.read(JSONParser.parse(text)).issuers)
    }

    private static func refusal(
        of token: String, by issuers: any TokenIssuers, at wall: Timestamp = wall
    ) -> String? {
        do throws(AssertionRefusal) {
            _ = try issuers.assertion(of: token, at: wall)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(arguments: TestSigner.allCases) func `a good token makes a principal`(signer: TestSigner) throws {
        let issuers = try Self.issuers(Self.file([signer.jwk()]))
        for header in [["typ": "JWT"], ["typ": "application/at+jwt"], ["kid": NSNull()]] as [[String: Any]] {
            let assertion = try issuers.assertion(of: signer.token(Self.claims, header: header), at: Self.wall)
            #expect(assertion.principal.name == "shop.example.com/alice")
            #expect(assertion.principal.accounts == .one("alice"))
            #expect(assertion.principal.scopes == [.read(.all), .act(.kind("coffee-order"))])
            #expect(assertion.claims.expires == Timestamp(milliseconds: (Self.now + 3_600) * 1_000))
            #expect(issuers.renewed(assertion) == assertion)
        }
    }

    @Test func `a token has those of its scopes that the issuer may grant`() throws {
        let signer = TestSigner.ed25519
        let narrow = try Self.issuers(Self.file([signer.jwk()], scopes: #"["read:coffee-order/*"]"#))
        var claims = Self.claims
        claims["scope"] = "admin"
        #expect(
            try narrow.assertion(of: signer.token(claims), at: Self.wall).principal.scopes == [
                .read(.kind("coffee-order"))
            ])
        claims["scope"] = "read:coffee-order/7 stats"
        #expect(
            try narrow.assertion(of: signer.token(claims), at: Self.wall).principal.scopes == [
                .read(.key(kind: "coffee-order", id: "7"))
            ])
    }

    private struct Attack {
        let name: String
        let reason: String
        var header: [String: Any] = [:]
        var change: (inout [String: Any]) -> Void = { _ in }
    }

    @Test func `a token whose claims or header are wrong is refused`() throws {
        func claim(_ name: String, _ value: Any?) -> (inout [String: Any]) -> Void { { $0[name] = value } }
        let attacks = [
            Attack(name: "alg none", reason: "alg that is not that of the key", header: ["alg": "none"]),
            Attack(name: "alg None", reason: "alg that is not that of the key", header: ["alg": "None"]),
            Attack(name: "alg RS256", reason: "alg that is not that of the key", header: ["alg": "RS256"]),
            Attack(name: "alg in lower case", reason: "alg that is not that of the key", header: ["alg": "eddsa"]),
            Attack(name: "no alg", reason: "without alg", header: ["alg": NSNull()]),
            Attack(name: "alg is a number", reason: "without alg", header: ["alg": 1]),
            Attack(name: "crit", reason: "critical", header: ["crit": ["exp"]]),
            Attack(name: "crit, empty", reason: "critical", header: ["crit": [String]()]),
            Attack(name: "no typ", reason: "typ", header: ["typ": NSNull()]),
            Attack(name: "another typ", reason: "typ", header: ["typ": "dpop+jwt"]),
            Attack(name: "unknown kid", reason: "none of its keys", header: ["kid": "other"]),
            Attack(name: "kid is a path", reason: "none of its keys", header: ["kid": "../../dev/null"]),
            Attack(name: "kid is a number", reason: "kid", header: ["kid": 1]),
            Attack(name: "another issuer", reason: "issuer", change: claim("iss", "https://shop.example.com.evil")),
            Attack(name: "issuer with a slash", reason: "issuer", change: claim("iss", "https://shop.example.com/")),
            Attack(name: "no issuer", reason: "issuer", change: claim("iss", nil)),
            Attack(name: "issuer is a list", reason: "issuer", change: claim("iss", ["https://shop.example.com"])),
            Attack(name: "another audience", reason: "audience", change: claim("aud", "board")),
            Attack(name: "other audiences", reason: "audience", change: claim("aud", ["board", "Telltale"])),
            Attack(name: "no audience", reason: "no aud", change: claim("aud", nil)),
            Attack(name: "audience of numbers", reason: "no aud", change: claim("aud", ["telltale", 1] as [Any])),
            Attack(name: "no subject", reason: "no sub", change: claim("sub", nil)),
            Attack(name: "empty subject", reason: "no sub", change: claim("sub", "")),
            Attack(name: "subject with a space", reason: "sub", change: claim("sub", "alice admin")),
            Attack(name: "endless subject", reason: "sub", change: claim("sub", String(repeating: "a", count: 200))),
            Attack(
                name: "expired", reason: "expired",
                change: {
                    $0["iat"] = Self.now - 60
                    $0["exp"] = Self.now - 30
                }),
            Attack(name: "no expiry", reason: "no exp", change: claim("exp", nil)),
            Attack(name: "expiry is a text", reason: "no exp", change: claim("exp", "\(Self.now + 60)")),
            Attack(name: "expiry without end", reason: "no exp", change: claim("exp", 1e300)),
            Attack(name: "negative expiry", reason: "no exp", change: claim("exp", -1)),
            Attack(name: "no iat", reason: "no iat", change: claim("iat", nil)),
            Attack(name: "issued in the future", reason: "later than now", change: claim("iat", Self.now + 31)),
            Attack(name: "too long a life", reason: "life", change: claim("exp", Self.now + 86_401)),
            Attack(name: "ends before it begins", reason: "life", change: claim("iat", Self.now + 7_200)),
            Attack(name: "not valid yet", reason: "not valid yet", change: claim("nbf", Self.now + 31)),
            Attack(name: "nbf is a text", reason: "nbf", change: claim("nbf", "soon")),
            Attack(name: "no scope", reason: "no scope", change: claim("scope", nil)),
            Attack(name: "scopes of others", reason: "no scope", change: claim("scope", "openid profile")),
            Attack(name: "scopes beyond the issuer's", reason: "no scope", change: claim("scope", "post:* stats")),
            Attack(name: "scopes as a list", reason: "no scope", change: claim("scope", ["read:*"])),
            Attack(name: "no account", reason: "no account", change: claim("account", nil)),
            Attack(name: "any account", reason: "account", change: claim("account", "*")),
            Attack(name: "two accounts", reason: "account", change: claim("account", "alice,bob")),
            Attack(name: "account composed", reason: "account", change: claim("account", "\u{E9}")),
            Attack(name: "account decomposed", reason: "account", change: claim("account", "e\u{301}")),
            Attack(name: "account is a number", reason: "account", change: claim("account", 7)),
            Attack(name: "jti is a number", reason: "jti", change: claim("jti", 7)),
        ]
        let signer = TestSigner.ed25519
        let issuers = try Self.issuers(Self.file([signer.jwk()]))
        for attack in attacks {
            var claims = Self.claims
            attack.change(&claims)
            let reason = Self.refusal(of: signer.token(claims, header: attack.header), by: issuers)
            #expect(reason?.contains(attack.reason) == true, "\(attack.name): \(reason ?? "accepted")")
        }
    }

    @Test func `the limits of time are exact, with 30 s for clocks that differ`() throws {
        let signer = TestSigner.ed25519
        let issuers = try Self.issuers(Self.file([signer.jwk()]))
        for (name, value) in [
            ("exp", Self.now - 29), ("exp", Self.now + 86_400), ("iat", Self.now + 30), ("nbf", Self.now + 30),
        ] {
            var claims = Self.claims
            claims["iat"] = Self.now - 60
            if name == "exp", value > Self.now { claims["iat"] = Self.now }
            claims[name] = value
            #expect(Self.refusal(of: signer.token(claims), by: issuers) == nil, "\(name) \(value)")
        }
    }

    @Test func `the key decides the algorithm`() throws {
        // The public key of ES256 or EdDSA as a secret of HS256: the confusion that made tokens of anybody good.
        let message = TestSigner.part(["alg": "HS256", "typ": "JWT"]) + "." + TestSigner.part(Self.claims)
        for signer in [TestSigner.es256, .ed25519] {
            let issuers = try Self.issuers(Self.file([signer.jwk()]))
            for secret in [
                Array(signer.jwk().utf8), TestSigner.bytes(TestSigner.point.x), TestSigner.bytes(TestSigner.edwards),
                [4] + TestSigner.bytes(TestSigner.point.x) + TestSigner.bytes(TestSigner.point.y), [],
            ] {
                let signature = TestSigner.text(TestSigner.hs256(message, key: secret))
                #expect(
                    Self.refusal(of: "\(message).\(signature)", by: issuers)?.contains("alg that is not") == true)
            }
            for other in TestSigner.allCases where other != signer {
                #expect(Self.refusal(of: other.token(Self.claims), by: issuers)?.contains("alg that is not") == true)
                let lying = other.token(Self.claims, header: ["alg": signer.rawValue])
                #expect(Self.refusal(of: lying, by: issuers)?.contains("signature") == true)
            }
        }
    }

    @Test func `a token of another shape is refused`() throws {
        let signer = TestSigner.es256
        let issuers = try Self.issuers(Self.file([signer.jwk()]))
        let token = signer.token(Self.claims)
        let parts = token.split(separator: ".").map(String.init)
        let der = TestSigner.text(TestSigner.es256("\(parts[0]).\(parts[1])").der)
        let zero = TestSigner.text([UInt8](repeating: 0, count: 64))
        let bob = TestSigner.part(Self.claims.merging(["sub": "bob"]) { $1 })
        // The last digit of 64 bytes holds 4 bits that mean nothing.
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(parts[2].last.flatMap { digits.firstIndex(of: $0) })
        let twin = String(parts[2].dropLast()) + String(digits[last ^ 1])
        let twice = TestSigner.text(Array(#"{"alg":"none","alg":"ES256","typ":"JWT"}"#.utf8))
        for (name, text) in [
            ("no signature", "\(parts[0]).\(parts[1])"), ("empty signature", "\(parts[0]).\(parts[1])."),
            ("other claims", "\(parts[0]).\(bob).\(parts[2])"), ("a fourth part", token + ".x"),
            ("trailing text", token + "A"), ("a space behind", token + " "), ("a line behind", token + "\n"),
            ("padding", token + "=="), ("base64 instead of base64url", "\(parts[0]).\(parts[1]).+/+/"),
            ("another form of the same signature", "\(parts[0]).\(parts[1]).\(twin)"),
            ("DER", "\(parts[0]).\(parts[1]).\(der)"), ("zeros", "\(parts[0]).\(parts[1]).\(zero)"),
            ("a header that is no JSON", "AAAA.\(parts[1]).\(parts[2])"), ("a list", "W10.\(parts[1]).\(parts[2])"),
            ("claims that are no JSON", "\(parts[0]).AAAA.\(parts[2])"),
            ("two algs", "\(twice).\(parts[1]).\(parts[2])"),
            ("dots", ".."), ("nothing", ""), ("no header", ".\(parts[1]).\(parts[2])"),
            ("huge", signer.token(Self.claims.merging(["x": String(repeating: "x", count: 4_000)]) { $1 })),
            ("deep", TestSigner.text(Array((String(repeating: "[", count: 99)).utf8)) + ".\(parts[1]).\(parts[2])"),
        ] { #expect(Self.refusal(of: text, by: issuers) != nil, "\(name)") }
        #expect(Self.refusal(of: token, by: issuers) == nil)
        for length in 0..<token.utf8.count {
            #expect(Self.refusal(of: String(token.prefix(length)), by: issuers) != nil)
        }
    }

    @Test func `kid selects among keys, and a token without one is refused there`() throws {
        let issuers = try Self.issuers(Self.file([TestSigner.es256.jwk("new"), TestSigner.hs256.jwk("old")]))
        #expect(Self.refusal(of: TestSigner.es256.token(Self.claims, header: ["kid": "new"]), by: issuers) == nil)
        #expect(Self.refusal(of: TestSigner.hs256.token(Self.claims, header: ["kid": "old"]), by: issuers) == nil)
        #expect(Self.refusal(of: TestSigner.hs256.token(Self.claims, header: ["kid": "new"]), by: issuers) != nil)
        #expect(Self.refusal(of: TestSigner.es256.token(Self.claims), by: issuers) != nil)
    }

    @Test func `a revoked token, an old one of a revoked subject, and one whose key is gone are not renewed`() throws {
        let signer = TestSigner.ed25519
        let token = signer.token(Self.claims)
        let assertion = try Self.issuers(Self.file([signer.jwk()])).assertion(of: token, at: Self.wall)
        for (revoked, isGood) in [
            (#"[{"jti":"t1"}]"#, false), (#"[{"jti":"t2"}]"#, true), (#"[{"sub":"alice"}]"#, false),
            (#"[{"sub":"bob"}]"#, true), (#"[{"sub":"alice","issuedBefore":\#(Self.now)}]"#, true),
            (#"[{"sub":"alice","issuedBefore":\#(Self.now + 1)}]"#, false),
            (#"[{"sub":"alice","issuedBefore":1},{"sub":"alice"}]"#, false),
        ] {
            let issuers = try Self.issuers(Self.file([signer.jwk()], revoked: revoked))
            #expect((Self.refusal(of: token, by: issuers) == nil) == isGood, "\(revoked)")
            #expect((issuers.renewed(assertion) != nil) == isGood, "\(revoked)")
        }
        let other = try Self.issuers(Self.file([TestSigner.es256.jwk()]))
        #expect(other.renewed(assertion) == nil)
        let fewer = try Self.issuers(Self.file([signer.jwk()], scopes: #"["read:*"]"#))
        #expect(fewer.renewed(assertion)?.principal.scopes == [.read(.all)])
        let text = Self.file([signer.jwk()])
        for (old, new) in [("\"telltale\"", "\"board\""), ("24h", "30m"), ("shop.", "store.")] {
            #expect(try Self.issuers(text.replacingOccurrences(of: old, with: new)).renewed(assertion) == nil, "\(new)")
        }
    }

    @Test(
        "A fault of issuers and revocations is told with its place",
        arguments: [
            (#""keys":[]"#, "issuers[0].keys"), (#""keys":[{"kty":"RSA"}]"#, "issuers[0].keys[0]"),
            (#""keys":KEYS,"scopes":["x"]"#, "issuers[0].scopes[0]"),
            (#""maxLifetime":"1y""#, "issuers[0].maxLifetime"),
            (#""maxLifetime":"+1d""#, "issuers[0].maxLifetime"), (#""maxLifetime":86400"#, "issuers[0].maxLifetime"),
            (#""issuer":"https://a b""#, "issuers[0].issuer"), (#""issuer":"https:///x""#, "issuers[0].issuer"),
            (#""audience":7"#, "issuers[0].audience"), (#""rate":0"#, "issuers[0].rate"),
            (#""url":"x""#, "issuers[0].url"),
            (#""keys":[KEY,KEY]"#, "issuers[0].keys[0].kid"), (#""keys":[NAMED,NAMED]"#, "issuers[0].keys[1].kid"),
        ])
    func faults(change: String, place: String) throws {
        let key = TestSigner.ed25519.jwk()
        var members = [
            "issuer": #""issuer":"https://shop.example.com""#, "audience": #""audience":"t""#,
            "keys": #""keys":[\#(key)]"#,
            "scopes": #""scopes":["stats"]"#, "maxLifetime": #""maxLifetime":"24h""#,
        ]
        let name = try #require(change.split(separator: "\"").first.map(String.init))
        members[name] = change.replacingOccurrences(of: "KEYS", with: "[\(key)]")
            .replacingOccurrences(of: "KEY", with: key)
            .replacingOccurrences(of: "NAMED", with: TestSigner.ed25519.jwk("a"))
        if change.contains("\"scopes\"") { members["scopes"] = nil }
        try expectFault(
            #"{"version":1,"principals":[],"issuers":[{\#(members.values.joined(separator: ","))}]}"#, place)
    }

    @Test(
        "A fault of the file as a whole",
        arguments: [
            (#""issuers":{}"#, "issuers"), (#""issuers":[7]"#, "issuers[0]"), (#""revoked":{}"#, "revoked"),
            (#""revoked":[{}]"#, "revoked[0]"), (#""revoked":[{"jti":"a","sub":"b"}]"#, "revoked[0]"),
            (#""revoked":[{"jti":"a","issuedBefore":1}]"#, "revoked[0]"),
            (#""revoked":[{"sub":"a","issuedBefore":"x"}]"#, "revoked[0].issuedBefore"),
            (#""issuers":[ISSUER,ISSUER]"#, "issuers[1].issuer"),
            (
                #""issuers":[ISSUER],"principals":[{"name":"shop.example.com/a","scopes":["stats"]}]"#,
                "principals[0].name"
            ),
        ])
    func fileFaults(members: String, place: String) throws {
        let issuer =
            #"{"issuer":"https://shop.example.com","audience":"t","keys":[\#(TestSigner.ed25519.jwk())],"scopes":["stats"],"maxLifetime":"1h"}"#
        let principals = members.contains("\"principals\"") ? "" : #""principals":[],"#
        try expectFault(
            "{\"version\":1,\(principals)\(members.replacingOccurrences(of: "ISSUER", with: issuer))}", place)
    }

    private func expectFault(_ text: String, _ place: String) throws {
        let json = try JSONParser.parse(text)
        let faults = #expect(throws: PrincipalFaults.self) { try PrincipalReader.read(json) }
        #expect(faults?.faults.contains { $0.hasPrefix("\(place): ") } == true, "\(faults as Any)")
    }
}
