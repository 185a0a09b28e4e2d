internal import FoundationEssentials
internal import TelltaleCrypto
internal import TelltaleModel

/// One delivery of a webhook.
public struct Delivery: Sendable {
    /// By their names in lower case; the values of a repeated field are joined by commas.
    public var headers: [String: String]
    public var body: [UInt8]

    public init(headers: [String: String], body: [UInt8]) {
        self.headers = headers
        self.body = body
    }
}

/// How a sender signs, and where its topic and its delivery's id stand.
enum WebhookScheme: String, CaseIterable, Sendable {
    case standard, shopify, stripe, github, woocommerce, square, hmac

    /// How far the sender's time may be off, in seconds.
    static let tolerance: Int64 = 300
    /// The most signatures of a delivery. A sender that changes its secret signs with two.
    static let signatureLimit = 16
}

/// The meaning of `verify` in a hook file.
struct Verification: Sendable {
    enum Encoding: String, CaseIterable, Sendable {
        case hex, base64
    }

    var scheme: WebhookScheme
    /// Where the secrets are, never the secrets themselves.
    var secrets: [SecretReference] = []
    /// For `square`: the URL that deliveries are sent to, which is signed too.
    var url = ""
    /// For `hmac`.
    var header = ""
    var encoding = Encoding.hex
    var prefix = ""
    var topic: DeliveryTemplate?
    var eid: DeliveryTemplate?

    /// - Parameters:
    ///   - secrets: Any of them may have signed.
    ///   - now: The time that signed times are compared with.
    func check(_ headers: [String: String], secrets: [[UInt8]], now: Timestamp) -> SignatureCheck {
        switch scheme {
        case .standard:
            guard let id = headers["webhook-id"], let time = headers["webhook-timestamp"], isRecent(time, now) else {
                return SignatureCheck([], secrets: [])
            }
            let signatures = (headers["webhook-signature"] ?? "").split(separator: " ").compactMap { part in
                part.hasPrefix("v1,") ? Data(base64Encoded: String(part.dropFirst(3))) : nil
            }
            return SignatureCheck(
                signatures, secrets: secrets.compactMap(Self.standardKey), beforeBody: "\(id).\(time).")
        case .shopify: return SignatureCheck(base64(headers["x-shopify-hmac-sha256"]), secrets: secrets)
        case .stripe:
            var time = ""
            var signatures: [Data] = []
            for part in (headers["stripe-signature"] ?? "").split(separator: ",") {
                let pair = part.split(separator: "=", maxSplits: 1)
                guard pair.count == 2 else { continue }
                switch String(pair[0]).trimmingBlanks {
                case "t": time = String(pair[1])
                case "v1": signatures += hex(String(pair[1]))
                default: break
                }
            }
            return SignatureCheck(isRecent(time, now) ? signatures : [], secrets: secrets, beforeBody: "\(time).")
        case .github:
            return SignatureCheck(hex(headers["x-hub-signature-256"], prefix: "sha256="), secrets: secrets)
        case .woocommerce: return SignatureCheck(base64(headers["x-wc-webhook-signature"]), secrets: secrets)
        case .square:
            return SignatureCheck(base64(headers["x-square-hmacsha256-signature"]), secrets: secrets, beforeBody: url)
        case .hmac:
            let text = headers[header]
            let signatures = encoding == .hex ? hex(text, prefix: prefix) : base64(text, prefix: prefix)
            return SignatureCheck(signatures, secrets: secrets)
        }
    }

    /// The bytes after `whsec_`, in base64.
    private static func standardKey(_ secret: [UInt8]) -> [UInt8]? {
        let text = String(decoding: secret, as: UTF8.self)
        return Data(base64Encoded: text.hasPrefix("whsec_") ? String(text.dropFirst(6)) : text).map { Array($0) }
    }

    private func isRecent(_ seconds: String, _ now: Timestamp) -> Bool {
        guard let seconds = Query.decimal(seconds), seconds < 1 << 40 else { return false }
        return abs(now.milliseconds / 1_000 - seconds) <= WebhookScheme.tolerance
    }

    private func base64(_ text: String?, prefix: String = "") -> [Data] {
        guard let text, text.hasPrefix(prefix) else { return [] }
        return Data(base64Encoded: String(text.dropFirst(prefix.count))).map { [$0] } ?? []
    }

