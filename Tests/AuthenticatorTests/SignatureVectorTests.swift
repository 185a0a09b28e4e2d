import Foundation
import TelltaleModel
import Testing

@testable import Authenticator

/// The vectors of the RFCs, to the byte.
struct SignatureVectorTests {
    private static let claims =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    @Test(
        "A signature of an RFC is good, and that of another message is not",
        arguments: [
            (
                "RFC 7515 A.1", TestSigner.hs256, "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(claims)",
                "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            ),
            (
                "RFC 7515 A.3", TestSigner.es256, "eyJhbGciOiJFUzI1NiJ9.\(claims)",
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
            ),
            (
                "RFC 8037 A.4 and A.5", TestSigner.ed25519,
                "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
            ),
        ])
    func vectors(name: String, signer: TestSigner, message: String, signature: String) throws {
        let key = try SignatureKey(JSONParser.parse(signer.jwk()))
        let bytes = try #require(Base64.bytes(signature.utf8, .url))
        #expect(key.algorithm == signer.rawValue)
        #expect(key.verifies(bytes, of: Array(message.utf8)), "\(name)")
        #expect(!key.verifies(bytes, of: Array((message + "x").utf8)))
        for index in [0, bytes.count / 2, bytes.count - 1] {
            var broken = bytes
            broken[index] ^= 1
            #expect(!key.verifies(broken, of: Array(message.utf8)))
        }
        if signer != .es256 { #expect(signer.sign(message) == bytes) }
        for other in TestSigner.allCases where other != signer {
            #expect(try !SignatureKey(JSONParser.parse(other.jwk())).verifies(bytes, of: Array(message.utf8)))
        }
    }

    @Test func `ES256 takes r and s, in the range of the curve, and nothing else`() throws {
        let key = try SignatureKey(JSONParser.parse(TestSigner.es256.jwk()))
        let signature = TestSigner.es256("message")
        let zero = [UInt8](repeating: 0, count: 32)
        let ones = [UInt8](repeating: 0xFF, count: 32)
        let (r, s) = (Array(signature.raw[..<32]), Array(signature.raw[32...]))
        #expect(key.verifies(signature.raw, of: Array("message".utf8)))
        for bad in [signature.der, zero + s, r + zero, zero + zero, ones + s, r + ones, r, r + s + [0], []] {
            #expect(!key.verifies(bad, of: Array("message".utf8)), "\(bad.count) bytes")
        }
    }

    @Test(
        "A key that cannot be trusted is a fault, without a word of it",
        arguments: [
            #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, #"{"kty":"EC","crv":"P-384","x":"AQAB","y":"AQAB"}"#,
            // y of another point.
            #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}"#,
            #"{"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHUR"}"#,
            #"{"kty":"oct","k":"c2hvcnQ"}"#, #"{"kty":"oct"}"#, #"{"kty":"oct","k":5}"#, #"[]"#, #"{}"#,
            #"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"Ed25519","alg":"HS256","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"Ed25519","use":"enc","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"Ed25519","key_ops":["sign"],"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"Ed25519","kid":7,"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
        ])
    func badKeys(text: String) throws {
        let json = try JSONParser.parse(text)
        let fault = #expect(throws: SignatureKey.Fault.self) { try SignatureKey(json) }
        #expect(fault?.description.contains("nWGxne") == false && fault?.description.contains("c2hvcnQ") == false)
    }
}
