public import TelltaleModel

/// The place where a browser, or a distributor of UnifiedPush, accepts pushes: RFC 8030, with the keys of RFC 8291.
public struct WebSubscription: Hashable, Sendable {
    /// An https URL: a secret.
    public var endpoint: String
    /// The host of the endpoint, in lower case, and its port.
    public var host: String
    public var port: Int
    /// The path of the endpoint, and its query.
    public var path: String
    /// A point of P-256, 65 bytes.
    public var publicKey: [UInt8]
    /// 16 bytes.
    public var secret: [UInt8]

    /// The longest endpoint, in bytes.
    public static let endpointLimit = 1_024

    /// Reads what `PushSubscription.toJSON()` gives: `{"endpoint":URL,"keys":{"p256dh":…,"auth":…}}`.
    ///
    /// - Throws: ``PushRegistration/Fault``.
    public init(_ object: JSONObject) throws(PushRegistration.Fault) {
        guard let endpoint = object["endpoint"]?.string, endpoint.utf8.count <= Self.endpointLimit,
            let (host, port, path) = Self.parts(endpoint)
        else {
            throw PushRegistration.Fault(
                description: "subscription.endpoint: takes an https URL of at most \(Self.endpointLimit) bytes")
        }
        guard let key = object["keys"]?["p256dh"]?.string.flatMap({ Self.bytes($0) }), key.count == 65, key[0] == 4
        else {
            throw PushRegistration.Fault(description: "subscription.keys.p256dh: takes 65 bytes in base64url")
        }
        guard let secret = object["keys"]?["auth"]?.string.flatMap({ Self.bytes($0) }), secret.count == 16 else {
            throw PushRegistration.Fault(description: "subscription.keys.auth: takes 16 bytes in base64url")
        }
        (self.endpoint, self.host, self.port, self.path) = (endpoint, host, port, path)
        (publicKey, self.secret) = (key, secret)
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        var text = text[...]
        while text.last == "=" { text = text.dropLast() }
        return Base64.bytes(text.utf8, .url)
    }

    private static func parts(_ endpoint: String) -> (host: String, port: Int, path: String)? {
        let scheme = "https://"
        guard endpoint.hasPrefix(scheme),
            endpoint.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x5C && $0 != 0x23 })
        else { return nil }
        let rest = endpoint.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let tail = rest.dropFirst(authority.count)
        // A user name would be sent to the host, whoever that is.
        guard !authority.isEmpty, !authority.contains("@"), !authority.contains("[") else { return nil }
        let path = tail.hasPrefix("/") ? String(tail) : "/" + tail
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, !host.isEmpty, parts.count <= 2 else { return nil }
        var port = 443
        if parts.count == 2 {
            guard let number = Encodings.integer(parts[1]), (1...65_535).contains(number) else { return nil }
            port = Int(number)
        }
        return (host.lowercased(), port, path)
    }

    /// Whether one of the patterns names the host: a host, or `*.` and what it ends with.
    public func isOf(hosts: [String]) -> Bool {
        hosts.contains { $0 == host || $0.hasPrefix("*.") && host.hasSuffix($0.dropFirst()) }
    }

    /// `https://HOST`, with the port unless it is 443.
    public var origin: String { port == 443 ? "https://\(host)" : "https://\(host):\(port)" }

    var json: JSON {
        [
            "endpoint": .string(endpoint),
            "keys": ["p256dh": .string(Base64.text(publicKey, .url)), "auth": .string(Base64.text(secret, .url))],
        ]
    }
}

extension OutgoingPush {
    /// The largest payload of a Web Push, in bytes; encrypted it has 4,096.
    public static let webPayloadLimit = 3_993
    /// How long a push service stores an undeliverable push if the row has no stale date, in seconds.
    static let webKeeping: Int64 = 14_400

    /// A Web Push: the path and the header fields of RFC 8030, and the payload before it is encrypted.
    ///
    /// - Parameters:
    ///   - surface: The row of the view `phone`.
    ///   - row: Of the `full` view.
    /// - Throws: ``TooLarge``.
    init(
        _ attempt: PushTarget.Attempt, to subscription: WebSubscription, _ key: Key, surface: JSONObject,
        row: JSONObject?, alert: Alert?, _ cryptography: PushCryptography
    ) throws(TooLarge) {
        path = subscription.path
        let view = surface["lockScreen"]?["view"]
        var payload = JSONObject()
        payload["key"] = .string(key.text)
        payload["title"] = view?["title"] ?? surface["title"] ?? .string(key.text)
        payload["body"] = view?["subtitle"]
        payload["url"] = surface["url"]
        payload["lifecycle"] = surface["lifecycle"]
        payload["timestamp"] = .integer(attempt.timestamp)
        if attempt.alerts, let alert {
            payload["alert"] = ["title": .string(alert.title), "body": .string(alert.body)]
        }
        body = JSON.object(payload).text
        guard body.count <= Self.webPayloadLimit else { throw TooLarge(count: body.count) }
        let stale = row?["staleAt"]?.integer.map { max(60, $0 / 1_000 - attempt.timestamp) }
        // A push service stores only the newest push of a topic. The topic does not reveal the key.
        let topic = Base64.text(Array(cryptography.sha256(Array(key.text.utf8)).prefix(24)), .url)
        headers = [
            ("ttl", String(min(stale ?? Self.webKeeping, 2_419_200))), ("topic", topic),
            ("urgency", attempt.alerts ? "high" : "normal"),
        ]
    }
}

extension PushAnswerClass {
    /// The answer of a Web Push service (RFC 8030).
    public init(webStatus status: Int, retryAfter: Int64?) {
        switch status {
        case 200..<300: self = .accepted
        case 404, 410: self = .badToken
        case 429: self = .throttled(retryAfter.map { .seconds(min(max(0, $0), 86_400)) })
        // The operator has to correct a wrong key.
        case 401, 403, 500...: self = .failed
        default: self = .refused
        }
    }
}