    private func hex(_ text: String?, prefix: String = "") -> [Data] {
        guard let text, text.hasPrefix(prefix) else { return [] }
        return Hexadecimal.bytes(text.dropFirst(prefix.count)).map { [Data($0)] } ?? []
    }

    // MARK: What it is about

    func topic(_ delivery: Delivery, _ body: JSON, _ values: DeliveryValues) -> String {
        switch scheme {
        case .standard, .stripe, .square: body["type"]?.string ?? ""
        case .shopify: delivery.headers["x-shopify-topic"] ?? ""
        case .github:
            [delivery.headers["x-github-event"], body["action"]?.string].compactMap { $0 }.joined(separator: ".")
        case .woocommerce: delivery.headers["x-wc-webhook-topic"] ?? ""
        case .hmac: topic?.text(values) ?? ""
        }
    }

    /// The paths below `body` that topic and id are read from.
    var bodyPaths: [[Substring]] {
        switch scheme {
        case .standard: [["type"]]
        case .stripe: [["type"], ["id"]]
        case .square: [["type"], ["event_id"]]
        case .github: [["action"]]
        case .hmac: (topic?.bodyPaths ?? []) + (eid?.bodyPaths ?? [])
        case .shopify, .woocommerce: []
        }
    }

    /// The sender's id of the delivery. If it gives none that is unique, a hash of the delivery, so that a repeat acts
    /// once and two deliveries never share an id.
    func eid(_ delivery: Delivery, _ body: JSON, _ values: DeliveryValues, topic: String) -> String {
        let text: String? =
            switch scheme {
            case .standard: delivery.headers["webhook-id"]
            case .shopify: delivery.headers["x-shopify-webhook-id"]
            case .stripe: body["id"]?.string
            case .github: delivery.headers["x-github-delivery"]
            // WooCommerce derives delivery ids from the webhook and the second: orders in the same second share one,
            // and a repeat gets another.
            case .woocommerce: nil
            case .square: body["event_id"]?.string
            case .hmac: eid?.text(values)
            }
        if let text, (try? Query.word(text, "eid")) != nil { return text }
        return HashedID.make(
            Array(topic.utf8), Array((delivery.headers["x-wc-webhook-id"] ?? "").utf8), delivery.body)
    }
}

/// Checks a delivery's signature. It hashes the body as it arrives, so that a large one is not hashed in one go at its
/// end.
public struct SignatureCheck: Sendable {
    private let signatures: [Data]
    private var codes: [MessageCode] = []

    /// - Parameters:
    ///   - signatures: The delivery's signatures, any of which may be valid. The check fails if there are none or too
    ///     many.
    ///   - secrets: Any of them may have signed.
    ///   - beforeBody: What is signed before the body.
    init(_ signatures: [Data], secrets: [[UInt8]], beforeBody: String = "") {
        self.signatures = signatures
        guard (1...WebhookScheme.signatureLimit).contains(signatures.count) else { return }
        codes = secrets.map { MessageCode(key: $0) }
        digest(Array(beforeBody.utf8)[...])
    }

    /// Takes the next part of the body.
    public mutating func digest(_ part: ArraySlice<UInt8>) {
        for index in codes.indices { codes[index].update(part) }
    }

    /// Compares all of them, in constant time.
    ///
    /// - Throws: `bad_signature`, the same text for every reason, so that it reveals nothing.
    public func finish() throws(Problem) {
        var isGood = false
        for code in codes {
            for signature in signatures where code.matches(signature) { isGood = true }
        }
        if !isGood { throw Problem("bad_signature", "the delivery's signature, or its time, is not good") }
    }
}

/// Where a secret is: `credential:NAME`, `file:PATH`, `env:NAME`.
public enum SecretReference: Hashable, Sendable, CustomStringConvertible {
    case credential(String)
    case file(String)
    case environment(String)

    init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let rest = String(text[text.index(after: colon)...])
        guard !rest.isEmpty else { return nil }
        switch text[..<colon] {
        case "credential" where !rest.contains("/"): self = .credential(rest)
        case "file": self = .file(rest)
        case "env": self = .environment(rest)
        default: return nil
        }
    }

    public var description: String {
        switch self {
        case .credential(let name): "credential:\(name)"
        case .file(let path): "file:\(path)"
        case .environment(let name): "env:\(name)"
        }
    }
}
