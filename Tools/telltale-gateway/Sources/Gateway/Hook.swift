public import TelltaleModel
public import TelltaleWire

/// A sender's webhook, read from its file: how to verify its deliveries, and which events they become.
public struct Hook: Sendable {
    struct Rule: Sendable {
        /// Topics; `*` is any.
        var topics: [String]
        var condition: DeliveryGuard?
        var key: DeliveryTemplate
        var type: DeliveryTemplate
        var at: DeliveryTemplate?
        var version: DeliveryTemplate?
        var accounts: DeliveryTemplate?
        var data: DataTemplate?
    }

    public let name: String
    let verification: Verification
    let rules: [Rule]
    private let paths: DeliveryPaths

    init(name: String, verification: Verification, rules: [Rule]) {
        (self.name, self.verification, self.rules) = (name, verification, rules)
        var paths = DeliveryPaths()
        for names in verification.bodyPaths + rules.flatMap(\.bodyPaths) { paths.insert(names) }
        self.paths = paths
    }

    /// Where its secrets are.
    public var secrets: [SecretReference] { verification.secrets }

    /// Starts checking a delivery whose header fields have arrived.
    ///
    /// - Parameters:
    ///   - headers: By their names in lower case.
    ///   - secrets: Any of them may have signed.
    ///   - now: The time that signed times are compared with.
    public func check(_ headers: [String: String], secrets: [[UInt8]], now: Timestamp) -> SignatureCheck {
        verification.check(headers, secrets: secrets, now: now)
    }

    /// Whether it is the empty, unsigned test that WooCommerce sends when a webhook is created. It is ignored.
    public func isPing(_ delivery: Delivery) -> Bool {
        guard verification.scheme == .woocommerce, delivery.headers["x-wc-webhook-signature"] == nil else {
            return false
        }
        let text = String(decoding: delivery.body.prefix(40), as: UTF8.self)
        return delivery.body.count < 40 && text.hasPrefix("webhook_id=")
            && text.dropFirst("webhook_id=".count).utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// The event that a delivery becomes.
    public enum Outcome: Sendable {
        /// No rule matches.
        case unmatched(topic: String)
        /// The event that the rule with that index makes.
        case event(EventCommand, topic: String, rule: Int)
    }

    /// The outcome of a delivery with a valid signature.
    ///
    /// - Throws: `bad_json`, `bad_key` or `bad_attr`, for a delivery that cannot become an event.
    public func outcome(of delivery: Delivery) throws(Problem) -> Outcome {
        let body = try body(of: delivery)
        guard let values = DeliveryValues(body: body, headers: delivery.headers) else {
            throw Problem("internal", "no values")
        }
        let topic = verification.topic(delivery, body, values)
        for (index, rule) in rules.enumerated() {
            guard rule.topics.contains(where: { $0 == "*" || $0 == topic }), rule.condition?.holds(values) ?? true
            else {
                continue
            }
            var event = try rule.event(values)
            event.source = "hook:\(name)"
            event.eid = verification.eid(delivery, body, values, topic: topic)
            return .event(event, topic: topic, rule: index)
        }
        return .unmatched(topic: topic)
    }

    private func body(of delivery: Delivery) throws(Problem) -> JSON {
        do throws(Problem) {
            return try DeliveryBody.read(delivery.body, paths)
        } catch {
            // Not every sender of JSON names its type.
            guard mediaType(delivery.headers["content-type"]) == "application/x-www-form-urlencoded" else {
                throw error
            }
            throw Problem(
                "media_type",
                "the delivery is a form; choose application/json as the content type of the webhook, at its sender")
        }
    }
}

extension Hook.Rule {
    /// The paths below `body` that it reads.
    var bodyPaths: [[Substring]] {
        let templates = [key, type, at, version, accounts].compactMap { $0 } + (data?.templates ?? [])
        return templates.flatMap(\.bodyPaths) + (condition?.bodyPaths ?? [])
    }

    func event(_ values: DeliveryValues) throws(Problem) -> EventCommand {
        let text = key.text(values)
        guard let key = Key(text) else { throw EventRequest.badKey(text) }
        var event = EventCommand(key: key, type: try EventRequest.type(type.text(values)))
        // A time or a version that the sender omits is left out. Accounts are required: without them everybody would
        // see the activity.
        if let value = Self.given(at, values) { event.happenedAt = try Self.time(value) }
        if let value = Self.given(version, values) {
            guard let number = value.integer ?? value.string.flatMap({ Query.decimal($0) }), number >= 0 else {
                throw Self.fault("ver", value.description)
            }
            event.version = number
        }
        if let accounts { event.accounts = try EventRequest.accounts(Query.word(accounts.text(values), "for")) }
        if let data {
            event.tail = data.value(values)?.object ?? JSONObject()
            // The daemon's line cannot hold more.
            if JSON.object(event.tail).isText(longerThan: EventRequest.bodyByteLimit) {
                throw Problem(
                    "too_large", "the data of the delivery is larger than \(EventRequest.bodyByteLimit) bytes")
            }
        }
        return event
    }

    private static func given(_ template: DeliveryTemplate?, _ values: DeliveryValues) -> JSON? {
        switch template?.value(values) {
        case nil, .null?, .string("")?: nil
        case let value?: value
        }
    }

    private static func fault(_ name: String, _ text: String) -> Problem {
        Problem("bad_attr", "\(name) comes out as \"\(text.prefix(60))\", which it does not take")
    }

    /// RFC 3339 (without an offset it is UTC), or Unix time: seconds, or milliseconds where the number is too large for them.
    static func time(_ value: JSON) throws(Problem) -> Timestamp {
        switch value {
        case .string(let text):
            if let time = Timestamp(internetDate: text) ?? Timestamp(internetDate: text + "Z") { return time }
            if let number = Query.decimal(text) { return try time(.integer(number)) }
        case .integer, .number:
            if let number = value.double, number >= 0 {
                let time = number < 1e11 ? Timestamp(seconds: number) : Timestamp(exactMilliseconds: number.rounded())
                if let time { return time }
            }
        case .null, .bool, .array, .object: break
        }
        throw fault("at", value.description)
    }
}

/// JSON with templates in its texts: a text that is a single template takes the type of its value; a member without a
/// value is removed.
indirect enum DataTemplate: Sendable {
    case literal(JSON)
    case template(DeliveryTemplate)
    case array([DataTemplate])
    case object([(name: String, value: DataTemplate)])

    var templates: [DeliveryTemplate] {
        switch self {
        case .literal: []
        case .template(let template): [template]
        case .array(let elements): elements.flatMap(\.templates)
        case .object(let members): members.flatMap(\.value.templates)
        }
    }

    func value(_ values: DeliveryValues) -> JSON? {
        switch self {
        case .literal(let value): return value
        case .template(let template): return template.value(values)
        case .array(let elements): return .array(elements.compactMap { $0.value(values) })
        case .object(let members):
            var object = JSONObject()
            for member in members { object[member.name] = member.value.value(values) }
            return .object(object)
        }
    }
}
