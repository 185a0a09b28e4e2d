import ApplePush
import TelltaleModel

/// A good request of each sort, and the faults of Protocols/HTTP/apns.table.
struct Fixture {
    static let now: Int64 = 1_763_719_200
    static let bundle = "com.example.coffee"
    static let channel = PushChannel(id: "Y2hhbm5lbA==", bundle: bundle, storagePolicy: 0)

    /// Digests and signatures that a test can see through.
    static let cryptography = PushCryptography(
        sha256: { bytes in
            (0..<4).flatMap { word in
                var hash = StableHash(seed: UInt64(word))
                hash.combine(bytes.span)
                let value = hash.finalize()
                return (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
            }
        },
        tag: { bytes in
            let value = StableHash.of(bytes.span) ^ 0x5EC2E7
            return (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
        },
        verify: { keyID, message, signature in signature == Fixture.signature(keyID, message) })

    static func signature(_ keyID: String, _ message: [UInt8]) -> [UInt8] {
        let value = StableHash.of((Array(keyID.utf8) + message).span)
        return (0..<64).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0 % 8))) }
    }

    static let rules = PushRules(
        policy: .verify,
        teams: ["KEY1234567": "TEAM123456", "KEY7654321": "OTHERTEAM1", "KEYOFSTORE": "TEAM123456"],
        apps: ["KEYOFSTORE": ["com.example.store"]])

    static let coffee = PushDirectory.App(
        activities: [
            "CoffeeAttributes": .init(
                kind: "coffee-order", idPath: ["attributes", "orderNumber"], eventPath: ["content-state", "status"],
                startsOn: ["placed"]),
            "StoreAttributes": .init(kind: "store-open"),
        ], kinds: ["coffee-order", "store-open"])
    static let directory = PushDirectory(apps: [bundle: coffee, "com.example.store": .init(kinds: ["parcel"])])

    static func token(_ subject: DeviceToken.Subject, account: String = "alice", release: UInt8 = 0) -> String {
        DeviceToken(subject, account: account, release: release).text(cryptography) ?? ""
    }

    static let updateToken = Key("coffee-order/7").map { token(.update($0)) } ?? ""

    // MARK: Requests

    var section: String
    var method = "POST"
    var path: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    var provider: [String: String] = [:]
    var hasProvider = true
    var before: [String: String]?
    var channelCount = 1

    init(_ section: String) {
        self.section = section
        switch section {
        case "channel":
            path = "/1/apps/\(Self.bundle)/channels"
            headers = []
            body = Array(#"{"push-type":"LiveActivity","message-storage-policy":1}"#.utf8)
        case "broadcast":
            path = "/4/broadcasts/apps/\(Self.bundle)"
            headers = [("apns-channel-id", Self.channel.id), ("apns-push-type", "Liveactivity")]
            body = Self.payload("update")
        default:
            path = "/3/device/\(Self.updateToken)"
            headers = [
                ("apns-push-type", "liveactivity"), ("apns-topic", Self.bundle + ".push-type.liveactivity"),
                ("apns-priority", "10"),
            ]
            body = Self.payload("update")
        }
    }

    static func payload(_ event: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(aps(event))
        return writer.take()
    }

    static func aps(_ event: String) -> JSON {
        var aps: JSON = [
            "timestamp": .integer(now), "event": .string(event),
            "content-state": ["status": .string(event == "start" ? "new" : "ready"), "shelf": "B"],
        ]
        if event == "start" {
            aps = aps.merging([
                "attributes-type": "CoffeeAttributes", "attributes": ["orderNumber": 1042],
                "alert": ["title": "Ordered", "body": "Flat white"],
            ])
        }
        return ["aps": aps]
    }

    /// The part of the request that a fault is of, and its change.
    mutating func apply(_ fault: String) {
        let words = fault.split(separator: " ", maxSplits: 1).map(String.init)
        guard let part = words.first else { return }
        let value = words.count > 1 ? words[1] : ""
        switch part {
        case "method": method = value
        case "path": path = value.replacing("TOKEN", with: Self.updateToken)
        case "token":
            let other = Key(kind: "parcel", id: "7")
            if value == "start" {
                path = "/3/device/" + Self.token(.start(app: Self.bundle, kind: "coffee-order"))
            } else if let other {
                path = "/3/device/" + Self.token(.update(other))
            }
        case "provider":
            let pair = value.split(separator: "=").map(String.init)
            if pair.count == 2 { provider[pair[0]] = pair[1] } else { hasProvider = false }
        case "before":
            let pair = value.split(separator: "=").map(String.init)
            before = [pair[0]: pair[1]]
        case "duplicate": headers.append((value, "again"))
        case "body":
            if let count = Int(value) {
                var padded = body.dropLast()
                if count > 0 { while padded.count < count - 1 { padded.append(UInt8(ascii: " ")) } }
                body = count == 0 ? [] : Array(padded) + [UInt8(ascii: "}")]
            } else {
                body = Array(value.utf8)
            }
        case "channels": channelCount = Int(value) ?? 0
        default:
            headers.removeAll { $0.name == part }
            if value != "none" { headers.append((part, value)) }
        }
    }

    private static func jwt(_ changes: [String: String], age: Int64 = 0) -> String {
        let keyID = changes["kid"] ?? (changes["iss"] == "OTHERTEAM1" ? "KEY7654321" : "KEY1234567")
        let head = #"{"alg":"\#(changes["alg"] ?? "ES256")","kid":"\#(keyID)"}"#
        let issuedAt =
            changes["iat"] == "none" ? "" : #","iat":\#(now &+ (changes["iat"].flatMap { Int64($0) } ?? age))"#
        let claims = #"{"iss":"\#(changes["iss"] ?? "TEAM123456")"\#(issuedAt)}"#
        let message = base64URL(Array(head.utf8)) + "." + base64URL(Array(claims.utf8))
        guard changes["parts"] == nil else { return message }
        var signature = Self.signature(keyID, Array(message.utf8))
        if changes["signature"] != nil { signature[0] ^= 1 }
        return message + "." + base64URL(signature)
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var text = ""
        var bits = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | Int(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[bits >> count & 63])
                bits &= (1 << count) - 1
            }
        }
        if count > 0 { text.append(digits[bits << (6 - count) & 63]) }
        return text
    }

    var request: PushRequest {
        var headers = headers
        if hasProvider {
            headers.append(("authorization", "\(provider["scheme"] ?? "bearer") \(Self.jwt(provider))"))
        }
        return PushRequest(method: method, path: path, headers: headers, body: body)
    }

    private func connection() throws -> ProviderConnection {
        var connection = ProviderConnection()
        guard let before else { return connection }
        let token = try ProviderToken(
            "bearer " + Self.jwt(before), .verify, teams: Self.rules.teams, now: Self.now, Self.cryptography)
        try connection.present(token)
        return connection
    }

    /// `200`, or the status and the reason.
    func answer() throws -> String {
        var connection = try connection()
        let request = request
        do throws(PushRefusal) {
            if section == "channel" || section == "broadcast" {
                var channels = PushChannels([Self.channel])
                for number in 1..<max(1, channelCount) {
                    channels.insert(PushChannel(id: "\(number)", bundle: Self.bundle, storagePolicy: 0))
                }
                _ = try ChannelRequest(
                    request, Self.rules, Self.directory, channels, on: &connection, now: Self.now, Self.cryptography)
                return "200"
            }
            let push = try DevicePush(
                request, Self.rules, Self.directory, on: &connection, now: Self.now, Self.cryptography)
            _ = try Self.outcome(
                (try? JSONParser.parse(String(decoding: request.body, as: UTF8.self))), push.token, push.tokenText)
            return "200"
        } catch {
            return "\(error.reason.status) \(error.reason.rawValue)"
        }
    }

    static func outcome(_ payload: JSON?, _ token: DeviceToken, _ text: String) throws(PushRefusal) -> PushOutcome {
        let address: ActivityPayload.Address =
            switch token.subject {
            case .start(let app, let kind):
                .start(app: app, kind: kind, account: token.account, release: token.release)
            case .update(let key): .update(key)
            }
        return try ActivityPayload.read(
            payload, to: address, coffee, id: "ec5e5a3a-8b2f-4b6c-9c7a-0123456789ab", source: "apns:TEAM123456",
            token: text, cryptography)
    }
}
