internal import FoundationEssentials
internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleCrypto
internal import TelltaleModel
internal import TelltaleWire

/// Browsers' sessions: the cookie is the caller's sealed token, so the gateway stores nothing.
struct Sessions: Sendable {
    let isTLS: Bool
    private let key: [UInt8]

    /// - Parameter folder: Stores the key across restarts; `nil` = sessions end with this process.
    /// - Throws: When the folder or the key in it cannot be used.
    init(folder: String?, isTLS: Bool) throws {
        self.isTLS = isTLS
        key = try StateFolder.key("session.key", in: folder)
    }

    /// `__Host-` binds the cookie to this host and TLS.
    private var name: String { isTLS ? "__Host-telltale" : "telltale" }

    private var attributes: String { "; HttpOnly; SameSite=Strict; Path=/" + (isTLS ? "; Secure" : "") }

    func cookie(_ token: String) -> String {
        let nonce = SealedBytes.random(SealedBytes.nonceByteCount)
        let sealed = SealedBytes.seal(Array(token.utf8), key: key, nonce: nonce)
        return "\(name)=\(Base64.text(nonce + sealed, .url))\(attributes)"
    }

    var clearing: String { "\(name)=; Max-Age=0\(attributes)" }

    /// The token of a `Cookie` field; `nil` if there is none that this gateway sealed.
    func token(_ field: String?) -> String? {
        for pair in (field ?? "").split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, String(parts[0]).trimmed == name,
                let data = Base64.bytes(String(parts[1]).trimmed.utf8, .url),
                data.count >= SealedBytes.nonceByteCount,
                let opened = SealedBytes.open(
                    Array(data.dropFirst(SealedBytes.nonceByteCount)), key: key,
                    nonce: Array(data.prefix(SealedBytes.nonceByteCount)))
            else { continue }
            return String(validating: opened, as: UTF8.self)
        }
        return nil
    }
}

extension GatewayResponder {
    private static func token(in body: [UInt8]) throws(Problem) -> String? {
        try EventRequest.object(body.span)["token"]?.string
    }

    func session(_ caller: Caller) async throws(Problem) -> Response {
        if caller.request.method == .delete {
            return .empty(204, [HTTPField(name: .setCookie, value: gateway.sessions.clearing)])
        }
        let body = try await caller.body(upTo: 16_384)
        let token = try Self.token(in: body) ?? caller.token
        guard let token, !token.isEmpty, token.utf8.count <= 8_192 else {
            throw Problem("auth_required", "send {\"token\":\"…\"}, or Authorization: Bearer")
        }
        _ = try await gateway.link.ask(.ping, token: token)
        return .empty(204, [HTTPField(name: .setCookie, value: gateway.sessions.cookie(token))])
    }
}
