import CTestSigner
import Foundation

/// An issuer of signed tokens, with the keys of RFC 7515 (A.1, A.3) and RFC 8037 (A.1).
enum TestSigner: String, CaseIterable {
    case hs256 = "HS256"
    case es256 = "ES256"
    case ed25519 = "EdDSA"

    static let secret =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
    static let point = (
        x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    )
    static let edwards = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    /// The public key as a JSON Web Key; that of HS256 is secret.
    func jwk(_ name: String? = nil) -> String {
        let kid = name.map { #","kid":"\#($0)""# } ?? ""
        switch self {
        case .hs256: return #"{"kty":"oct","k":"\#(Self.secret)"\#(kid)}"#
        case .es256: return #"{"kty":"EC","crv":"P-256","x":"\#(Self.point.x)","y":"\#(Self.point.y)"\#(kid)}"#
        case .ed25519: return #"{"kty":"OKP","crv":"Ed25519","x":"\#(Self.edwards)"\#(kid)}"#
        }
    }

    func sign(_ message: String) -> [UInt8] {
        switch self {
        case .hs256: Self.hs256(message, key: Self.bytes(Self.secret))
        case .es256: Self.es256(message).raw
        case .ed25519: Self.ed25519(message)
        }
    }

    static func hs256(_ message: String, key: [UInt8]) -> [UInt8] {
        let bytes = Array(message.utf8)
        var signature = [UInt8](repeating: 0, count: 32)
        precondition(unsafe testsigner_hs256(key, key.count, bytes, bytes.count, &signature) == 1)
        return signature
    }

    static func es256(_ message: String) -> (raw: [UInt8], der: [UInt8]) {
        let key = bytes("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")
        let message = Array(message.utf8)
        var raw = [UInt8](repeating: 0, count: 64)
        var der = [UInt8](repeating: 0, count: 80)
        var count = 0
        precondition(unsafe testsigner_es256(key, message, message.count, &raw, &der, &count) == 1)
        return (raw, Array(der[..<count]))
    }

    static func ed25519(_ message: String) -> [UInt8] {
        let key = bytes("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
        let message = Array(message.utf8)
        var signature = [UInt8](repeating: 0, count: 64)
        precondition(unsafe testsigner_ed25519(key, message, message.count, &signature) == 1)
        return signature
    }

    /// A token with these claims; members of `header` replace or join those that belong there, and `null` removes one.
    func token(_ claims: [String: Any], header: [String: Any] = [:]) -> String {
        var fields: [String: Any] = ["alg": rawValue, "typ": "at+jwt"]
        for (name, value) in header { fields[name] = value is NSNull ? nil : value }
        let message = "\(Self.part(fields)).\(Self.part(claims))"
        return "\(message).\(Self.text(sign(message)))"
    }

    static func part(_ object: [String: Any]) -> String {
        let data = (try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])) ?? Data()
        return text(Array(data))
    }

    static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    static func bytes(_ text: String) -> [UInt8] {
        let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return [UInt8](Data(base64Encoded: base64 + padding) ?? Data())
    }
}
