import Authenticator
import Foundation
import Hub
import TelltaleModel
import TestSupport
import Testing

struct PrincipalFileTests {
    @Test(
        "SHA-256 (FIPS 180-2, appendix B)",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func digests(text: String, digest: String) { #expect(Hexadecimal.text(Digest.sha256(text)) == digest) }

    @Test(
        "A date says the same again",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2027-11-24T00:00:00Z", 1_827_014_400_000),
            ("2024-02-29T23:59:59Z", 1_709_251_199_000), ("2000-03-01T00:00:00Z", 951_868_800_000),
        ] as [(String, Int64)])
    func dates(text: String, milliseconds: Int64) {
        #expect(UTCDate.timestamp(text) == Timestamp(milliseconds: milliseconds))
        #expect(UTCDate.text(Timestamp(milliseconds: milliseconds)) == text)
    }

    @Test(
        "What is no date",
        arguments: [
            "2027-02-29T00:00:00Z", "2027-13-01T00:00:00Z", "2027-11-24", "2027-11-24T24:00:00Z",
            "2027-11-24T00:00:00+01:00", "2027-11-24t00:00:00Z", "", "2027-00-01T00:00:00Z",
        ])
    func badDates(text: String) { #expect(UTCDate.timestamp(text) == nil) }

    @Test(
        "A fault is told with its place, and no secret",
        arguments: [
            ("[]", "the file"), (#"{"version":2,"principals":[]}"#, "version"),
            (#"{"version":1}"#, "principals"), (#"{"version":1,"principals":[],"x":1}"#, "x"),
            (#"{"version":1,"principals":[{"name":"a b","scopes":["stats"]}]}"#, "principals[0].name"),
            (
                #"{"version":1,"principals":[{"name":"a","scopes":["read:a*"],"account":"b"}]}"#,
                "principals[0].scopes[0]"
            ),
            (#"{"version":1,"principals":[{"name":"a","scopes":[]}]}"#, "principals[0].scopes"),
            (#"{"version":1,"principals":[{"name":"a","scopes":["read:*"]}]}"#, "principals[0].account"),
            // One spelling of two for Unicode: `==` of `String` does not distinguish them.
            (
                #"{"version":1,"principals":[{"name":"a","scopes":["read:*"],"account":"\u00e9"}]}"#,
                "principals[0].account"
            ),
            (
                #"{"version":1,"principals":[{"name":"a","scopes":["read:*"],"account":"e\u0301"}]}"#,
                "principals[0].account"
            ),
            (#"{"version":1,"principals":[{"name":"a","scopes":["stats"],"rate":0}]}"#, "principals[0].rate"),
            (
                #"{"version":1,"principals":[{"name":"a","scopes":["stats"],"sources":["a b"]}]}"#,
                "principals[0].sources"
            ),
            (
                #"{"version":1,"principals":[{"name":"a","scopes":["stats"],"tokens":[{"id":"aaaaaaaa","sha256":"zz"}]}]}"#,
                "principals[0].tokens[0].sha256"
            ),
            (
                #"{"version":1,"principals":[{"name":"a","scopes":["stats"],"tokens":[{"id":"AAAAAAAA"}]}]}"#,
                "principals[0].tokens[0].id"
            ),
            (
                #"{"version":1,"principals":[{"name":"a","scopes":["stats"]},{"name":"a","scopes":["stats"]}]}"#,
                "principals[1].name"
            ),
            (#"{"version":1,"principals":[],"issuers":{}}"#, "issuers"),
        ])
    func faults(text: String, place: String) throws {
        let json = try JSONParser.parse(text)
        let faults = #expect(throws: PrincipalFaults.self) { try PrincipalReader.read(json) }
        #expect(faults?.faults.count == 1 && faults?.faults.first?.hasPrefix("\(place): ") == true, "\(faults as Any)")
    }

    @Test func `a token is added, reported once, and revoked; the file keeps its mode and what it knows nothing of`()
        throws
    {
        let folder = try TemporaryFolder()
        let path = folder.url.appending(path: "principals.json").path
        let editor = PrincipalEditor(path)
        var grant = PrincipalEditor.Grant(name: "car")
        grant.scopes = ["read:*"]
        grant.account = "alice"
        grant.expires = Timestamp(milliseconds: 1_827_014_400_000)
        let token = try editor.add(grant)
        #expect(TokenText.id(of: token) != nil)
        #expect(try mode(of: path) == 0o600)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!text.contains(token) && text.contains(Hexadecimal.text(Digest.sha256(token))))
        #expect(text.contains("2027-11-24T00:00:00Z"))

        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let second = try editor.add(PrincipalEditor.Grant(name: "car"))
        #expect(try mode(of: path) == 0o640)
        var file = PrincipalFile(path)
        #expect(try file.load().principalCount == 1)
        #expect(!file.hasChanged)
        #expect(try editor.revoke(#require(TokenText.id(of: token))) == [TokenText.id(of: token)])
        #expect(file.hasChanged)
        #expect(try editor.revoke("car") == [TokenText.id(of: second)])
        #expect(throws: PrincipalEditor.Failure.self) { try editor.revoke("car") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["principals.json"])
    }

    @Test func `signed tokens are revoked by jti or sub, and what a revocation contains goes`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("p.json")
        let editor = PrincipalEditor(path)
        func write(_ issuers: String) throws {
            let key = #"{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#
            let issuer =
                #"{"issuer":"https://a.example","audience":"t","keys":[\#(key)],"scopes":["stats"],"maxLifetime":"1h"}"#
            try #"{"version":1,"principals":[],"issuers":[\#(issuers.isEmpty ? "" : issuer)]}"#
                .write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        try write("")
        let failure = #expect(throws: PrincipalEditor.Failure.self) { try editor.revoke(.token("a")) }
        #expect(failure?.description == "\(path): the file has no issuers, so there are no signed tokens to revoke")
        try write("one")
        let alice = Revocation.subject("alice", issuedBefore: Timestamp(milliseconds: 1_700_000_000_001))
        for revocation in [.token("j1"), alice, .subject("bob", issuedBefore: nil), .token("j1"), alice] as [Revocation]
        {
            try editor.revoke(revocation)
        }
        // To the second, and rounded up: `iat` of a token is a second too.
        let first: [JSON] = [["jti": "j1"], ["sub": "bob"], ["sub": "alice", "issuedBefore": 1_700_000_001]]
        #expect(Set(try editor.listing().revocations) == Set(first))
        try editor.revoke(.subject("alice", issuedBefore: Timestamp(milliseconds: 1_600_000_000_000)))
        try editor.revoke(.subject("bob", issuedBefore: Timestamp(milliseconds: 1_600_000_000_000)))
        #expect(Set(try editor.listing().revocations) == Set(first), "the stronger one is there")
        try editor.revoke(.subject("alice", issuedBefore: nil))
        #expect(Set(try editor.listing().revocations) == [["jti": "j1"], ["sub": "bob"], ["sub": "alice"]])
        var file = PrincipalFile(path)
        _ = try file.load()
    }

    @Test func `rights of a principal are not changed by adding a token`() throws {
        let folder = try TemporaryFolder()
        let editor = PrincipalEditor(folder.url.appending(path: "p.json").path)
        var grant = PrincipalEditor.Grant(name: "a")
        #expect(throws: PrincipalEditor.Failure.self) { try editor.add(grant) }
        grant.scopes = ["stats"]
        _ = try editor.add(grant)
        grant.scopes = ["admin"]
        #expect(throws: PrincipalEditor.Failure.self) { try editor.add(grant) }
    }

    @Test(
        "A file of another form is not edited, and stays as it is",
        arguments: [
            ("[1]", "is to hold one JSON object"), (#""text""#, "is to hold one JSON object"),
            (#"{"version":1,"principals":{"a":1}}"#, "principals: is to be an array"),
            (#"{"version":1,"principals":null}"#, "principals: is to be an array"),
        ])
    func foreign(text: String, fault: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("p.json")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let editor = PrincipalEditor(path)
        var grant = PrincipalEditor.Grant(name: "a")
        grant.scopes = ["stats"]
        let failures = [
            #expect(throws: PrincipalEditor.Failure.self) { _ = try editor.add(grant) },
            #expect(throws: PrincipalEditor.Failure.self) { _ = try editor.revoke("a") },
            #expect(throws: PrincipalEditor.Failure.self) { _ = try editor.listing() },
        ]
        for failure in failures { #expect(failure?.description.contains(fault) == true, "\(failure as Any)") }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test func `tokens that are no array are not replaced by a new one`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("p.json")
        let text = #"{"version":1,"principals":[{"name":"a","scopes":["stats"],"tokens":{"id":"aaaaaaaa"}}]}"#
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: PrincipalEditor.Failure.self) {
            try PrincipalEditor(path).add(PrincipalEditor.Grant(name: "a"))
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test func `a file that others can read is refused`() throws {
        let folder = try TemporaryFolder()
        let path = folder.url.appending(path: "p.json").path
        try #"{"version":1,"principals":[]}"#.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        var file = PrincipalFile(path)
        let faults = #expect(throws: PrincipalFaults.self) { try file.load() }
        #expect(faults?.faults.first?.contains("chmod o=") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(try file.load().principalCount == 0)
    }

    private func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
    }
}
